# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP over low-rate links: figures and measures of the report of 2004."""
