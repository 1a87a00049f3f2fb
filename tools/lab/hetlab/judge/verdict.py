# SPDX-License-Identifier: GPL-2.0
"""Verdicts: what a congestion control got in a case, over its seeds, beside the limit that was asked.

No verdict comes from one seed where something is random: it is "open" while the 95 % interval of the median has the
limit within.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hetlab.judge.case import Case, Judgement
from hetlab.judge.measures import values
from hetlab.judge.seen import Floats, Seen
from hetlab.results.intervals import over_seeds

Word = Literal["pass", "fail", "open", "value", "none"]
RESAMPLES = 2000
# Seeds of one that is there twice: those of the first, and so much more
SEEDS_APART = 1000
PRECISION = 0.03
# The bootstrap of fewer values never leaves their range, which has the median in less than 95 % of all draws
FEWEST = 6


@dataclass(frozen=True)
class Estimate:
    """Median of the seeds' values, and its 95 % interval; ``missing``: seeds without a value."""

    median: float
    low: float
    high: float
    n: int
    missing: int = 0

    @property
    def sharp(self) -> bool:
        """Whether the interval is within 3 % of the median on both sides."""
        return max(self.high - self.median, self.median - self.low) <= PRECISION * abs(self.median)


def estimate(found: Sequence[float | None]) -> Estimate | None:
    """Of the values of seeds that have one; None if none has."""
    have = np.array([v for v in found if v is not None], float)
    if not len(have):
        return None
    low, high = _interval(have)
    return Estimate(float(np.median(have)), low, high, len(have), len(found) - len(have))


def number(found: Estimate | None) -> str:
    """Median, and the interval where it has a width."""
    if found is None:
        return "none"
    low, middle, high = f"{found.low:.3g}", f"{found.median:.3g}", f"{found.high:.3g}"
    return middle if low == high else f"{middle} ({low}..{high})"


def median(found: Estimate | None) -> str:
    """Without the interval."""
    return "none" if found is None else f"{found.median:.3g}"


def _interval(have: Floats) -> tuple[float, float]:
    """95 % interval: bootstrap of the median; of few values Student's t around the mean, the median at least within."""
    if len(have) >= FEWEST:
        draws = np.random.default_rng(1).choice(have, (RESAMPLES, len(have)))
        low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
        return float(low), float(high)
    found = over_seeds(have.tolist())
    if found is None or not found.half:
        return float(have[0]), float(have[0])
    return min(found.mean - found.half, found.median), max(found.mean + found.half, found.median)


@dataclass(frozen=True)
class Cell:
    """A judgement of a case for one congestion control."""

    case: Case
    cc: str
    judgement: Judgement
    word: Word
    ours: Estimate | None = None
    limit: float | None = None
    ranked: bool = True  # on the kernel that the shipped medians are of


Runs = Mapping[str, Sequence[Seen]]  # by label of the congestion control under test


def judge(case: Case, ccs: Sequence[str], runs: Runs) -> list[Cell]:
    """Every judgement of a case for each congestion control, in order."""
    return [_cell(case, cc, j, runs) for j in case.judge for cc in ccs]


def _cell(case: Case, cc: str, j: Judgement, runs: Runs) -> Cell:
    own = runs.get(cc, ())
    if not own:
        return Cell(case, cc, j, "none")
    ours = estimate(values(own, j.measure, j.with_))
    if j.of:
        others = runs.get(j.of, ())
        limit, beyond = against(j, own, others)
        never = bool(others) and limit is None
        return Cell(case, cc, j, _beside_never(j, ours) if never else _word_beside(j, ours, beyond), ours, limit)
    limit = _factor(j)
    return Cell(case, cc, j, _word(j, ours, limit), ours, limit)


def _factor(j: Judgement) -> float | None:
    return j.at_most if j.at_most is not None else j.at_least


def against(j: Judgement, own: Sequence[Seen], others: Sequence[Seen]) -> tuple[float | None, Estimate | None]:
    """The limit that a reference gives (its median), and how far beyond the limit of its own seed each value is.

    Seed by seed, because a seed draws the same losses and arrivals for both: what one has beyond the other differs much
    less than the values from seed to seed. As the logarithm of value by limit, so that a seed of long times counts as
    much as one of short ones; where one of them is not above 0, as the difference by the median limit.
    """
    factor = _factor(j)
    by_seed = {run.result.seed % SEEDS_APART: value for run, value in _valued(j, others)}
    found = estimate(list(by_seed.values()))
    if factor is None or found is None:
        return None, None
    limits = {seed: factor * value + j.plus for seed, value in by_seed.items() if value is not None}
    pairs = [(value, limits.get(run.result.seed % SEEDS_APART)) for run, value in _valued(j, own)]
    limit = factor * found.median + j.plus
    return limit, estimate(_beyond([(v, most) for v, most in pairs if most is not None], abs(limit) or 1.0))


def _beyond(pairs: Sequence[tuple[float | None, float]], scale: float) -> list[float | None]:
    if all(most > 0 and (v is None or v > 0) for v, most in pairs):
        return [None if v is None else math.log(v / most) for v, most in pairs]
    return [None if v is None else (v - most) / scale for v, most in pairs]


def _valued(j: Judgement, runs: Sequence[Seen]) -> list[tuple[Seen, float | None]]:
    return list(zip(runs, values(runs, j.measure, j.with_), strict=True))


def _word_beside(j: Judgement, ours: Estimate | None, beyond: Estimate | None) -> Word:
    if ours is None or ours.missing > ours.n:
        return "fail"
    return "none" if beyond is None else _word(j, beyond, 0.0)


def _beside_never(j: Judgement, ours: Estimate | None) -> Word:
    """Beside one that never got there, in no seed: who does is not later."""
    if j.at_most is None:
        return "none"
    return "pass" if ours is not None and not ours.missing else "open"


def _word(j: Judgement, ours: Estimate | None, limit: float | None) -> Word:
    if j.at_most is None and j.at_least is None:
        return "value"
    if limit is None:
        return "none"
    if ours is None or ours.missing > ours.n:
        return "fail"  # a transfer that did not end, a share that was never reached
    most = j.at_most is not None
    good = (ours.low <= limit, ours.high <= limit) if most else (ours.low >= limit, ours.high >= limit)
    return "pass" if all(good) else "open" if any(good) else "fail"


def sharp(j: Judgement, own: Sequence[Seen], others: Sequence[Seen]) -> bool:
    """Whether more seeds are not needed: the interval is within 3 %, or on one side of the limit.

    Of a comparison the interval of what is beyond the limit.
    """
    found = estimate(values(own, j.measure, j.with_))
    if not j.of:
        return found is None or found.sharp or (_factor(j) is not None and _word(j, found, _factor(j)) != "open")
    _limit, beyond = against(j, own, others)
    if beyond is None or _word_beside(j, found, beyond) != "open":
        return True
    return max(beyond.high - beyond.median, beyond.median - beyond.low) <= PRECISION


def passed(cells: Sequence[Cell]) -> Word:
    """Of a case: what must hold holds; "good" ones do not count."""
    words = [c.word for c in cells if c.judgement.grade == "must" and c.word != "value"]
    worst: tuple[Word, ...] = ("none", "fail", "open")
    for word in worst:
        if word in words:
            return word
    return "pass" if words else "value"
