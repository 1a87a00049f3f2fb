# SPDX-License-Identifier: GPL-2.0
"""A trace over time: capacity, delay, loss, each in a row."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from hetlab.plots.panels import Line, draw, heading, layout
from hetlab.plots.style import INK, WIDE_IN, Series, styled


@styled
def trace(name: str, rows: Sequence[tuple[str, Series]]) -> Figure:
    """Rows of a quantity with its unit, and its values at the ends of intervals (s)."""
    title = heading(name, "what the link does over time")
    figure, axes = layout(len(rows), 1, title=title, keys={}, width=WIDE_IN, panel=1.8, left=0.75, gap=0.25)
    for ax, (label, (t, values)) in zip(axes, rows, strict=True):
        draw(ax, Line(t, values, label, INK, kind="bins"), 1)
        ax.set_ylabel(label, fontsize=9)
        ax.set_ylim(0, max(float(np.max(values)) * 1.06, 1e-9))
    axes[0].set_xlim(0, float(max(t[-1] for _label, (t, _values) in rows)))
    return figure
