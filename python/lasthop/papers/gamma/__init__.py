# SPDX-License-Identifier: MIT OR Apache-2.0
"""Smoothness and responsiveness: TCP(α, β), γ and δ."""
