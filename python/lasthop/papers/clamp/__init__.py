# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP: a fair share of a fading access point."""
