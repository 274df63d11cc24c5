# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP at wireless access points, mice beside an elephant: figures and measures."""
