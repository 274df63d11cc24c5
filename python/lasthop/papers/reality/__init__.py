# SPDX-License-Identifier: MIT OR Apache-2.0
"""The simulator beside the kernel, a comparison of our own."""
