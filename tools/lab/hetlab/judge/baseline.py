# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own congestion controls and ours got, as shipped in docs/data: a newcomer is ranked among them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hetlab.judge.compare import LEAST, direction
from hetlab.judge.verdict import Cell
from hetlab.model.congestion import ours
from hetlab.paths import TOP

PATH = TOP / "docs" / "data" / "gauntlet.jsonl"


@dataclass(frozen=True)
class Rank:
    """Place among the kernel's own; of equals all have the first."""

    place: int
    of: int

    def __str__(self) -> str:
        return f"{self.place} of {self.of}"


@cache
def read(path: Path = PATH) -> dict[tuple[str, str], dict[str, float]]:
    """Medians by case and what is asked, then by congestion control; empty without the file."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows(path):
        if row["median"] is not None:
            found.setdefault((row["case"], row["asked"]), {})[row["cc"]] = row["median"]
    return found


def rows(path: Path = PATH) -> Iterable[dict[str, Any]]:
    """The file's lines."""
    return map(json.loads, path.read_text().splitlines()) if path.is_file() else ()


def rank(cell: Cell, path: Path = PATH) -> Rank | None:
    """Place of a verdict; None where no limit says what is better, or nothing is known of that kernel."""
    known = read(path).get((cell.case.id, cell.judgement.text), {})
    others = [value for cc, value in known.items() if cc not in ours() and cc != cell.cc]
    wants = direction(cell.case, cell.judgement)
    if cell.ours is None or not cell.ranked or not others or wants is None:
        return None
    mine = cell.ours.median
    ahead = [v for v in others if abs(v - mine) > LEAST * max(abs(v), abs(mine)) and (v > mine) == (wants == "high")]
    return Rank(1 + len(ahead), 1 + len(others))
