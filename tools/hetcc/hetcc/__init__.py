# SPDX-License-Identifier: GPL-2.0
"""The hetcc command: what the operator of a machine with the hetcc modules sees, selects and takes back."""


class HetccError(Exception):
    """A message for the operator; the command ends with exit status 1."""
