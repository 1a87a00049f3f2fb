# SPDX-License-Identifier: GPL-2.0
"""The one exception that reaches the user as a message instead of a traceback, and a hint for typing mistakes."""

from collections.abc import Iterable
from difflib import get_close_matches

LIKE = 0.5  # of the characters in the same order: a letter left out, added or exchanged, or a unit forgotten


class LabError(Exception):
    """Something the user can act on: bad input, a failed set-up step, a missing tool."""


def meant(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` with the known word that is most like this one; empty if none is."""
    close = get_close_matches(word, known, 1, LIKE)
    return f"; did you mean {close[0]}?" if close else ""
