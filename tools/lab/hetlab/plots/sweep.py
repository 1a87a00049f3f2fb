# SPDX-License-Identifier: GPL-2.0
"""Numbers over a swept key: a line for each congestion control, with the intervals of their means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from hetlab.plots.panels import Keys, layout
from hetlab.plots.style import WIDE_IN, Style, styled, styles

PANEL_IN = 1.7
LOG_FROM = 20.0
# By the swept value: mean, and half its interval (None: of one seed)
Points = Mapping[float, tuple[float, float | None]]


@dataclass(frozen=True)
class Quantity:
    """A panel: the label of its vertical axis, and of each congestion control its values by the swept one."""

    label: str
    curves: Mapping[str, Points]


@styled
def sweep_figure(title: str, x_label: str, quantities: Sequence[Quantity]) -> Figure:
    """Panels above each other over the swept value; logarithmic where that spans a factor of 20 or more."""
    looks = styles(label for quantity in quantities for label in quantity.curves)
    keys: Keys = {look.name: Line2D([], [], **_look(look)) for look in looks.values()}
    figure, axes = layout(
        len(quantities), 1, title=title, x_label=x_label, keys=keys, width=WIDE_IN, panel=PANEL_IN, left=0.75, gap=0.2
    )
    for ax, quantity in zip(axes, quantities, strict=True):
        for label, look in looks.items():
            _draw(ax, quantity.curves.get(label, {}), look)
        ax.set_ylabel(quantity.label)
        ax.set_ylim(0, None)
    _horizontal(axes[-1], sorted({x for q in quantities for points in q.curves.values() for x in points}))
    figure.align_ylabels(axes)
    return figure


def _look(look: Style) -> dict[str, Any]:
    return {"color": look.colour, "ls": look.line, "lw": 1.8 if look.ours else 1.2, "marker": look.marker, "ms": 4}


def _draw(ax: Axes, points: Points, look: Style) -> None:
    """Means, and whiskers over their intervals."""
    ax.plot(sorted(points), [points[x][0] for x in sorted(points)], **_look(look))
    several = [(x, mean, half) for x, (mean, half) in sorted(points.items()) if half is not None]
    if several:
        x, mean, half = zip(*several, strict=True)
        ax.errorbar(x, mean, half, fmt="none", ecolor=look.colour, elinewidth=0.9, capsize=3, alpha=0.7)


def _horizontal(ax: Axes, values: Sequence[float]) -> None:
    """The common axis, with a tick at each value if they are few."""
    if values[0] > 0 and values[-1] / values[0] >= LOG_FROM:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
    if len(values) <= 12:
        ax.set_xticks(values, [f"{value:g}" for value in values])
