# SPDX-License-Identifier: MIT OR Apache-2.0
"""Laws of our own, which go beyond the papers: the share window beside what there is."""
