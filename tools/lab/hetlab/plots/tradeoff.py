# SPDX-License-Identifier: GPL-2.0
"""Throughput against delay: one point for each congestion control, up and left is better."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import textalloc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from hetlab.plots.panels import Keys, heading, layout
from hetlab.plots.style import INK, WIDE_IN, Style, styled, styles

Points = Mapping[str, Sequence[tuple[float, float]]]
FAR_APART = 10
LABEL_PT = 8
RATE = (0, (1, 2))
PATH = (0, (6, 2, 1, 2))


@styled
def throughput_delay(
    scenario: str, points: Points, link_mbit: float | None = None, path_ms: float | None = None
) -> Figure:
    """Goodput (Mbit/s) over the 95th percentile of the one-way delay (ms), the mean over the seeds.

    ``points``: (delay, goodput) of each seed; whiskers go from the smallest to the largest. For reference the link's
    rate and the delay of the path without any queue.
    """
    looks = {label: look for label, look in styles(points).items() if points[label]}
    keys: Keys = {look.name: Line2D([], [], ls="", **_dot(look)) for look in looks.values()}
    if any(len(set(points[label])) > 1 for label in looks):
        keys["smallest to largest of the seeds"] = Line2D([], [], color=INK, lw=0.9, marker="|", ms=6)
    if link_mbit:
        keys["link rate"] = Line2D([], [], color=INK, ls=RATE, lw=1.2)
    if path_ms:
        keys["delay without any queue"] = Line2D([], [], color=INK, ls=PATH, lw=1)
    title = heading(scenario, "goodput against delay (up and left is better)")
    x_label = "one-way delay, 95th percentile (ms)"
    figure, (ax,) = layout(1, 1, title=title, x_label=x_label, keys=keys, width=WIDE_IN, panel=3.4, left=0.7)
    ax.set_ylabel("goodput (Mbit/s)")
    _scale(ax, [pair for label in looks for pair in points[label]], link_mbit, path_ms)
    if link_mbit:
        ax.axhline(link_mbit, color=INK, ls=RATE, lw=1.2)
    if path_ms:
        ax.axvline(path_ms, color=INK, ls=PATH, lw=1)
    at = {label: _point(ax, look, points[label]) for label, look in looks.items()}
    _name(ax, looks, at, points)
    return figure


def _dot(look: Style) -> dict[str, Any]:
    """Filled for modules of this project."""
    return {"marker": look.marker, "color": look.colour, "mec": INK, "mew": 0.6, "ms": 9 if look.ours else 8}


def _scale(ax: Axes, pairs: Sequence[tuple[float, float]], link_mbit: float | None, path_ms: float | None) -> None:
    """Ranges of the axes; the delay's is logarithmic where it would press most points together."""
    delays = [delay for delay, _mbit in pairs] + ([path_ms] if path_ms else [])
    low, high = min(delays, default=1.0), max(delays, default=1.0)
    if low > 0 and high > FAR_APART * low:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        ax.xaxis.set_major_formatter(lambda value, _at: f"{value:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlim(low / 1.15, high * 1.35)
    else:
        room = (high - low) or 0.1 * high or 1.0
        ax.set_xlim(max(low - 0.06 * room, 0), high + 0.14 * room)
    most = max([*(mbit for _delay, mbit in pairs), link_mbit or 0.0], default=1.0)
    ax.set_ylim(0, 1.1 * most or 1.0)


def _point(ax: Axes, look: Style, pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The mean of the seeds with its whiskers."""
    values = np.asarray(pairs, dtype=np.float64)
    (x, y), low, high = values.mean(axis=0), values.min(axis=0), values.max(axis=0)
    if len(values) > 1:
        ax.plot([low[0], high[0]], [y, y], color=INK, lw=0.9, marker="|", ms=5, zorder=2.5)
        ax.plot([x, x], [low[1], high[1]], color=INK, lw=0.9, marker="_", ms=5, zorder=2.5)
    ax.plot([x], [y], ls="", zorder=3, **_dot(look))
    return float(x), float(y)


def _name(ax: Axes, looks: Mapping[str, Style], at: Mapping[str, tuple[float, float]], points: Points) -> None:
    """Names beside their points, none over another."""
    if not at:
        return
    x, y = (list(values) for values in zip(*at.values(), strict=True))
    every = [pair for label in looks for pair in points[label]]
    textalloc.allocate(
        ax,
        x,
        y,
        [looks[label].name for label in at],
        x_scatter=x + [delay for delay, _mbit in every],
        y_scatter=y + [mbit for _delay, mbit in every],
        textsize=LABEL_PT,
        min_distance=0.012,
        max_distance=0.25,
        linecolor="#8b949e",
        linewidth=0.7,
        avoid_label_lines_overlap=True,
    )
