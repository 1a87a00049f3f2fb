# SPDX-License-Identifier: GPL-2.0
"""Series of runs to matplotlib figures: pure functions, no pyplot, no global state.

A run is named by its label, ``cc`` or ``cc:param=value,...``; colours and line
styles come from schemes.toml. Times are seconds since the start of the run.

Scripts: ``script_figure(title, {label: {"queue": (t, pkts), ...}}, path)``.
"""

import functools
import io
import itertools
import math
import textwrap
import tomllib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, ParamSpec

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from hetlab.errors import LabError

Floats = npt.NDArray[np.float64]
Series = tuple[Floats, Floats]
P = ParamSpec("P")

DPI = 110
WIDE_IN = 10.0
NARROW_IN = 5.6
OVERLAID = 3
FEW = 4
STRETCHES = 330
INK = "#333333"
TIME = "time (s)"
SCHEMES = Path(__file__).with_name("schemes.toml")
RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.xmargin": 0.01,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "svg.hashsalt": "hetcc",
    "text.parse_math": False,
}


# ---------------------------------------------------------------- appearance


@dataclass(frozen=True)
class Style:
    """How a congestion control is drawn; ``dash``: on and off lengths in points, empty: solid."""

    name: str
    colour: str
    dash: tuple[float, ...]
    marker: str
    ours: bool
    order: int

    @property
    def line(self) -> Any:
        """The line style as matplotlib takes it."""
        return (0, self.dash) if self.dash else "-"


# Parameter variants of one congestion control: another dash and marker, then another shade
DASHES: tuple[tuple[float, ...], ...] = ((3, 1.5), (1, 1.5), (7, 1.5, 1.5, 1.5), (9, 3))
MARKERS = ("s", "^", "D", "v")
SHADES = (0.0, -0.3, 0.35)
VARIATIONS = len(DASHES) * len(SHADES)
STRANGERS = ("#7f8c6a", "#8c6a7f", "#6a7f8c", "#8c826a", "#6a8c85", "#75708f")


@functools.cache
def schemes() -> dict[str, Style]:
    """The styles of schemes.toml."""
    tables = tomllib.loads(SCHEMES.read_text())
    return {
        cc: Style(t["name"], t["colour"], tuple(t["dash"]), t["marker"], t["ours"], order)
        for order, (cc, t) in enumerate(tables.items())
    }


def styles(labels: Iterable[str]) -> dict[str, Style]:
    """A style for every label, in the order of tables and legends.

    Parameter variants keep the colour family of their congestion control. Which
    variation they get depends on the parameters alone, unless two would look alike.
    """
    found: dict[str, Style] = {}
    taken: dict[str, set[int]] = {}
    for label in sorted(set(labels)):
        cc, _, params = label.partition(":")
        style = schemes().get(cc) or _stranger(cc)
        if params:
            number, used = zlib.crc32(params.encode()) % VARIATIONS, taken.setdefault(cc, set())
            while number in used and len(used) < VARIATIONS:
                number = (number + 1) % VARIATIONS
            used.add(number)
            style = _vary(style, params, number)
        found[label] = style
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


def _stranger(cc: str) -> Style:
    number = zlib.crc32(cc.encode())
    colour = STRANGERS[number % len(STRANGERS)]
    return Style(cc, colour, DASHES[number // 7 % len(DASHES)], "o", False, len(schemes()))


def _vary(style: Style, params: str, number: int) -> Style:
    shade = SHADES[number // len(DASHES)]
    rgb = np.asarray(to_rgb(style.colour))
    rgb = rgb + (1 - rgb) * shade if shade > 0 else rgb * (1 + shade)
    name = f"{style.name} {params.replace(',', ', ')}"
    turn = number % len(DASHES)
    return replace(style, name=name, colour=to_hex(tuple(rgb)), dash=DASHES[turn], marker=MARKERS[turn])


def _styled(make: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw with our settings, whatever the user's matplotlibrc says."""

    @functools.wraps(make)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.rc_context(RC):
            return make(*args, **kwargs)

    return wrapped


def save(figure: Figure, path: Path) -> bytes:
    """Write a figure, PNG or SVG by the suffix; the same figure gives the same bytes."""
    kind = path.suffix.lstrip(".").lower() or "png"
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    out = io.BytesIO()
    with matplotlib.rc_context(RC):
        figure.savefig(out, format=kind, dpi=DPI, metadata=dates.get(kind))
    path.write_bytes(out.getvalue())
    return out.getvalue()


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
class _Line:
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


@dataclass(frozen=True)
class _Panel:
    """One plot area; ``bold``: the title of one of our modules."""

    title: str
    lines: list[_Line]
    bold: bool = False


@dataclass(frozen=True)
class _Axis:
    """The vertical axis; ``marks``: horizontal reference lines (value, text)."""

    label: str
    zero: bool = True
    log: bool = False
    marks: tuple[tuple[float, str], ...] = ()


Keys = dict[str, Any]


def _legend_size(texts: Iterable[str], width: float) -> tuple[int, int]:
    """Columns and rows of a legend below a figure of a width in inches."""
    lengths = [len(text) for text in texts]
    column = 0.55 + 0.072 * max(lengths, default=0)
    columns = max(1, min(len(lengths), int((width - 0.3) / column)))
    return columns, math.ceil(len(lengths) / columns)


def _title_lines(title: str, width: float) -> list[str]:
    return textwrap.wrap(title, int(width * 10.6), max_lines=3, placeholder=" …") or [""]


def _layout(
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
    lines = _title_lines(title, width)
    texts = [textwrap.shorten(text, int(width * 12), placeholder=" …") for text in keys]
    ncols, nrows = _legend_size(texts, width)
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


def _keys(panels: Sequence[_Panel], axis: _Axis) -> Keys:
    """Legend entries: one for each role, in the order of appearance."""
    keys: Keys = {}
    lines = [line for panel in panels for line in panel.lines]
    for line in sorted(lines, key=lambda line: line.kind == "step"):
        keys.setdefault(line.role, Line2D([], [], color=line.key or line.colour, ls=line.dash, lw=line.width + 0.3))
    if any(_crowded(line) for line in lines):
        keys["shaded: smallest to largest"] = Patch(color="#c9c9c9")
    for _value, text in axis.marks:
        keys[text] = Line2D([], [], color=INK, ls=(0, (1, 2)), lw=1)
    return keys


def _cols(panels: int) -> int:
    return 1 if panels <= 3 else 2 if panels == 4 else 3


def _columns(panels: int) -> int:
    """Pixels across a panel, about."""
    return int((WIDE_IN - 0.9) * DPI / _cols(panels))


def _crowded(line: _Line) -> bool:
    """Too many steps to tell one from the next."""
    return line.kind == "step" and len(line.t) > 1.5 * STRETCHES


def _draw(ax: Axes, line: _Line, panels: int) -> None:
    """One line, thinned to what the pixels can show."""
    t, y, columns = line.t, line.y, _columns(panels)
    how: dict[str, Any] = {"color": line.colour, "ls": line.dash, "lw": line.width}
    if not len(t):
        return
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


def _limits(lines: list[_Line], axis: _Axis) -> tuple[float, float]:
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


def _time_figure(title: str, panels: list[_Panel], axis: _Axis) -> Figure:
    """One panel for each run, with common axes; or one panel for all."""
    every = [line for panel in panels for line in panel.lines]
    peak = max((float(np.nanmax(line.y)) for line in every if line.scales and np.isfinite(line.y).any()), default=0)
    axis = replace(axis, marks=tuple(mark for mark in axis.marks if mark[0] <= 1.6 * peak))
    cols = _cols(len(panels))
    rows = math.ceil(len(panels) / cols)
    keys = _keys(panels, axis)
    height = 2.6 if len(panels) == 1 else {1: 1.5, 2: 1.7, 3: 1.35}[cols]
    names = [textwrap.wrap(panel.title, 125 // cols, max_lines=3, placeholder=" …") for panel in panels]
    above = 0.08 + 0.15 * max(len(lines) for lines in names)
    figure, axes = _layout(
        rows, cols, title=title, keys=keys, width=WIDE_IN, panel=height, left=0.75, gap=0.1 + above, above=above
    )
    last = max((float(line.t[-1]) for line in every if len(line.t)), default=1.0)
    for ax, panel, name in zip(axes, panels, names, strict=False):
        for line in panel.lines:
            _draw(ax, line, len(panels))
        for value, _text in axis.marks:
            ax.axhline(value, color=INK, ls=(0, (1, 2)), lw=0.9)
        ax.set_title("\n".join(name), loc="left", pad=3, fontsize=9, fontweight="bold" if panel.bold else "normal")
    axes[0].set_xlim(0, last or 1)
    for ax in axes:
        if axis.log:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _at: f"{value:g}")
            ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(*_limits(every, axis))
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


def _flow_lines(flows: Sequence[Flow], style: Style, what: str, pick: Callable[[Flow], Series]) -> list[_Line]:
    """The lines of a panel: flows under test in the colour of the panel, others in their own."""
    tested = [flow for flow in flows if flow.cc is None]
    others = [flow for flow in flows if flow.cc is not None]
    lines = []
    for flow in others:
        look = styles([flow.cc or ""])[flow.cc or ""]
        name = flow.name if len(others) <= FEW else "other flows"
        lines.append(_Line(*pick(flow), f"{name} ({look.name})", look.colour, look.line, 0.9))
    for i, flow in enumerate(tested):
        named = len(tested) <= FEW
        role = what if len(flows) == 1 else f"{flow.name if named else 'flows'} (under test)"
        dash: Any = (0, DASHES[i - 1]) if named and i else "-"
        lines.append(_Line(*pick(flow), role, style.colour, dash, 1.1 if named else 0.8, key=INK))
    return lines


def _flow_panels(
    runs: Mapping[str, Sequence[Flow]], what: str, pick: Callable[[Flow], Series], **more: Any
) -> list[_Panel]:
    """Panels of a quantity of the flows; few runs of a single flow share one."""
    looks = styles(runs)
    if 1 < len(runs) <= OVERLAID and all(len(flows) <= 1 for flows in runs.values()):
        lines = [
            _Line(*pick(flow), look.name, look.colour, look.line, **more)
            for label, look in looks.items()
            for flow in runs[label]
        ]
        return [_Panel("", lines)]
    return [
        _Panel(look.name, [replace(ln, **more) for ln in _flow_lines(runs[label], look, what, pick)], look.ours)
        for label, look in looks.items()
    ]


def _heading(scenario: str, what: str) -> str:
    return f"{scenario}: {what}"


# ------------------------------------------------------------------- figures


@_styled
def cwnd(scenario: str, runs: Mapping[str, Sequence[Flow]]) -> Figure:
    """Congestion window (packets) over time; ssthresh dotted."""
    panels = _flow_panels(runs, "cwnd", lambda flow: (flow.t, flow.cwnd))
    single = len(panels) == len(runs)
    looks = styles(runs)
    for number, (label, look) in enumerate(looks.items()):
        panel = panels[number if single else 0]
        for flow in runs[label]:
            if flow.cc is None and len(runs[label]) == 1 and np.isfinite(flow.ssthresh).any():
                thin = _Line(flow.t, flow.ssthresh, "ssthresh", look.colour, ":", 0.9, key=INK, scales=False)
                panel.lines.append(thin)
    axis = _Axis("congestion window (packets)")
    if _far_apart([flow.cwnd for flows in runs.values() for flow in flows]):
        axis = _Axis("congestion window (packets, log scale)", log=True)
    return _time_figure(_heading(scenario, "congestion window"), panels, axis)


def _far_apart(windows: Iterable[Floats]) -> bool:
    """Whether a linear axis that has the largest would flatten the smallest."""
    medians = [float(np.nanmedian(w)) for w in windows if np.isfinite(w).any()]
    return len(medians) > 1 and max(medians) > 12 * max(min(medians), 1)


@_styled
def srtt(scenario: str, runs: Mapping[str, Sequence[Flow]]) -> Figure:
    """Smoothed round trip time (ms) over time."""
    panels = _flow_panels(runs, "smoothed RTT", lambda flow: (flow.t, flow.srtt_ms))
    return _time_figure(_heading(scenario, "smoothed round trip time"), panels, _Axis("smoothed RTT (ms)", zero=False))


@_styled
def goodput(scenario: str, runs: Mapping[str, Sequence[Flow]], link_mbit: float | None = None) -> Figure:
    """Goodput (Mbit/s) of the intervals of a run; the link rate for reference."""
    panels = _flow_panels(runs, "goodput", lambda flow: flow.goodput, kind="bins")
    marks = ((link_mbit, "link rate"),) if link_mbit else ()
    return _time_figure(_heading(scenario, "goodput"), panels, _Axis("goodput (Mbit/s)", marks=marks))


@_styled
def queue(scenario: str, runs: Mapping[str, Series], limit_pkts: float | None = None) -> Figure:
    """Length of the bottleneck queue (packets) over time, its limit for reference."""
    panels = [
        _Panel(look.name, [_Line(*runs[label], "queue", look.colour, kind="step", key=INK)], look.ours)
        for label, look in styles(runs).items()
    ]
    marks = ((limit_pkts, "limit of the queue"),) if limit_pkts else ()
    return _time_figure(_heading(scenario, "bottleneck queue"), panels, _Axis("queue (packets)", marks=marks))


@_styled
def delay_cdf(scenario: str, delays_ms: Mapping[str, Floats]) -> Figure:
    """Distribution of the one-way delay (ms) of the packets of each run."""
    share = np.unique(np.concatenate((np.linspace(0, 1, 201), np.linspace(0.98, 1, 41))))
    curves: dict[str, tuple[Floats, dict[str, Any]]] = {}
    for i, (label, look) in enumerate(styles(delays_ms).items()):
        how = {"color": look.colour, "ls": look.line, "lw": 1.4, "marker": look.marker, "ms": 4}
        if len(delays_ms[label]):
            curves[look.name] = np.quantile(delays_ms[label], share), how | {"markevery": (i * 17 % 40, 40)}
    keys: Keys = {name: Line2D([], [], **how) for name, (_x, how) in curves.items()}
    title = _heading(scenario, "one-way delay of the packets")
    figure, (ax,) = _layout(
        1, 1, title=title, x_label="one-way delay (ms)", keys=keys, width=NARROW_IN, panel=2.7, left=0.65
    )
    for x, how in curves.values():
        ax.plot(x, share, **how)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("share of packets (0 to 1)")
    return figure


Bars = Mapping[str, Sequence[float]]
BAR_IN = (0.27, 0.2)


@_styled
def goodput_bars(scenario: str, mbit: Bars, link_mbit: float | None = None) -> Figure:
    """Goodput (Mbit/s), one value for each seed; the link rate for reference."""
    marks = ((link_mbit, "link rate"),) if link_mbit else ()
    return _bars(_heading(scenario, "goodput"), "goodput (Mbit/s)", {_mean_of(mbit): mbit}, marks)


@_styled
def retransmission_bars(scenario: str, packets: Bars) -> Figure:
    """Retransmitted packets, one value for each seed."""
    return _bars(_heading(scenario, "retransmissions"), "retransmissions (packets)", {_mean_of(packets): packets})


@_styled
def delay_bars(scenario: str, p50_ms: Bars, p95_ms: Bars) -> Figure:
    """Median and 95th percentile of the one-way delay (ms), one value for each seed."""
    groups = {"median": p50_ms, "95th percentile": p95_ms}
    return _bars(_heading(scenario, "one-way delay"), "one-way delay (ms)", groups)


def _mean_of(bars: Bars) -> str:
    return "mean of the seeds" if any(len(values) > 1 for values in bars.values()) else "one seed"


def _bars(title: str, axis: str, groups: Mapping[str, Bars], marks: tuple[tuple[float, str], ...] = ()) -> Figure:
    """Horizontal bars of the means, whiskers from the smallest to the largest value."""
    looks = styles(label for bars in groups.values() for label in bars)
    alphas = (1.0, 0.5)
    keys: Keys = {name: Patch(color=INK, alpha=alphas[i], lw=0) for i, name in enumerate(groups)}
    if any(len(set(values)) > 1 for bars in groups.values() for values in bars.values()):
        keys["smallest to largest"] = Line2D([], [], color=INK, lw=0.9, marker="|", ms=6)
    keys |= {text: Line2D([], [], color=INK, ls=(0, (1, 2)), lw=1.2) for _value, text in marks}
    names = [textwrap.wrap(look.name, 28) for look in looks.values()]
    longest = max((len(line) for lines in names for line in lines), default=0)
    row = max([BAR_IN[len(groups) - 1] * len(groups), *(0.15 * len(lines) for lines in names)]) + 0.06
    height = max(row * len(looks), 0.6)
    left = 0.3 + 0.075 * longest
    figure, (ax,) = _layout(
        1, 1, title=title, x_label=axis, keys=keys, width=NARROW_IN, panel=height, left=left, right=0.6
    )
    every = [v for bars in groups.values() for values in bars.values() for v in values]
    right = 1.05 * max([*every, *(value for value, _text in marks)], default=0) or 1.0
    for i, bars in enumerate(groups.values()):
        for number, (label, look) in enumerate(looks.items()):
            at = number + (i - (len(groups) - 1) / 2) * 0.8 / len(groups)
            how = {"height": 0.74 / len(groups), "color": look.colour, "alpha": alphas[i], "lw": 0}
            _bar(ax, at, bars.get(label, ()), how)
    for value, _text in marks:
        ax.axvline(value, color=INK, ls=(0, (1, 2)), lw=1.2)
    ax.set_xlim(0, right)
    ax.set_ylim(len(looks) - 0.45, -0.55)
    ax.set_yticks(range(len(looks)), ["\n".join(lines) for lines in names])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    return figure


def _bar(ax: Axes, at: float, values: Sequence[float], how: dict[str, Any]) -> None:
    """A bar, its whisker and, right of the plot, its number."""
    text = "no data"
    if values:
        mean, low, high = float(np.mean(values)), min(values), max(values)
        text = _short(mean)
        ax.barh(at, mean, **how)
        if high > low:
            ax.plot([low, high], [at, at], color=INK, lw=0.9, marker="|", ms=5)
    where: Any = ("axes fraction", "data")
    ax.annotate(text, (1, at), (4, 0), xycoords=where, textcoords="offset points", va="center", fontsize=7.5)


def _short(value: float) -> str:
    """Three or so digits."""
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@_styled
def script_figure(
    title: str, runs: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]], path: Path
) -> Figure:
    """Queue, congestion window and goodput of a few runs, one above the other; written to a file.

    ``runs`` maps a label (``cc`` or ``cc:param=value``) to its series of times (s)
    and values: "queue" and "cwnd" in packets, "goodput" in Mbit/s with the ends
    of its intervals. A key that no run has leaves its panel out.
    """
    looks = styles(runs)
    axes_of: dict[str, tuple[str, Literal["line", "step", "bins"]]] = {
        "queue": ("queue (packets)", "step"),
        "cwnd": ("cwnd (packets)", "line"),
        "goodput": ("goodput (Mbit/s)", "bins"),
    }
    panels: list[tuple[str, _Panel]] = []
    for key, (label, kind) in axes_of.items():
        lines = [
            _Line(*_arrays(runs[run][key]), look.name, look.colour, "-" if kind == "step" else look.line, kind=kind)
            for run, look in looks.items()
            if key in runs[run]
        ]
        if lines:
            panels.append((label, _Panel("", lines)))
    if not panels:
        raise LabError(f"{title}: no series to plot")
    figure = _stacked(title, panels)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)
    return figure


def _arrays(series: tuple[Sequence[float], Sequence[float]]) -> Series:
    t, y = series
    return np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _stacked(title: str, panels: list[tuple[str, _Panel]]) -> Figure:
    """Panels of different quantities below each other, all runs in each."""
    keys = _keys([panel for _label, panel in panels], _Axis(""))
    figure, axes = _layout(len(panels), 1, width=WIDE_IN, panel=1.7, title=title, keys=keys, left=0.75, gap=0.12)
    last = 0.0
    for ax, (label, panel) in zip(axes, panels, strict=True):
        for line in panel.lines:
            _draw(ax, line, 1)
            last = max(last, float(line.t[-1])) if len(line.t) else last
        ax.set_ylim(*_limits(panel.lines, _Axis(label)))
        ax.set_ylabel(label)
    axes[-1].set_xlim(0, last or 1)
    figure.align_ylabels(axes)
    return figure


# --------------------------------------------------------- trace of santacruz


Verdict = Literal["loss judged random", "loss judged congestion"]


@dataclass(frozen=True)
class TracedFlow:
    """What santacruz saw of a flow at the end of each interval, and how it judged losses.

    Times ``t`` in s, queue n and window in packets, D and pktS in us (NaN: not known),
    consecutive intervals of growth 0..2; ``losses`` at their times with the window they found,
    ``timeouts_s`` when they were noticed.
    """

    name: str
    sources: tuple[str, ...]
    t: Floats
    n_pkts: Floats
    d_us: Floats
    pkts_us: Floats
    cwnd: Floats
    grew: Floats
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


@_styled
def santacruz_trace(
    title: str, flows: Sequence[TracedFlow], queue: Series, n_op_pkts: float | None, end_s: float
) -> Figure:
    """Queue estimate, delay, service time, window with losses, state count, one above the other.

    ``queue``: times (s) and lengths (packets) of the bottleneck's; ``end_s`` of the run.
    """
    sources = dict.fromkeys(source for flow in flows for source in flow.sources)
    words = ", then ".join(sources) or "nothing"
    panels = [_Panel(label, lines) for label, lines in _trace_lines(flows)]
    panels[0].lines.insert(0, _Line(*queue, "bottleneck queue, measured", MEASURED, kind="step", width=0.9))
    marks = ((n_op_pkts, "operating point N_op"),) if n_op_pkts else ()
    keys = _keys(panels, _Axis("", marks=marks)) | _event_keys(flows)
    figure, axes = _layout(
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
            _draw(ax, line, 1)
        _low, high = _limits(panel.lines, _Axis(panel.title))
        ax.set_ylim(min((float(np.nanmin(line.y, initial=0)) for line in panel.lines), default=0), high)
        ax.set_ylabel(panel.title)
    for value, _text in marks:
        axes[0].axhline(value, color=INK, ls=(0, (1, 2)), lw=0.9)
    _draw_events(axes[3], flows)
    for flow, colour in zip(flows, itertools.cycle(FLOW_COLOURS), strict=False):
        # Not thinned: a mean of states would be none
        axes[-1].plot(flow.t, flow.grew, color=colour, lw=1, drawstyle="steps-post")
    axes[-1].set_yticks([0, 1, 2])
    axes[-1].set_ylim(-0.2, 2.2)
    axes[-1].set_xlim(0, end_s)
    figure.align_ylabels(axes)
    return figure


def _trace_lines(flows: Sequence[TracedFlow]) -> Iterable[tuple[str, list[_Line]]]:
    """Label and lines of each panel."""
    d_unit, d_us = _time_unit([flow.d_us for flow in flows])
    p_unit, p_us = _time_unit([flow.pkts_us for flow in flows])

    def lines(pick: Callable[[TracedFlow], Floats]) -> list[_Line]:
        names = [flow.name if len(flows) <= len(FLOW_COLOURS) else "flows" for flow in flows]
        colours = itertools.cycle(FLOW_COLOURS)
        return [
            _Line(flow.t, pick(flow), name, colour) for flow, name, colour in zip(flows, names, colours, strict=False)
        ]

    yield "queue n\n(packets)", lines(lambda flow: flow.n_pkts)
    yield f"delay D\n({d_unit})", lines(lambda flow: flow.d_us / d_us)
    yield f"pktS\n({p_unit})", lines(lambda flow: flow.pkts_us / p_us)
    yield "cwnd\n(packets)", lines(lambda flow: flow.cwnd)
    yield "state count\n(0 to 2)", []


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
