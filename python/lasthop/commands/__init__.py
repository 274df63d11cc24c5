# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands, one module each, with a function ``main`` that returns the exit status."""
