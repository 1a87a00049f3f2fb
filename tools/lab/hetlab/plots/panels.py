# SPDX-License-Identifier: GPL-2.0
"""Panels side by side with one legend and one axis: what all figures over time are made of."""

import itertools
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from hetlab.plots.style import DPI, INK, TIME, WIDE_IN, Floats

OVERLAID = 3
STRETCHES = 330
MARKERS_OF_LINE = 9
EVENT_COLOUR = "#6a3d9a"
EVENT_DASHES: tuple[Any, ...] = ((0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))
Events = tuple[tuple[float, str], ...]


def envelope(t: Floats, y: Floats, columns: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Time, smallest, mean and largest value in each of ``columns`` equal stretches of time."""
    begins = np.linspace(t[0], t[-1], columns, endpoint=False)
    at = np.unique(np.searchsorted(t, begins))
    known = np.isfinite(y)
    total = np.add.reduceat(np.where(known, y, 0.0), at)
    number = np.add.reduceat(known.astype(np.float64), at)
    mean = np.divide(total, number, out=np.full(len(at), np.nan), where=number > 0)
    return t[at], np.fmin.reduceat(y, at), mean, np.fmax.reduceat(y, at)


# ------------------------------------------------------------------- drawing


@dataclass(frozen=True)
class Line:
    """A line of a panel; ``role`` is its text in the legend, ``key`` its colour there."""

    t: Floats
    y: Floats
    role: str
    colour: str
    dash: Any = "-"
    width: float = 1.1
    kind: Literal["line", "step", "bins"] = "line"
    key: str = ""
    scales: bool = True
    marker: str = ""


@dataclass(frozen=True)
class Panel:
    """One plot area; ``bold``: the title of one of our modules."""

    title: str
    lines: list[Line]
    bold: bool = False


@dataclass(frozen=True)
class Axis:
    """The vertical axis; ``marks``: horizontal reference lines (value, text); ``events``: vertical ones (s, text)."""

    label: str
    zero: bool = True
    log: bool = False
    marks: tuple[tuple[float, str], ...] = ()
    events: Events = ()


Keys = dict[str, Any]


def legend_size(texts: Iterable[str], width: float) -> tuple[int, int]:
    """Columns and rows of a legend below a figure of a width in inches."""
    lengths = [len(text) for text in texts]
    column = 0.55 + 0.072 * max(lengths, default=0)
    columns = max(1, min(len(lengths), int((width - 0.3) / column)))
    return columns, math.ceil(len(lengths) / columns)


def title_lines(title: str, width: float) -> list[str]:
    """A title in at most three lines for a figure of a width in inches."""
    return textwrap.wrap(title, int(width * 10.6), max_lines=3, placeholder=" …", break_on_hyphens=False) or [""]


def layout(
    rows: int,
    cols: int,
    *,
    title: str,
    x_label: str = TIME,
    keys: Keys,
    width: float,
    panel: float,
    left: float,
    right: float = 0.15,
    gap: float = 0,
    above: float = 0.08,
    ratios: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """Figure with room for title, axis labels and legend.

    All lengths in inches: width of the figure, (mean) height of a panel, left and right margin,
    gap between the rows, room above a row. ``ratios``: heights of the rows to each other.
    """
    lines = title_lines(title, width)
    texts = [textwrap.shorten(text, int(width * 12), placeholder=" …") for text in keys]
    ncols, nrows = legend_size(texts, width)
    top, bottom = 0.2 + 0.19 * len(lines) + above, 0.52 + 0.2 * nrows
    height = top + bottom + rows * panel + (rows - 1) * gap
    figure = Figure(figsize=(width, height), dpi=DPI)
    grid = figure.subplots(rows, cols, sharex=True, sharey=cols > 1, squeeze=False, height_ratios=ratios)
    figure.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        top=1 - top / height,
        bottom=bottom / height,
        hspace=gap / panel,
        wspace=0.09,
    )
    figure.suptitle("\n".join(lines), x=0.1 / width, y=1 - 0.08 / height, ha="left", va="top", fontsize=10.5)
    if keys:
        where = (0.5, 0.03 / height)
        figure.legend(
            list(keys.values()), texts, loc="lower center", bbox_to_anchor=where, ncols=ncols, borderaxespad=0
        )
    middle = (left + width - right) / 2 / width
    figure.supxlabel(x_label, x=middle, y=(0.1 + 0.2 * nrows) / height, va="bottom", fontsize=9)
    return figure, list(grid.flat)


def keys_of(panels: Sequence[Panel], axis: Axis) -> Keys:
    """Legend entries: one for each role, in the order of appearance."""
    keys: Keys = {}
    lines = [line for panel in panels for line in panel.lines]
    for line in sorted(lines, key=lambda line: line.kind == "step"):
        how: dict[str, Any] = {"color": line.key or line.colour, "marker": line.marker, "ms": 4}
        keys.setdefault(line.role, Line2D([], [], ls=line.dash, lw=line.width + 0.3, **how))
    if any(_crowded(line) for line in lines):
        keys["shaded: smallest to largest"] = Patch(color="#c9c9c9")
    for _value, text in axis.marks:
        keys[text] = Line2D([], [], color=INK, ls=(0, (1, 2)), lw=1)
    return keys | event_keys(axis.events)


def _event_looks(events: Events) -> dict[str, dict[str, Any]]:
    """How each kind of event is drawn."""
    kinds = dict.fromkeys(text for _t, text in events)
    dashes = itertools.cycle(EVENT_DASHES)
    return {text: {"color": EVENT_COLOUR, "ls": next(dashes), "lw": 0.8} for text in kinds}


def event_keys(events: Events) -> Keys:
    """Legend entries of events: one for each kind, with its number."""
    numbers = Counter(text for _t, text in events)
    return {f"{text} ({numbers[text]})": Line2D([], [], **how) for text, how in _event_looks(events).items()}


def draw_events(ax: Axes, events: Events) -> None:
    """A vertical line at each event, behind the curves."""
    looks = _event_looks(events)
    for at_s, text in events:
        ax.axvline(at_s, zorder=0.9, **looks[text])


def _cols(panels: int) -> int:
    """Panels in a row: none stands alone in the last one, if that can be had."""
    if panels <= 4:
        return 1 if panels <= 3 else 2
    return next((cols for cols in (3, 4, 2, 5) if panels % cols != 1), 3)


def columns_of(panels: int) -> int:
    """Pixels across a panel, about."""
    return int((WIDE_IN - 0.9) * DPI / _cols(panels))


def _crowded(line: Line) -> bool:
    """Whether steps are too many to be distinguished."""
    return line.kind == "step" and len(line.t) > 1.5 * STRETCHES


def draw(ax: Axes, line: Line, panels: int) -> None:
    """One line, thinned to what the pixels can show."""
    t, y, columns = line.t, line.y, columns_of(panels)
    how: dict[str, Any] = {"color": line.colour, "ls": line.dash, "lw": line.width}
    if not len(t):
        return
    if line.marker:
        number = min(len(t), columns)
        how |= {"marker": line.marker, "ms": 4, "markevery": max(1, number // MARKERS_OF_LINE)}
    if line.kind == "bins":
        first = t[0] - (t[1] - t[0]) if len(t) > 1 else 0.0
        ax.plot(np.append(first, t), np.append(y[0], y), drawstyle="steps-pre", **how)
    elif _crowded(line):
        at, low, mean, high = envelope(t, y, STRETCHES)
        ax.fill_between(at, low, high, color=line.colour, alpha=0.25, lw=0)
        ax.plot(at, mean, **how)
    elif len(t) > 4 * columns:
        at, low, _mean, high = envelope(t, y, columns)
        ax.plot(np.repeat(at, 2), np.column_stack((low, high)).ravel(), **how)
    else:
        ax.plot(t, y, drawstyle="steps-post" if line.kind == "step" else "default", **how)


def limits(lines: list[Line], axis: Axis) -> tuple[float, float]:
    """Range of the vertical axis."""
    values = np.concatenate([line.y for line in lines if line.scales] or [np.empty(0)])
    values = values[np.isfinite(values)]
    if not len(values):
        return (1.0, 10.0) if axis.log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    high = max([high, *(value for value, _text in axis.marks)])
    if axis.log:
        return max(low, 1.0) / 1.3, max(high, 2.0) * 1.3
    low = 0.0 if axis.zero or low < high / 3 else low
    room = (high - low) or 0.1 * high or 1.0
    return low - 0.08 * room * (low > 0), high + 0.06 * room


def time_figure(title: str, panels: list[Panel], axis: Axis) -> Figure:
    """One panel for each run, with common axes; or one panel for all."""
    every = [line for panel in panels for line in panel.lines]
    peak = max((float(np.nanmax(line.y)) for line in every if line.scales and np.isfinite(line.y).any()), default=0)
    axis = replace(axis, marks=tuple(mark for mark in axis.marks if mark[0] <= 1.6 * peak))
    cols = _cols(len(panels))
    rows = math.ceil(len(panels) / cols)
    keys = keys_of(panels, axis)
    height = 2.6 if len(panels) == 1 else {1: 1.5, 2: 1.7}.get(cols, 1.35)
    names = [textwrap.wrap(panel.title, 125 // cols, max_lines=3, placeholder=" …") for panel in panels]
    above = 0.08 + 0.15 * max(len(lines) for lines in names)
    figure, axes = layout(
        rows, cols, title=title, keys=keys, width=WIDE_IN, panel=height, left=0.75, gap=0.1 + above, above=above
    )
    last = max((float(line.t[-1]) for line in every if len(line.t)), default=1.0)
    for ax, panel, name in zip(axes, panels, names, strict=False):
        for line in panel.lines:
            draw(ax, line, len(panels))
        for value, _text in axis.marks:
            ax.axhline(value, color=INK, ls=(0, (1, 2)), lw=0.9)
        draw_events(ax, axis.events)
        ax.set_title("\n".join(name), loc="left", pad=3, fontsize=9, fontweight="bold" if panel.bold else "normal")
    axes[0].set_xlim(0, last or 1)
    for ax in axes:
        if cols > 3:
            ax.xaxis.set_major_locator(MaxNLocator(nbins=5, prune="upper"))
        if axis.log:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _at: f"{value:g}")
            ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(*limits(every, axis))
    _close_gaps(axes, len(panels), cols)
    figure.supylabel(axis.label, x=0.1 / WIDE_IN, fontsize=9)
    return figure


def _close_gaps(axes: list[Axes], used: int, cols: int) -> None:
    """Remove plot areas without a run; the one above shows the times."""
    for i, ax in enumerate(axes):
        if i >= used:
            ax.remove()
        elif i + cols >= used:
            ax.tick_params(labelbottom=True)


def heading(scenario: str, what: str) -> str:
    """Title of a figure: scenario and quantity."""
    return f"{scenario}: {what}"
