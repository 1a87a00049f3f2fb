# SPDX-License-Identifier: GPL-2.0
"""What santacruz saw and decided: queue estimate, delay, service time, window with losses."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hetlab.plots.panels import Axis, Events, Keys, Line, Panel, draw, draw_events, keys_of, layout, limits
from hetlab.plots.style import INK, WIDE_IN, Floats, Series, styled

# --------------------------------------------------------- trace of santacruz


Verdict = Literal["loss judged random", "loss judged congestion"]


@dataclass(frozen=True)
class TracedFlow:
    """What santacruz saw of a flow at the end of each interval, and how it judged losses.

    Times ``t`` in s, queue n and window in packets, delay and pktS in us (NaN: not known),
    1 in the competitive mode; ``losses`` at their times with the window they found,
    ``timeouts_s`` when they were noticed.
    """

    name: str
    sources: tuple[str, ...]
    t: Floats
    n_pkts: Floats
    level_us: Floats
    pkts_us: Floats
    cwnd: Floats
    competing: Floats
    losses: Mapping[Verdict, Series]
    timeouts_s: Floats


VERDICTS: dict[Verdict, dict[str, Any]] = {
    "loss judged random": {"marker": "o", "mfc": "none", "mec": "#0072b2", "ms": 4.5, "mew": 1.0},
    "loss judged congestion": {"marker": "x", "mec": "#b00020", "ms": 5, "mew": 1.5},
}
TIMEOUT: dict[str, Any] = {"marker": "^", "mfc": INK, "mec": INK, "ms": 5.5, "mew": 0}
FLOW_COLOURS = ("#d55e00", "#4b4b9b", "#00a060", "#a0148c")
MEASURED = "#9aa3ab"
TRACE_PANEL_IN = (1.6, 1.15, 1.15, 1.6, 0.75)


@styled
def santacruz_trace(
    title: str,
    flows: Sequence[TracedFlow],
    queue: Series,
    n_op_pkts: float | None,
    end_s: float,
    events: Events = (),
) -> Figure:
    """Queue estimate, delay, service time, window with losses, mode, one above the other.

    ``queue``: times (s) and lengths (packets) of the bottleneck's; ``end_s`` of the run; ``events`` (s, text) as
    vertical lines.
    """
    sources = dict.fromkeys(source for flow in flows for source in flow.sources)
    words = ", then ".join(sources) or "nothing"
    panels = [Panel(label, lines) for label, lines in _trace_lines(flows)]
    panels[0].lines.insert(0, Line(*queue, "bottleneck queue, measured", MEASURED, kind="step", width=0.9))
    marks = ((n_op_pkts, "operating point N_op"),) if n_op_pkts else ()
    keys = keys_of(panels, Axis("", marks=marks, events=events)) | _event_keys(flows)
    figure, axes = layout(
        len(panels),
        1,
        title=f"{title}: trace of santacruz; receive times from {words}",
        keys=keys,
        width=WIDE_IN,
        panel=sum(TRACE_PANEL_IN) / len(panels),
        left=0.75,
        gap=0.12,
        ratios=TRACE_PANEL_IN,
    )
    for ax, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            draw(ax, line, 1)
        _low, high = limits(panel.lines, Axis(panel.title))
        ax.set_ylim(min((float(np.nanmin(line.y, initial=0)) for line in panel.lines), default=0), high)
        ax.set_ylabel(panel.title)
        draw_events(ax, events)
    for value, _text in marks:
        axes[0].axhline(value, color=INK, ls=(0, (1, 2)), lw=0.9)
    _draw_events(axes[3], flows)
    for flow, colour in zip(flows, itertools.cycle(FLOW_COLOURS), strict=False):
        # Not thinned: a mean of states would be none
        axes[-1].plot(flow.t, flow.competing, color=colour, lw=1, drawstyle="steps-post")
    axes[-1].set_yticks([0, 1], ["delay", "competing"])
    axes[-1].set_ylim(-0.1, 1.1)
    axes[-1].set_xlim(0, end_s)
    figure.align_ylabels(axes)
    return figure


def _trace_lines(flows: Sequence[TracedFlow]) -> Iterable[tuple[str, list[Line]]]:
    """Label and lines of each panel."""
    d_unit, d_us = _time_unit([flow.level_us for flow in flows])
    p_unit, p_us = _time_unit([flow.pkts_us for flow in flows])

    def lines(pick: Callable[[TracedFlow], Floats]) -> list[Line]:
        names = [flow.name if len(flows) <= len(FLOW_COLOURS) else "flows" for flow in flows]
        colours = itertools.cycle(FLOW_COLOURS)
        return [
            Line(flow.t, pick(flow), name, colour) for flow, name, colour in zip(flows, names, colours, strict=False)
        ]

    yield "queue n\n(packets)", lines(lambda flow: flow.n_pkts)
    yield f"delay\n({d_unit})", lines(lambda flow: flow.level_us / d_us)
    yield f"pktS\n({p_unit})", lines(lambda flow: flow.pkts_us / p_us)
    yield "cwnd\n(packets)", lines(lambda flow: flow.cwnd)
    yield "mode", []


def _time_unit(values_us: Iterable[Floats]) -> tuple[str, float]:
    """Name and microseconds of the unit that suits some times."""
    return ("ms", 1e3) if np.nanmax(np.concatenate([*values_us, np.zeros(1)])) >= 1e3 else ("us", 1.0)


def _draw_events(ax: Axes, flows: Sequence[TracedFlow]) -> None:
    """Losses at the window they found, timeouts on the axis."""
    for flow in flows:
        for verdict, (t, cwnd_pkts) in flow.losses.items():
            ax.plot(t, cwnd_pkts, ls="", **VERDICTS[verdict])
            ax.set_ylim(top=max([ax.get_ylim()[1], *(1.06 * cwnd_pkts)]))
        ax.plot(flow.timeouts_s, np.zeros(len(flow.timeouts_s)), ls="", clip_on=False, zorder=3, **TIMEOUT)


def _event_keys(flows: Sequence[TracedFlow]) -> Keys:
    """Legend entries of what occurs, with its number."""
    found = [(f"{verdict} ({sum(len(f.losses[verdict][0]) for f in flows)})", how) for verdict, how in VERDICTS.items()]
    found.append((f"timeout ({sum(len(flow.timeouts_s) for flow in flows)})", TIMEOUT))
    return {text: Line2D([], [], ls="", **how) for text, how in found if not text.endswith("(0)")}
