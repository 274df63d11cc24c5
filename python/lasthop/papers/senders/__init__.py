# SPDX-License-Identifier: MIT OR Apache-2.0
"""Eight senders with four queues, a comparison of our own."""
