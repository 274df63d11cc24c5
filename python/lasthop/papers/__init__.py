# SPDX-License-Identifier: MIT OR Apache-2.0
"""The papers: for each stem a TOML file of claims and a module that measures and draws."""
