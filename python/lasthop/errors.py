# SPDX-License-Identifier: MIT OR Apache-2.0
"""The one exception for what the user can mend."""


class UserError(Exception):
    """Input that is wrong, in one line that says what is wanted."""
