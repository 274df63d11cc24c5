# SPDX-License-Identifier: MIT OR Apache-2.0
"""The papers, a folder each (:mod:`lasthop.paper`)."""
