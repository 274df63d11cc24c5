# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nine senders with five queues, a comparison of our own."""
