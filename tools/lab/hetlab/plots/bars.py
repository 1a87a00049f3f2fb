# SPDX-License-Identifier: GPL-2.0
"""One number of each congestion control: bars, with the single seeds."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hetlab.plots.panels import Keys, heading, layout
from hetlab.plots.style import INK, NARROW_IN, styled, styles

Bars = Mapping[str, Sequence[float]]
BAR_IN = (0.27, 0.2)


@styled
def goodput_bars(scenario: str, mbit: Bars, link_mbit: float | None = None) -> Figure:
    """Goodput (Mbit/s), one value for each seed; the link rate for reference."""
    marks = ((link_mbit, "link rate"),) if link_mbit else ()
    return _bars(heading(scenario, "goodput"), "goodput (Mbit/s)", {_mean_of(mbit): mbit}, marks)


@styled
def retransmission_bars(scenario: str, packets: Bars) -> Figure:
    """Retransmitted packets, one value for each seed."""
    return _bars(heading(scenario, "retransmissions"), "retransmissions (packets)", {_mean_of(packets): packets})


@styled
def delay_bars(scenario: str, p50_ms: Bars, p95_ms: Bars) -> Figure:
    """Median and 95th percentile of the one-way delay (ms), one value for each seed."""
    groups = {"median": p50_ms, "95th percentile": p95_ms}
    return _bars(heading(scenario, "one-way delay"), "one-way delay (ms)", groups)


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
    figure, (ax,) = layout(
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
