# SPDX-License-Identifier: GPL-2.0
"""The one exception that reaches the user as a message instead of a traceback."""


class LabError(Exception):
    """Something the user can act on: bad input, a failed set-up step, a missing tool."""
