# SPDX-License-Identifier: GPL-2.0
"""Series of runs to matplotlib figures: pure functions, no pyplot, no global state.

A run is named by its label, ``cc`` or ``cc:param=value,...``; colours and line
styles come from schemes.toml. Times are seconds since the start of the run.

Scripts: ``script_figure(title, {label: {"queue": (t, pkts), ...}}, path)``.
"""

import functools
import io
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

Floats = npt.NDArray[np.float64]
Series = tuple[Floats, Floats]
P = ParamSpec("P")

DPI = 110
WIDE_IN = 10.0
NARROW_IN = 5.6
OVERLAID = 3
INK = "#333333"
TIME = "time (s)"
SCHEMES = Path(__file__).with_name("schemes.toml")
RC: dict[str, Any] = {
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
    "hatch.linewidth": 0.6,
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


# Parameter variants of one congestion control: another dash, then another shade
DASHES: tuple[tuple[float, ...], ...] = ((3, 1.5), (1, 1.5), (7, 1.5, 1.5, 1.5), (9, 3))
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
    taken: set[tuple[str, int]] = set()
    for label in sorted(set(labels)):
        cc, _, params = label.partition(":")
        style = schemes().get(cc) or _stranger(cc)
        if params:
            number = zlib.crc32(params.encode()) % VARIATIONS
            while (cc, number) in taken and len(taken) < VARIATIONS:
                number = (number + 1) % VARIATIONS
            taken.add((cc, number))
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
    return replace(style, name=name, colour=to_hex(tuple(rgb)), dash=DASHES[number % len(DASHES)])


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
    """Rate (Mbit/s) in intervals of ``bin_s``, from a count of bytes; times are the ends of the intervals."""
    edges = begin + bin_s * np.arange(math.floor(max(end - begin, 0) / bin_s + 1e-9) + 1)
    if len(edges) < 2 or not len(t):
        return np.empty(0), np.empty(0)
    at = np.interp(edges, np.append(min(begin, t[0]), t), np.append(0.0, octets))
    return edges[1:], np.diff(at) * 8 / bin_s / 1e6


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
    rows: int, cols: int, *, width: float, panel: float, title: str, keys: Keys, left: float, gap: float
) -> tuple[Figure, list[Axes]]:
    """Figure with room for title, axis labels and legend; all lengths in inches."""
    lines = _title_lines(title, width)
    ncols, nrows = _legend_size(keys, width)
    top, bottom = 0.4 + 0.19 * len(lines), 0.55 + 0.2 * nrows
    height = top + bottom + rows * panel + (rows - 1) * gap
    figure = Figure(figsize=(width, height), dpi=DPI)
    grid = figure.subplots(rows, cols, sharex=True, sharey=cols > 1, squeeze=False)
    figure.subplots_adjust(
        left=left / width,
        right=1 - 0.15 / width,
        top=1 - top / height,
        bottom=bottom / height,
        hspace=gap / panel,
        wspace=0.06,
    )
    figure.suptitle("\n".join(lines), x=0.1 / width, y=1 - 0.08 / height, ha="left", va="top", fontsize=10.5)
    if keys:
        where = (0.5, 0.03 / height)
        figure.legend(
            list(keys.values()), list(keys), loc="lower center", bbox_to_anchor=where, ncols=ncols, borderaxespad=0
        )
    return figure, list(grid.flat)


def _keys(panels: Sequence[_Panel], axis: _Axis) -> Keys:
    """Legend entries: one for each role, in the order of appearance."""
    keys: Keys = {}
    for line in (line for panel in panels for line in panel.lines):
        keys.setdefault(line.role, Line2D([], [], color=line.key or line.colour, ls=line.dash, lw=line.width + 0.3))
    if any(_crowded(line, len(panels)) for panel in panels for line in panel.lines):
        keys["shaded: smallest to largest"] = Patch(color="#c9c9c9")
    for _value, text in axis.marks:
        keys[text] = Line2D([], [], color=INK, ls=(0, (1, 2)), lw=1)
    return keys


def _cols(panels: int) -> int:
    return 1 if panels == 1 else 2 if panels <= 4 else 3


def _columns(panels: int) -> int:
    """Pixels across a panel, about."""
    return int((WIDE_IN - 0.9) * DPI / _cols(panels))


def _crowded(line: _Line, panels: int) -> bool:
    return line.kind == "step" and len(line.t) > 2 * _columns(panels)


def _draw(ax: Axes, line: _Line, panels: int) -> None:
    """One line, thinned to what the pixels can show."""
    t, y, columns = line.t, line.y, _columns(panels)
    how: dict[str, Any] = {"color": line.colour, "ls": line.dash, "lw": line.width}
    if not len(t):
        return
    if line.kind == "bins":
        first = t[0] - (t[1] - t[0]) if len(t) > 1 else 0.0
        ax.plot(np.append(first, t), np.append(y[0], y), drawstyle="steps-pre", **how)
    elif _crowded(line, panels):
        at, low, mean, high = envelope(t, y, columns // 2)
        ax.fill_between(at, low, high, color=line.colour, alpha=0.25, lw=0, step="post")
        ax.plot(at, mean, drawstyle="steps-post", **how)
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
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    high = max([high, *(value for value, _text in axis.marks)])
    low = 0.0 if axis.zero or low < high / 3 else low - 0.08 * (high - low)
    return low, (high + 0.06 * (high - low)) or 1.0


def _time_figure(title: str, panels: list[_Panel], axis: _Axis) -> Figure:
    """One panel for each run, with common axes; or one panel for all."""
    every = [line for panel in panels for line in panel.lines]
    peak = max((float(np.nanmax(line.y)) for line in every if line.scales and np.isfinite(line.y).any()), default=0)
    axis = replace(axis, marks=tuple(mark for mark in axis.marks if mark[0] <= 1.6 * peak))
    cols = _cols(len(panels))
    rows = math.ceil(len(panels) / cols)
    figure, axes = _layout(
        rows,
        cols,
        width=WIDE_IN,
        panel=2.6 if cols == 1 else 1.7 if cols == 2 else 1.35,
        title=title,
        keys=_keys(panels, axis),
        left=0.75,
        gap=0.32,
    )
    last = max((float(line.t[-1]) for line in every if len(line.t)), default=1.0)
    for ax, panel in zip(axes, panels, strict=False):
        for line in panel.lines:
            _draw(ax, line, len(panels))
        for value, _text in axis.marks:
            ax.axhline(value, color=INK, ls=(0, (1, 2)), lw=0.9)
        ax.set_title(panel.title, loc="left", pad=3, fontsize=9, fontweight="bold" if panel.bold else "normal")
    axes[0].set_xlim(0, last)
    for ax in axes:
        ax.set_ylim(*_limits(every, axis))
    _close_gaps(axes, len(panels), cols)
    below = 0.1 + 0.2 * _legend_size(_keys(panels, axis), WIDE_IN)[1]
    figure.supxlabel(TIME, y=below / figure.get_figheight(), va="bottom", fontsize=9)
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
    lines = []
    for i, flow in enumerate(tested):
        several = 1 < len(tested) <= 1 + len(DASHES)
        role = what if len(flows) == 1 else flow.name if several or len(tested) == 1 else "flows under test"
        dash: Any = (0, DASHES[i - 1]) if several and i else "-"
        t, y = pick(flow)
        lines.append(_Line(t, y, role, style.colour, dash, 1.1 if len(tested) < 5 else 0.8, key=INK))
    for flow in flows:
        if flow.cc is not None:
            other = styles([flow.cc])[flow.cc]
            t, y = pick(flow)
            lines.append(_Line(t, y, f"{flow.name} ({other.name})", other.colour, other.line, 0.9))
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
    return _time_figure(_heading(scenario, "congestion window"), panels, _Axis("congestion window (packets)"))


@_styled
def srtt(scenario: str, runs: Mapping[str, Sequence[Flow]]) -> Figure:
    """Smoothed round trip time (ms) over time."""
    panels = _flow_panels(runs, "smoothed RTT", lambda flow: (flow.t, flow.srtt_ms))
    return _time_figure(
        _heading(scenario, "smoothed round trip time"), panels, _Axis("smoothed RTT (ms)", zero=False)
    )


@_styled
def goodput(scenario: str, runs: Mapping[str, Sequence[Flow]], link_mbit: float | None = None) -> Figure:
    """Goodput (Mbit/s) of the intervals of a run; the link rate for reference."""
    panels = _flow_panels(runs, "goodput", lambda flow: flow.goodput, kind="bins")
    marks = ((link_mbit, "link rate"),) if link_mbit else ()
    return _time_figure(_heading(scenario, "goodput"), panels, _Axis("goodput (Mbit/s)", marks=marks))


@_styled
def queue(scenario: str, runs: Mapping[str, Series], limit_pkts: float | None = None) -> Figure:
    """Length of the bottleneck queue (packets) over time, its limit for reference."""
    looks = styles(runs)
    together = 1 < len(runs) <= OVERLAID
    lines = {
        label: _Line(
            *runs[label],
            look.name if together else "queue",
            look.colour,
            look.line if together else "-",
            kind="step",
            key="" if together else INK,
        )
        for label, look in looks.items()
    }
    panels = [_Panel(look.name, [lines[label]], look.ours) for label, look in looks.items()]
    if together:
        panels = [_Panel("", list(lines.values()))]
    marks = ((limit_pkts, "limit of the queue"),) if limit_pkts else ()
    return _time_figure(_heading(scenario, "bottleneck queue"), panels, _Axis("queue (packets)", marks=marks))


@_styled
def delay_cdf(scenario: str, delays_ms: Mapping[str, Floats]) -> Figure:
    """Distribution of the one-way delay (ms) of the packets of each run."""
    looks = {label: look for label, look in styles(delays_ms).items() if len(delays_ms[label])}
    keys: Keys = {}
    curves = []
    share = np.unique(np.concatenate((np.linspace(0, 1, 201), np.linspace(0.98, 1, 41))))
    for i, (label, look) in enumerate(looks.items()):
        every = (i * 17 % 40, 40)
        line = Line2D([], [], color=look.colour, ls=look.line, lw=1.4, marker=look.marker, ms=4, markevery=every)
        keys[look.name] = line
        curves.append((np.quantile(delays_ms[label], share), line))
    figure, (ax,) = _layout(
        1,
        1,
        width=NARROW_IN,
        panel=2.7,
        title=_heading(scenario, "one-way delay of the packets"),
        keys=keys,
        left=0.65,
        gap=0,
    )
    for x, line in curves:
        ax.plot(
            x,
            share,
            color=line.get_color(),
            ls=line.get_linestyle() if not looks else line._unscaled_dash_pattern,  # type: ignore[attr-defined]
            lw=1.4,
            marker=line.get_marker(),
            ms=4,
            markevery=line.get_markevery(),
        )
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("one-way delay (ms)")
    ax.set_ylabel("share of packets (0 to 1)")
    return figure
