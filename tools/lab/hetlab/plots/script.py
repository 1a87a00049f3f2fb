# SPDX-License-Identifier: GPL-2.0
"""The figure of a Mininet script: ``script_figure(title, {label: {"queue": (t, pkts), ...}}, path)``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.figure import Figure

from hetlab.errors import LabError
from hetlab.plots.panels import Axis, Line, Panel, draw, keys_of, layout, limits
from hetlab.plots.style import WIDE_IN, Series, save, styled, styles


@styled
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
    panels: list[tuple[str, Panel]] = []
    for key, (label, kind) in axes_of.items():
        lines = [
            Line(*_arrays(runs[run][key]), look.name, look.colour, "-" if kind == "step" else look.line, kind=kind)
            for run, look in looks.items()
            if key in runs[run]
        ]
        if lines:
            panels.append((label, Panel("", lines)))
    if not panels:
        raise LabError(f"{title}: no series to plot")
    figure = _stacked(title, panels)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)
    return figure


def _arrays(series: tuple[Sequence[float], Sequence[float]]) -> Series:
    t, y = series
    return np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _stacked(title: str, panels: list[tuple[str, Panel]]) -> Figure:
    """Panels of different quantities below each other, all runs in each."""
    keys = keys_of([panel for _label, panel in panels], Axis(""))
    figure, axes = layout(len(panels), 1, width=WIDE_IN, panel=1.7, title=title, keys=keys, left=0.75, gap=0.12)
    last = 0.0
    for ax, (label, panel) in zip(axes, panels, strict=True):
        for line in panel.lines:
            draw(ax, line, 1)
            last = max(last, float(line.t[-1])) if len(line.t) else last
        ax.set_ylim(*limits(panel.lines, Axis(label)))
        ax.set_ylabel(label)
    axes[-1].set_xlim(0, last or 1)
    figure.align_ylabels(axes)
    return figure
