# SPDX-License-Identifier: GPL-2.0
"""Figures 1 to 11 of the Hybla paper (2004) from runs of our own; figure 5 is its topology."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hetlab.claims.evidence import Evidence, Floats, RunKey
from hetlab.figures.outputs import picture
from hetlab.model import congestion
from hetlab.plots.papers import Curve, Stack, Stage, paper_figure, stacks_figure
from papers.common import WITHOUT_SACK, goodput
from papers.hybla.claims import BOTH, CONGESTION, FAIR, FAIR_MBIT, LOSSY, PERCENTS
from papers.hybla.ideal import IDEAL, IDEAL_PAPER, IDEAL_SPACED, departures_s, sent_pkts, window_pkts
from papers.hybla.runs import INTREE, LINK_MBIT, NEWRENO, OURS, PAPER, PAPER_NOSACK, SACK, SPACED, point

ROLES = {
    OURS: "Hybla ext.",
    SPACED: "Hybla, paper's rules, spaced",
    PAPER: "Hybla, paper's rules",
    PAPER_NOSACK: "the same without SACK",
    INTREE: "in-tree Hybla",
    "vegas": "Vegas",
    SACK: "Reno with SACK",
    NEWRENO: "Reno without SACK",
}
LOOKS: dict[str, dict[str, Any]] = {
    SPACED: {"dash": (0, (5, 2))},
    PAPER: {"dash": (0, (2, 1.5)), "shade": -0.3},
    PAPER_NOSACK: {"dash": (0, (1.5, 1.5)), "shade": 0.5},
    INTREE: {"dash": (0, (6, 2, 1.5, 2))},
    "vegas": {"dash": (0, (5, 2))},
    SACK: {"dash": (0, (5, 2))},
    NEWRENO: {"dash": (0, (1.5, 1.5)), "shade": 0.25},
}
RTT = "round trip of the foreground flow (ms)"


def look(cc: str) -> dict[str, Any]:
    """Colour, label and line style of a curve."""
    return {"role": ROLES[cc], "cc": cc.removesuffix(WITHOUT_SACK)} | LOOKS.get(cc, {})


# ------------------------------------------------------------- ideal channel

SHOWN_MS = (12.5, 50, 300)  # one way: 25, 100, 600 ms
GRID_S = np.arange(0, 10, 0.02)
START_S = 3.0
# Equations are dark and thin over the measured curves
EQUATION: dict[str, Any] = {"cc": "cubic", "dash": (0, (1, 1.2))}
SHADES = dict(zip(SHOWN_MS, (-0.3, 0.2, 0.55), strict=True))
IDEAL_RENO = {way: point("hybla-ideal-32", SACK, way_ms=way) for way in SHOWN_MS}
IDEAL_INTREE = {way: point("hybla-ideal-32", INTREE, way_ms=way) for way in SHOWN_MS}
Model = Callable[..., Floats]
THOUSANDS = "1000 segments"


def course(e: Evidence, run: RunKey) -> Floats:
    """Window in segments on the grid of time since the first segment."""
    t = e.series(run, "flows", "t") - e.series(run, "owd-s-d", "t")[0]
    return np.interp(GRID_S, t, e.series(run, "flows", "cwnd"))


def amount(e: Evidence, run: RunKey) -> Floats:
    """Thousands of segments sent on the same grid."""
    return np.searchsorted(departures_s(e, run), GRID_S, side="right") / 1e3


def sent_thousands(t_s: Floats, rtt_s: float, **rtt0: float) -> Floats:
    """Equation 8 in the same unit."""
    return sent_pkts(t_s, rtt_s, **rtt0) / 1e3


def equation(model: Model, name: str, rtt_s: float, **rtt0: float) -> Curve:
    """An equation of the paper on the grid."""
    return Curve(role=name, x=GRID_S, y=model(GRID_S, rtt_s, **rtt0), **EQUATION)


def reno_curves(e: Evidence, of: Callable[[Evidence, RunKey], Floats], model: Model, name: str) -> list[Curve]:
    """Reno at three round trips, with the paper's equation of standard TCP."""
    curves = []
    for way, run in IDEAL_RENO.items():
        rtt_s = 2 * way / 1e3
        curves.append(Curve(f"Reno, {2 * way:g} ms", SACK, GRID_S, of(e, run), shade=SHADES[way]))
        curves.append(equation(model, name, rtt_s, rtt0_s=rtt_s))
    return curves


@picture("hybla-fig1", *IDEAL_RENO.values())
def fig1(e: Evidence) -> Figure:
    """Window of standard TCP."""
    title = "2004, figure 1. Reno's window, slow start to 32 segments (hybla-ideal-32)"
    return paper_figure(title, [Stage("cwnd (segments)", reno_curves(e, course, window_pkts, "equation 2"))])


def ideal_stages(
    e: Evidence, of: Callable[[Evidence, RunKey], Floats], model: Model, name: str, cut_s: float = 10
) -> list[Stage]:
    """A plot area for each round trip: the paper's rules spaced and not, in-tree Hybla, the equation."""
    stages = []
    keep = cut_s >= GRID_S
    for way in SHOWN_MS:
        laws = {IDEAL_SPACED: SPACED, IDEAL_PAPER: PAPER}
        curves = [Curve(x=GRID_S[keep], y=of(e, IDEAL[which, way])[keep], **look(cc)) for which, cc in laws.items()]
        curves.append(Curve(x=GRID_S[keep], y=of(e, IDEAL_INTREE[way])[keep], **look(INTREE)))
        drawn = equation(model, name, 2 * way / 1e3)
        curves.append(Curve(drawn.role, drawn.cc, drawn.x[keep], drawn.y[keep], dash=drawn.dash))
        top = 1.1 * max(float(c.y.max()) for c in curves if c.cc != INTREE)
        stages.append(Stage(f"{2 * way:g} ms", curves, top=top))
    return stages


SHOWN = [
    *(IDEAL[cc, way] for cc in (IDEAL_SPACED, IDEAL_PAPER) for way in SHOWN_MS),
    *IDEAL_INTREE.values(),
]


@picture("hybla-fig2", *SHOWN)
def fig2(e: Evidence) -> Figure:
    """Window of Hybla at three round trips."""
    title = "2004, figure 2. Hybla's window in segments, by round trip (hybla-ideal; in-tree: hybla-ideal-32)"
    return paper_figure(title, ideal_stages(e, course, window_pkts, "equation 6"))


@picture("hybla-fig3", *IDEAL_RENO.values(), *(IDEAL[IDEAL_SPACED, way] for way in SHOWN_MS))
def fig3(e: Evidence) -> Figure:
    """Data sent by both at three round trips."""
    ours = [
        Curve(f"Hybla, {2 * way:g} ms", SPACED, GRID_S, amount(e, IDEAL[IDEAL_SPACED, way]), shade=SHADES[way])
        for way in SHOWN_MS
    ]
    stages = [
        Stage(THOUSANDS, reno_curves(e, amount, sent_thousands, "equations 4, 8")),
        Stage(THOUSANDS, [*ours, equation(sent_thousands, "equations 4, 8", 2 * SHOWN_MS[-1] / 1e3)]),
    ]
    title = "2004, figure 3. Segments sent by Reno (above) and Hybla (hybla-ideal-32, hybla-ideal)"
    return paper_figure(title, stages)


@picture("hybla-fig4", *SHOWN)
def fig4(e: Evidence) -> Figure:
    """Data sent by Hybla in the first 3 s, with and without spacing."""
    title = "2004, figure 4. Segments sent by 3 s, by round trip (hybla-ideal; in-tree: hybla-ideal-32)"
    return paper_figure(title, ideal_stages(e, amount, sent_thousands, "equation 8", START_S))


# ---------------------------------------------------- congestion, link losses


def over_rtt(e: Evidence, sweeps: dict[str, dict[int, RunKey]]) -> list[Curve]:
    """Goodput of the foreground flow."""
    return [
        Curve(
            x=np.array(list(runs), float), y=np.array([goodput(e, r) for r in runs.values()]), kind="points", **look(cc)
        )
        for cc, runs in sweeps.items()
    ]


def every(sweeps: Iterable[dict[int, RunKey]]) -> list[RunKey]:
    """All runs of some sweeps."""
    return [run for runs in sweeps for run in runs.values()]


TICKS = list(CONGESTION[OURS])
MARK = ((FAIR_MBIT, "fair share"),)


@picture("hybla-fig6", *every(CONGESTION.values()))
def fig6(e: Evidence) -> Figure:
    """Beside five wired flows."""
    title = "2004, figure 6. Beside five wired Reno flows, 10 Mbit/s RED (hybla-congestion)"
    stage = Stage("goodput (Mbit/s)", over_rtt(e, {cc: CONGESTION[cc] for cc in ROLES}), MARK)
    return paper_figure(title, [stage], RTT, TICKS)


@picture("hybla-fig7", *every(LOSSY.values()))
def fig7(e: Evidence) -> Figure:
    """Alone, with link losses."""
    title = "2004, figure 7. Alone, 1 % lost both ways on the wireless leg, 10 Mbit/s (hybla-loss)"
    return paper_figure(title, [Stage("goodput (Mbit/s)", over_rtt(e, {cc: LOSSY[cc] for cc in ROLES}))], RTT, TICKS)


@picture("hybla-fig8", *every(BOTH[cc, p] for cc in (PAPER, OURS, SACK) for p in PERCENTS))
def fig8(e: Evidence) -> Figure:
    """Both: a plot area for each error rate."""
    stages = [
        Stage(f"{p} % lost: Mbit/s", over_rtt(e, {cc: BOTH[cc, p] for cc in (OURS, PAPER, SACK)}), MARK)
        for p in PERCENTS
    ]
    title = "2004, figure 8. Beside five wired Reno flows, with link losses (hybla-both)"
    return paper_figure(title, stages, RTT, TICKS)


# ------------------------------------------------------------------ fairness

FLOW_SHADES = (-0.25, 0.0, 0.3)
PIE = "goodput, in shares of the bottleneck (numbers: percent)"


def stack(e: Evidence, cc: str) -> Stack:
    """The six flows: the long ones first, then the wired ones."""
    flows = e[FAIR[cc]].flows
    own = {"main": congestion.family(cc.removesuffix(WITHOUT_SACK)), "wired": "cubic"}
    counts: dict[str, int] = {}
    parts = []
    for flow in flows:
        name = flow.name.rstrip("0123456789")
        nth = counts[name] = counts.get(name, -1) + 1
        parts.append((flow.goodput_mbit / LINK_MBIT, own[name], FLOW_SHADES[nth % len(FLOW_SHADES)]))
    return Stack(ROLES[cc], parts)


def pies(e: Evidence, title: str, ccs: tuple[str, ...]) -> Figure:
    """What figures 9 to 11 have as pies."""
    whose = {
        ROLES[cc].partition(",")[0]: congestion.family(cc.removesuffix(WITHOUT_SACK))
        for cc in ccs
        if WITHOUT_SACK not in cc
    }
    keys = {f"{name}, 300 ms": (cc, 0.0) for name, cc in whose.items()} | {"wired Reno, 25 ms": ("cubic", 0.0)}
    return stacks_figure(title, [stack(e, cc) for cc in ccs], keys, PIE)


PIES = {
    9: ("Three Reno flows of 300 ms beside three wired ones", (SACK, NEWRENO)),
    10: ("Three Hybla flows of 300 ms beside three wired Reno flows", (PAPER, PAPER_NOSACK, INTREE)),
    11: ("Packet spacing: three Hybla flows of 300 ms beside three wired Reno flows", (PAPER, SPACED, OURS)),
}


def _pie(number: int, text: str, ccs: tuple[str, ...]) -> None:
    @picture(f"hybla-fig{number}", *(FAIR[cc] for cc in ccs))
    def draw(e: Evidence) -> Figure:
        """Stacked bars."""
        return pies(e, f"2004, figure {number}. {text} (hybla-fair)", ccs)


for figure_number, (heading, whom) in PIES.items():
    _pie(figure_number, heading, whom)
