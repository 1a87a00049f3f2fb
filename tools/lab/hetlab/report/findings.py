# SPDX-License-Identifier: GPL-2.0
"""What the runs of a scenario say: a sentence, and the values of a table that are worth a mark.

Two congestion controls differ in a number where their seeds do: the ranges from the smallest to the largest seed do
not overlap, and the means are more than ``SAME`` apart. Both rules stand below the table of the page.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from hetlab.model.result import RunResult
from hetlab.plots import style
from hetlab.report.runs import Group
from hetlab.results.columns import COLUMNS, Column

# Less than a segment in a hundred more or less: what the moment a run ends can make
SAME = 0.01
# A sender that gives up more than a tenth trades goodput for delay: no better or worse, see goodput against delay
AS_FAST = 0.9
ALONE = ("goodput", "share")
NAMED = 4

Values = Mapping[str, Sequence[float]]


def differ(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the seeds of two congestion controls tell their values apart."""
    if max(one) >= min(other) and max(other) >= min(one):
        return False
    first, second = float(np.mean(one)), float(np.mean(other))
    return abs(first - second) > SAME * max(abs(first), abs(second))


def best(values: Values, *, high: bool) -> set[str]:
    """Labels of the best mean and of all that do not differ from it; those without a value are none."""
    known = {label: found for label, found in values.items() if found}
    if not known:
        return set()
    top = (max if high else min)(known, key=lambda label: float(np.mean(known[label])))
    return {label for label, found in known.items() if label == top or not differ(found, known[top])}


def as_fast(results: Mapping[str, Sequence[RunResult]]) -> set[str]:
    """Labels with at least ``AS_FAST`` of the best goodput, or one that does not differ from it."""
    mbit = COLUMNS["goodput"]
    values = {label: found for label, runs in results.items() if (found := mbit.values(runs))}
    most = max((float(np.mean(found)) for found in values.values()), default=0)
    return {label for label, found in values.items() if np.mean(found) >= AS_FAST * most} | best(values, high=True)


def marked(results: Mapping[str, Sequence[RunResult]], column: Column) -> set[str]:
    """Labels whose value of a column is marked: the best ones, if there is anyone to be better than.

    A low queue, delay or number of losses is compared only among those that are about as fast: a sender that sends
    little has all of these for nothing. Of these numbers, what more than half have is nothing special.
    """
    if not column.best:
        return set()
    alone = column.name in ALONE
    compared = set(results) if alone else as_fast(results)
    values = {label: found for label in compared if (found := column.values(results[label]))}
    top = best(values, high=column.best == "high")
    return top if len(top) <= (len(values) - 1 if alone else len(values) / 2) else set()


# ------------------------------------------------------------------ sentence


def finding(g: Group) -> str:
    """Who got the most goodput and at what delay, and who had the least delay; empty without TCP flows."""
    mbit = {label: found for label, runs in g.results.items() if (found := COLUMNS["goodput"].values(runs))}
    delay = COLUMNS["delay p95"]
    ms = {label: found for label in mbit if (found := delay.values(g.results[label]))}
    if not mbit:
        return ""
    fastest, calmest = best(mbit, high=True), best(ms, high=False)
    told = f"{_got(g, mbit, fastest)}{_at_delay(g, ms, fastest)}"
    if len(ms) < 2:
        return f"{told}."
    if calmest == set(ms):
        return f"{told}; the delays do not differ."
    if calmest == fastest:
        return f"{told}, which is also the least."
    if calmest < fastest:
        return f"{told}; {_names(g, calmest)} had the least of all."
    return f"{told}; {_names(g, calmest)} had the least delay, {_range(ms, calmest, 1)} ms, {_with(g, mbit, calmest)}."


def _got(g: Group, mbit: Values, fastest: set[str]) -> str:
    """The first half: who got how much."""
    several = any(len(run.result.tcp) > 1 for run in g.every)
    amount = f"{_range(mbit, fastest, 2)} Mbit/s{_share(g, fastest)}"
    who = f"With {_names(g, fastest)} the TCP flows together" if several else _names(g, fastest)
    if len(mbit) == 1:
        return f"{who} got a goodput of {amount}"
    if fastest == set(mbit):
        return f"The congestion controls do not differ in goodput: {'each' if len(mbit) > 2 else 'both'} got {amount}"
    return f"{who} got the most goodput, {amount}"


def _with(g: Group, mbit: Values, labels: set[str]) -> str:
    return f"with {_range(mbit, labels, 2)} Mbit/s{_share(g, labels)}"


def _at_delay(g: Group, ms: Values, labels: set[str]) -> str:
    """One-way delay of some labels, where it is known: of each, where a few differ."""
    known = {label: ms[label] for label in style.styles(g.runs) if label in labels and label in ms}
    if not known:
        return ""
    each = 1 < len(known) == len(labels) <= NAMED and best(known, high=False) != set(known)
    texts = [f"{np.mean(found):.1f}" for found in known.values()]
    shown = f"{_joined(texts)} ms" if each else f"{_range(known, known, 1)} ms"
    return f", at a one-way delay of {shown} (95th percentile)"


def _names(g: Group, labels: Collection[str]) -> str:
    """Names in the order of tables, joined as in a sentence; of many the first ones."""
    names = [look.name for label, look in style.styles(g.runs).items() if label in labels]
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return _joined(names)


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _range(values: Values, labels: Collection[str], places: int) -> str:
    """The means of some labels: a number, or from the smallest to the largest."""
    texts = [f"{mean:.{places}f}" for mean in sorted(float(np.mean(values[n])) for n in labels if n in values)]
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def _share(g: Group, labels: Collection[str]) -> str:
    share = {label: found for label in labels if (found := COLUMNS["share"].values(g.results[label]))}
    return f" ({_range(share, share, 0)} % of the link)" if share else ""


def by_chance(g: Group) -> bool:
    """Whether chance may be part of the differences: a random network, and congestion controls with a single seed."""
    ways = [way for link in g.resolved.links.values() for way in (link.forward, link.back)]
    random = any(way.impaired for way in ways)
    return random and len(g.runs) > 1 and any(len(runs) == 1 for runs in g.runs.values())
