# SPDX-License-Identifier: GPL-2.0
"""A number over several seeds: mean, median and the 95 % confidence interval of the mean (Student's t)."""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Statistics:
    """Of the values of ``n`` seeds; ``half``: half the width of the 95 % interval of the mean, None for one seed."""

    n: int
    mean: float
    median: float
    half: float | None

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half is None else self.mean + self.half


def over_seeds(values: Sequence[float]) -> Statistics | None:
    """Mean, median and interval of values that are independent of each other; None without any."""
    n = len(values)
    if not n:
        return None
    half = student_t(n - 1) * statistics.stdev(values) / math.sqrt(n) if n > 1 else None
    return Statistics(n, statistics.fmean(values), statistics.median(values), half)


@functools.cache
def student_t(freedom: int) -> float:
    """Quantile of Student's t distribution that 95 % of it lie within on both sides; ``freedom``: 1 or more.

    The distribution function is the regularized incomplete beta function (Abramowitz and Stegun 26.7.1).
    """
    import mpmath

    def outside(t: float) -> float:
        x = freedom / (freedom + t * t)
        return float(mpmath.betainc(freedom / 2, 0.5, 0, x, regularized=True))

    low, high = 1.95, 12.71  # of infinitely many degrees of freedom, and of one
    return float(mpmath.findroot(lambda t: outside(t) - (1 - CONFIDENCE), (low, high), solver="anderson"))
