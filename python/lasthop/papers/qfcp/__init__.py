# SPDX-License-Identifier: MIT OR Apache-2.0
"""QFCP and XCP on a wireless LAN."""
