# SPDX-License-Identifier: GPL-2.0
"""Flows and queues over time, delays as a distribution; times are seconds since the start of the run."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from hetlab.plots.panels import OVERLAID, Axis, Events, Keys, Line, Panel, heading, layout, time_figure
from hetlab.plots.style import DASHES, INK, NARROW_IN, Floats, Series, Style, styled, styles

FEW = 4


# ---------------------------------------------------------------------- data


@dataclass(frozen=True)
class Flow:
    """Series of a TCP flow, NaN where a value is not known.

    ``cc`` is None for a flow that uses the congestion control under test.
    cwnd and ssthresh in packets, srtt in ms at times ``t``; ``goodput`` in
    Mbit/s with the ends of its intervals.
    """

    name: str
    cc: str | None
    t: Floats
    cwnd: Floats
    ssthresh: Floats
    srtt_ms: Floats
    goodput: Series


def binned_rate(t: Floats, octets: Floats, begin: float, end: float, bin_s: float) -> Series:
    """Rate (Mbit/s) in intervals of ``bin_s``, from a count of bytes; times are the ends of the intervals.

    The last interval may be shorter, by up to half, where the counting ended early.
    """
    edges = begin + bin_s * np.arange(math.floor(max(end - begin, 0) / bin_s + 1e-9) + 1)
    if not len(t):
        return np.empty(0), np.empty(0)
    edges = np.minimum(edges, max(t[-1], begin))
    width = np.diff(edges)
    at = np.interp(edges, np.append(min(begin, t[0]), t), np.append(0.0, octets))
    whole = width >= bin_s / 2
    rate = np.diff(at)[whole] * 8 / width[whole] / 1e6
    return np.asarray(edges[1:][whole], dtype=np.float64), np.asarray(rate, dtype=np.float64)


def _flow_lines(flows: Sequence[Flow], style: Style, what: str, pick: Callable[[Flow], Series]) -> list[Line]:
    """The lines of a panel: flows under test in the colour of the panel, others in their own."""
    tested = [flow for flow in flows if flow.cc is None]
    others = [flow for flow in flows if flow.cc is not None]
    lines = []
    for flow in others:
        look = styles([flow.cc or ""])[flow.cc or ""]
        name = flow.name if len(others) <= FEW else "other flows"
        lines.append(Line(*pick(flow), f"{name} ({look.name})", look.colour, look.line, 0.9))
    for i, flow in enumerate(tested):
        named = len(tested) <= FEW
        role = what if len(flows) == 1 else f"{flow.name if named else 'flows'} (under test)"
        dash: Any = (0, DASHES[i - 1]) if named and i else "-"
        lines.append(Line(*pick(flow), role, style.colour, dash, 1.1 if named else 0.8, key=INK))
    return lines


def _flow_panels(
    runs: Mapping[str, Sequence[Flow]], what: str, pick: Callable[[Flow], Series], **more: Any
) -> list[Panel]:
    """Panels of a quantity of the flows; few runs of a single flow share one."""
    looks = styles(runs)
    if 1 < len(runs) <= OVERLAID and all(len(flows) <= 1 for flows in runs.values()):
        lines = [
            Line(*pick(flow), look.name, look.colour, look.line, marker=look.marker, **more)
            for label, look in looks.items()
            for flow in runs[label]
        ]
        return [Panel("", lines)]
    return [
        Panel(look.name, [replace(ln, **more) for ln in _flow_lines(runs[label], look, what, pick)], look.ours)
        for label, look in looks.items()
    ]


# ------------------------------------------------------------------- figures


@styled
def cwnd(scenario: str, runs: Mapping[str, Sequence[Flow]], events: Events = ()) -> Figure:
    """Congestion window (packets) over time; ssthresh dotted; events (s, text) as vertical lines."""
    panels = _flow_panels(runs, "cwnd", lambda flow: (flow.t, flow.cwnd))
    single = len(panels) == len(runs)
    looks = styles(runs)
    for number, (label, look) in enumerate(looks.items()):
        panel = panels[number if single else 0]
        for flow in runs[label]:
            if flow.cc is None and len(runs[label]) == 1 and np.isfinite(flow.ssthresh).any():
                thin = Line(flow.t, flow.ssthresh, "ssthresh", look.colour, ":", 0.9, key=INK, scales=False)
                panel.lines.append(thin)
    axis = Axis("congestion window (packets)", events=events)
    if _far_apart([flow.cwnd for flows in runs.values() for flow in flows]):
        axis = Axis("congestion window (packets, log scale)", log=True, events=events)
    return time_figure(heading(scenario, "congestion window"), panels, axis)


def _far_apart(windows: Iterable[Floats]) -> bool:
    """Whether a linear axis that has the largest would flatten the smallest."""
    medians = [float(np.nanmedian(w)) for w in windows if np.isfinite(w).any()]
    return len(medians) > 1 and max(medians) > 12 * max(min(medians), 1)


@styled
def srtt(scenario: str, runs: Mapping[str, Sequence[Flow]], events: Events = ()) -> Figure:
    """Smoothed round trip time (ms) over time."""
    panels = _flow_panels(runs, "smoothed RTT", lambda flow: (flow.t, flow.srtt_ms))
    axis = Axis("smoothed RTT (ms)", zero=False, events=events)
    return time_figure(heading(scenario, "smoothed round trip time"), panels, axis)


@styled
def goodput(
    scenario: str,
    runs: Mapping[str, Sequence[Flow]],
    link_mbit: float | None = None,
    events: Events = (),
    capacity: Series | None = None,
) -> Figure:
    """Goodput (Mbit/s) of the intervals of a run; the link rate for reference, of a trace its capacity over time."""
    panels = _flow_panels(runs, "goodput", lambda flow: flow.goodput, kind="bins")
    if capacity and len(capacity[0]):
        for panel in panels:
            panel.lines.insert(0, Line(*capacity, "capacity of the link (trace)", INK, ":", 0.9, kind="bins"))
        link_mbit = None
    marks = ((link_mbit, "link rate"),) if link_mbit else ()
    return time_figure(heading(scenario, "goodput"), panels, Axis("goodput (Mbit/s)", marks=marks, events=events))


@styled
def queue(scenario: str, runs: Mapping[str, Series], limit_pkts: float | None = None, events: Events = ()) -> Figure:
    """Length of the bottleneck queue (packets) over time, its limit for reference."""
    panels = [
        Panel(look.name, [Line(*runs[label], "queue", look.colour, kind="step", key=INK)], look.ours)
        for label, look in styles(runs).items()
    ]
    marks = ((limit_pkts, "limit of the queue"),) if limit_pkts else ()
    axis = Axis("queue (packets)", marks=marks, events=events)
    return time_figure(heading(scenario, "bottleneck queue"), panels, axis)


@styled
def delay_cdf(scenario: str, delays_ms: Mapping[str, Floats]) -> Figure:
    """Distribution of the one-way delay (ms) of the packets of each run."""
    title = heading(scenario, "one-way delay of the packets")
    return _cdf(title, "one-way delay (ms)", "packets", delays_ms)


@styled
def completion_cdf(scenario: str, flow: str, times_s: Mapping[str, Floats]) -> Figure:
    """Distribution of the completion times (s) of the items of a flow, for each run; on a logarithmic axis."""
    figure = _cdf(heading(scenario, f"completion times of {flow}"), "completion time (s)", "items", times_s)
    if any((values > 0).any() for values in times_s.values()):
        axis = figure.axes[0]
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(lambda value, _at: f"{value:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
    return figure


def _cdf(title: str, axis: str, what: str, values: Mapping[str, Floats]) -> Figure:
    """Distributions as lines, one for each run."""
    share = np.unique(np.concatenate((np.linspace(0, 1, 201), np.linspace(0.98, 1, 41))))
    curves: dict[str, tuple[Floats, dict[str, Any]]] = {}
    for i, (label, look) in enumerate(styles(values).items()):
        how = {"color": look.colour, "ls": look.line, "lw": 1.4, "marker": look.marker, "ms": 4}
        if len(values[label]):
            curves[look.name] = np.quantile(values[label], share), how | {"markevery": (i * 17 % 40, 40)}
    keys: Keys = {name: Line2D([], [], **how) for name, (_x, how) in curves.items()}
    figure, (ax,) = layout(1, 1, title=title, x_label=axis, keys=keys, width=NARROW_IN, panel=2.7, left=0.65)
    for x, how in curves.values():
        ax.plot(x, share, **how)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel(f"share of {what} (0 to 1)")
    return figure
