# SPDX-License-Identifier: GPL-2.0
"""Figures of papers: curves of several runs in plot areas above each other, with the paper's values dotted."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter
from PIL import Image

from hetlab.plots import INK, TIME, Floats, Keys, _layout, _legend_size, _styled, _title_lines, save, styles

PAPER_IN = (8.2, 4.55)


@dataclass(frozen=True)
class Curve:
    """A curve of a figure; ``role``: its text in the legend, ``cc``: whose look it has.

    ``spread``: half the length of the whiskers.
    """

    role: str
    cc: str
    x: Floats
    y: Floats
    kind: Literal["line", "step", "dots", "points"] = "line"
    dash: Any = "-"
    shade: float = 0.0
    spread: Floats | None = None

    def look(self) -> dict[str, Any]:
        """As matplotlib takes it; a shade below 0 is darker, above 0 lighter."""
        rgb = np.asarray(to_rgb(styles([self.cc])[self.cc].colour))
        rgb = rgb + (1 - rgb) * self.shade if self.shade > 0 else rgb * (1 + self.shade)
        marked = {"marker": "o" if self.kind == "points" else ".", "ms": 4 if self.kind == "points" else 1.6}
        lined = {"ls": "none" if self.kind == "dots" else self.dash, "lw": 1.2}
        return {"color": to_hex(tuple(rgb))} | lined | (marked if self.kind in ("dots", "points") else {})


@dataclass(frozen=True)
class Stage:
    """One plot area; ``marks``: values the paper names (value, text), drawn dotted; ``whole``: no fractions."""

    label: str
    curves: Sequence[Curve]
    marks: tuple[tuple[float, str], ...] = ()
    top: float | None = None
    whole: bool = False


@_styled
def paper_figure(title: str, stages: Sequence[Stage], x_label: str = TIME, ticks: Sequence[float] = ()) -> Figure:
    """Plot areas above each other with a common horizontal axis: time, or (with ``ticks``) a logarithmic one."""
    keys = _stage_keys(stages)
    width, height = PAPER_IN
    fixed = 0.8 + 0.19 * len(_title_lines(title, width)) + 0.2 * _legend_size(keys, width)[1]
    panel = (height - fixed - 0.2 * (len(stages) - 1)) / len(stages)
    figure, axes = _layout(
        len(stages), 1, title=title, x_label=x_label, keys=keys, width=width, panel=panel, left=0.65, gap=0.2
    )
    for ax, stage in zip(axes, stages, strict=True):
        _draw_stage(ax, stage)
    every = [curve for stage in stages for curve in stage.curves]
    if ticks:
        axes[-1].set_xscale("log")
        axes[-1].set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes[-1].xaxis.set_minor_formatter(NullFormatter())
    else:
        axes[-1].set_xlim(0, max(float(curve.x[-1]) for curve in every))
    figure.align_ylabels(axes)
    return figure


def _stage_keys(stages: Sequence[Stage]) -> Keys:
    """Legend: each role once, then what is dotted."""
    keys: Keys = {}
    for curve in (c for stage in stages for c in stage.curves):
        look = curve.look() | ({"ms": 6} if curve.kind == "dots" else {})
        keys.setdefault(curve.role, Line2D([], [], **look))
    for text in (text for stage in stages for _value, text in stage.marks if text):
        keys[text] = Line2D([], [], color=INK, ls=(0, (1, 2)), lw=1)
    return keys


def _draw_stage(ax: Axes, stage: Stage) -> None:
    for curve in stage.curves:
        if curve.spread is not None:
            whiskers = {k: v for k, v in curve.look().items() if k == "color"}
            ax.errorbar(curve.x, curve.y, curve.spread, fmt="none", elinewidth=0.8, capsize=3, alpha=0.6, **whiskers)
        ax.plot(curve.x, curve.y, drawstyle="steps-post" if curve.kind == "step" else "default", **curve.look())
    for value, _text in stage.marks:
        ax.axhline(value, color=INK, ls=(0, (1, 2)), lw=0.9)
    if stage.whole:
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel(stage.label)
    ax.set_ylim(0, stage.top or 1.08 * ax.get_ylim()[1])


def save_small(figure: Figure, path: Path, colours: int = 64) -> None:
    """A PNG of few colours, for the repository; the same figure gives the same bytes."""
    with Image.open(io.BytesIO(save(figure, path))) as full:
        few = full.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
