# SPDX-License-Identifier: GPL-2.0
"""Points of sweeps, by their names: ``NAME[KEY=VALUE,...]``."""

import re
from typing import Any

NAME = re.compile(r"(?P<stem>[^\[]*)\[(?P<point>.*)\]", re.S)
NEXT = re.compile(r",(?=[\w.+-]+=)")


def split(name: str) -> tuple[str, dict[str, str]]:
    """Scenario, with its variant, and the values of the swept keys as they are spelled; none without a point."""
    match = NAME.fullmatch(name)
    if not match:
        return name, {}
    pairs = (item.partition("=") for item in NEXT.split(match["point"]))
    return match["stem"], {key: value for key, _is, value in pairs}


def number(text: str) -> float | None:
    """A value of a swept key as a number; None if it is a word, a list, true or false."""
    try:
        return float(text)
    except ValueError:
        return None


def order(name: str) -> tuple[Any, ...]:
    """For sorting: scenarios by name, their points by the values of their keys, numbers before words, 5 before 10."""
    stem, at = split(name)
    values = ((number(text), text) for text in at.values())
    return stem, tuple((value is None, value or 0.0, text) for value, text in values)
