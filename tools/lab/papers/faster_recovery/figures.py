# SPDX-License-Identifier: GPL-2.0
"""Figures 2 to 8 of the faster-recovery paper (MILCOM 2000) from runs of our own, and the table of friendliness."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hetlab.claims.evidence import Evidence, Need
from hetlab.figures.outputs import SHEETS, Sheet, picture
from hetlab.plots.papers import Curve, Stage, paper_figure
from papers.common import goodput, point
from papers.faster_recovery.claims import (
    COUNT,
    COUNTS,
    DELAY,
    FR,
    FRIEND_AQMS,
    FRIEND_COUNTS,
    FRIEND_DELAYS_MS,
    FRIEND_OTHERS,
    FRIENDS,
    GFR,
    ONOFF_DELAYS_MS,
    RANDOM_DELAYS_MS,
    RATE,
    RATES_MBIT,
    RENO,
    SACK,
    carried_mbit,
    friendly,
    shares,
)

ROLES = {
    FR: "FR-TCP",
    GFR: "GFR-TCP",
    SACK: "Reno with SACK",
    RENO: "Reno without SACK",
    "westwood": "Westwood",
    "cubic": "CUBIC",
    "bbr": "BBR",
}
# GFR-TCP dashed over FR-TCP: often they do the same
LOOKS: dict[str, dict[str, Any]] = {
    GFR: {"dash": (0, (4, 5))},
    SACK: {"dash": (0, (5, 2))},
    RENO: {"dash": (0, (1.5, 1.5)), "shade": 0.25},
    "westwood": {"dash": (0, (5, 2))},
    "cubic": {"dash": (0, (5, 2))},
    "bbr": {"dash": (0, (6, 2, 1.5, 2))},
}
AXES = {COUNT: "connections", RATE: "bottleneck (Mbit/s)", DELAY: "one-way delay (ms)"}
STEP_S = 4.0


def look(cc: str) -> dict[str, Any]:
    """Whose colour, which text, which line."""
    return {"role": ROLES[cc], "cc": SACK if cc == RENO else cc} | LOOKS.get(cc, {})


def used(e: Evidence, run: Need) -> float:
    """Share of the link that all connections have, headers included."""
    return goodput(e, run) / carried_mbit(e, run)


def stage(
    e: Evidence, label: str, of: Callable[[Evidence, Need], float], at: dict[str, list[Need]], x: Sequence[float]
) -> Stage:
    """A quantity over a sweep, a curve for each congestion control."""
    xs = np.array(x, float)
    curves = [
        Curve(x=xs, y=np.array([of(e, run) for run in runs]), kind="points", **look(cc)) for cc, runs in at.items()
    ]
    return Stage(label, curves)


def _sweep(name: str, title: str, scenario: str, key: str, values: Sequence[float]) -> None:
    at = {cc: [point(scenario, cc, {key: value}) for value in values] for cc in ROLES}

    @picture(name, *(run for runs in at.values() for run in runs))
    def draw(e: Evidence) -> Figure:
        """Mean goodput of a connection; where the number of connections or the rate changes, of the link too."""
        stages = [stage(e, "per connection (Mbit/s)", goodput, at, values)]
        if key != DELAY:
            stages.append(stage(e, "share of the link", used, at, values))
        return paper_figure(title, stages, AXES[key], values)


BURSTY = "on/off UDP at 90 %"
RANDOM = "bursts of random losses"
SWEEPS = (
    (2, f"{BURSTY}, 45 Mbit/s, 500 ms", "faster_recovery-onoff", COUNT, COUNTS),
    (3, f"{BURSTY}, 10 connections, 500 ms", "faster_recovery-onoff-rate", RATE, RATES_MBIT),
    (4, f"{BURSTY}, 10 connections, 45 Mbit/s", "faster_recovery-onoff-delay", DELAY, ONOFF_DELAYS_MS),
    (5, f"{RANDOM}, 45 Mbit/s, 500 ms", "faster_recovery-random", COUNT, COUNTS),
    (6, f"{RANDOM}, 10 connections, 500 ms", "faster_recovery-random-rate", RATE, RATES_MBIT),
    (7, f"{RANDOM}, 10 connections, 45 Mbit/s", "faster_recovery-random-delay", DELAY, RANDOM_DELAYS_MS),
)
for number, text, where, swept, points in SWEEPS:
    heading = f"2000, figure {number}. Mean goodput of a connection: {text} ({where})"
    _sweep(f"faster_recovery-fig{number}", heading, where, swept, points)


FIG8 = {cc: point("faster_recovery-random", cc, {COUNT: 10}) for cc in ROLES}


def rate_over_time(e: Evidence, cc: str) -> Curve:
    """Of the first connection, in steps of 4 s."""
    t, octets = (e.series(FIG8[cc], "received", column) for column in ("t", "bytes_received"))
    edges = np.arange(0, float(t[-1]) + 1e-6, STEP_S)
    mbit = np.diff(np.interp(edges, t, octets)) * 8 / 1e6 / STEP_S
    return Curve(x=edges, y=np.append(mbit, mbit[-1]), kind="step", **look(cc))


@picture("faster_recovery-fig8", *FIG8.values())
def fig8(e: Evidence) -> Figure:
    """Ours above, the others below, with one scale."""
    curves = {cc: rate_over_time(e, cc) for cc in ROLES}
    top = 1.05 * max(float(curve.y.max()) for curve in curves.values())
    stages = [
        Stage("Mbit/s", [curve for cc, curve in curves.items() if (cc in (FR, GFR)) == ours], top=top)
        for ours in (True, False)
    ]
    return paper_figure(f"2000, figure 8. One of 10 connections over time: {RANDOM}, 45 Mbit/s, 500 ms", stages)


# -------------------------------------------------------------- friendliness

HEAD = "| RTT ms | flows of each kind | " + " | ".join(FRIENDS) + " |"
PLACES = [(ms, count) for ms in FRIEND_DELAYS_MS for count in FRIEND_COUNTS]
FRIEND_NEEDS = tuple(
    dict.fromkeys(
        friendly(cc, *place, other, aqm)
        for other in FRIEND_OTHERS
        for aqm in FRIEND_AQMS
        for cc in (*FRIENDS, other)
        for place in PLACES
    )
)


def friendly_table(e: Evidence, other: str, aqm: str) -> str:
    """For one kind of other flows and one queue discipline."""
    lines = [f"Beside {other}, {aqm}:", "", HEAD, "|---" * (len(FRIENDS) + 2) + "|"]
    for ms, count in PLACES:
        own = friendly(other, ms, count, other, aqm)
        found = [shares(e, friendly(cc, ms, count, other, aqm), own) for cc in FRIENDS]
        cells = " | ".join(f"{ratio:.2f} / {kept:.2f}" for ratio, kept, _fair in found)
        lines.append(f"| {2 * ms} | {count} | {cells} |")
    return "\n".join(lines)


def friendly_sheet(e: Evidence) -> str:
    """All four tables."""
    said = (
        "Written by `hetlab figures`. 20 Mbit/s, queue of one BDP, from 10 s to 60 s: goodput of ours to that of the "
        "other kind / goodput of the other kind to what it has beside its own (1: it does not notice)."
    )
    return "\n\n".join([said, *(friendly_table(e, other, aqm) for other in FRIEND_OTHERS for aqm in FRIEND_AQMS)])


SHEETS.append(Sheet("faster_recovery-friendly", FRIEND_NEEDS, friendly_sheet))
