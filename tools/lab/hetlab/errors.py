# SPDX-License-Identifier: GPL-2.0
"""The one exception that reaches the user as a message instead of a traceback, and a hint for typing mistakes."""

from collections.abc import Iterable
from difflib import get_close_matches

LIKE = 0.5  # of the characters in the same order: a letter left out, added or exchanged, or a unit forgotten
ALMOST = 0.8  # a typing mistake and nothing else


class LabError(Exception):
    """Something the user can act on: bad input, a failed set-up step, a missing tool."""


def meant(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` with the known words that are most like this one; empty if none is."""
    words = list(known)
    close = (
        [k for k in words if k.startswith(f"{word}_")]  # rate: rate_mbit
        or get_close_matches(word, words, 1, ALMOST)
        or [k for k in words if word.startswith(f"{k}_")]  # loss_percent: loss
        or get_close_matches(word, words, 1, LIKE)
    )
    return f"; did you mean {' or '.join(close)}?" if close else ""
