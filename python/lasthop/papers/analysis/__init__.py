# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures and measures of ``analysis``."""
