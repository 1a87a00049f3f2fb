# SPDX-License-Identifier: GPL-2.0
"""Two congestion controls, or two versions of one: what got better, what worse, by how much."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hetlab.judge.case import Case, Judgement
from hetlab.judge.verdict import Cell, Estimate

Change = Literal["better", "worse", "same", "open", "changed", "none"]
# What is less than this is no difference, however sharp the numbers are
LEAST = 0.01


@dataclass(frozen=True)
class Difference:
    """A judgement of a case for two: before and after, and what became of it."""

    case: Case
    judgement: Judgement
    before: Estimate | None
    after: Estimate | None
    word: Change

    @property
    def percent(self) -> float | None:
        """How much larger the median is now; None where it was 0 or is not there."""
        if self.before is None or self.after is None or not self.before.median:
            return None
        return 100 * (self.after.median - self.before.median) / abs(self.before.median)


def differences(cells: Sequence[Cell], before: str, after: str) -> list[Difference]:
    """Of every judgement of every case, in their order."""
    second = {(cell.case.id, cell.case.judge.index(cell.judgement)): cell for cell in cells if cell.cc == after}
    found = []
    for cell in cells:
        if cell.cc == before:
            other = second[cell.case.id, cell.case.judge.index(cell.judgement)]
            word = _word(cell.case, cell.judgement, cell.ours, other.ours)
            found.append(Difference(cell.case, cell.judgement, cell.ours, other.ours, word))
    return found


def _word(case: Case, j: Judgement, a: Estimate | None, b: Estimate | None) -> Change:
    """Better and worse only where the intervals are apart; open: the medians are, the intervals are not."""
    if a is None or b is None:
        return _lost(j, a, b)
    if abs(a.median - b.median) <= LEAST * max(abs(a.median), abs(b.median)):
        return "same"
    if a.low <= b.high and b.low <= a.high:
        return "open"
    if (wants := direction(case, j)) is None:
        return "changed"
    return "better" if (b.median > a.median) == (wants == "high") else "worse"


def _lost(j: Judgement, a: Estimate | None, b: Estimate | None) -> Change:
    """One has no number, such as the time of a transfer that did not end: worse where a limit wants one."""
    if (a is None) == (b is None) or j.wants is None:
        return "none"
    return "worse" if b is None else "better"


def direction(case: Case, j: Judgement) -> Literal["low", "high"] | None:
    """Which values are better; None without a limit, and of a range, where neither end is."""
    asked = {other.wants for other in case.judge if (other.measure, other.with_) == (j.measure, j.with_)} - {None}
    return j.wants if len(asked) == 1 else None


def count(found: Sequence[Difference], word: Change) -> int:
    """How many judgements became so; those of one number in one case count once."""
    return len({(d.case.id, d.judgement.measure, str(d.judgement.with_)) for d in found if d.word == word})
