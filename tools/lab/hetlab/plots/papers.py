# SPDX-License-Identifier: GPL-2.0
"""Figures of papers: curves of several runs in plot areas above each other, with the paper's values dotted."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter
from PIL import Image

from hetlab.plots.panels import Keys, layout, legend_size, title_lines
from hetlab.plots.style import INK, TIME, Floats, save, styled, styles

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


@styled
def paper_figure(title: str, stages: Sequence[Stage], x_label: str = TIME, ticks: Sequence[float] = ()) -> Figure:
    """Plot areas above each other with a common horizontal axis: time, or (with ``ticks``) a logarithmic one."""
    keys = _stage_keys(stages)
    width, height = PAPER_IN
    fixed = 0.8 + 0.19 * len(title_lines(title, width)) + 0.2 * legend_size(keys, width)[1]
    panel = (height - fixed - 0.2 * (len(stages) - 1)) / len(stages)
    figure, axes = layout(
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


@dataclass(frozen=True)
class Stack:
    """A bar of parts (value, whose look, shade as a Curve's); what they leave of 1 is residual."""

    label: str
    parts: Sequence[tuple[float, str, float]]


RESIDUAL = "#e4e4e4"


@styled
def stacks_figure(title: str, stacks: Sequence[Stack], keys: Mapping[str, tuple[str, float]], x_label: str) -> Figure:
    """Bars from 0 to 1 below each other, each part with its share in percent; ``keys``: texts of the legend."""
    patches: Keys = {text: Patch(color=_shaded(*look), lw=0) for text, look in keys.items()}
    patches["residual capacity"] = Patch(color=RESIDUAL, lw=0)
    width, height = PAPER_IN
    panel = height - 0.8 - 0.19 * len(title_lines(title, width)) - 0.2 * legend_size(patches, width)[1]
    left = 0.3 + 0.075 * max(len(stack.label) for stack in stacks)
    figure, axes = layout(1, 1, title=title, x_label=x_label, keys=patches, width=width, panel=panel, left=left)
    for at, stack in enumerate(stacks):
        _draw_stack(axes[0], at, stack)
    axes[0].set_yticks(range(len(stacks)), [stack.label for stack in stacks])
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, 1)
    return figure


def _draw_stack(ax: Axes, at: int, stack: Stack) -> None:
    rest = max(1 - sum(value for value, _cc, _shade in stack.parts), 0)
    parts = [(value, _shaded(cc, shade)) for value, cc, shade in stack.parts] + [(rest, RESIDUAL)]
    begin = 0.0
    for value, colour in parts:
        ax.barh(at, value, 0.7, begin, color=colour, edgecolor="white", lw=0.8)
        dark = sum(to_rgb(colour)) < 1.5
        ax.text(begin + value / 2, at, f"{100 * value:.0f}", ha="center", va="center", color="white" if dark else INK)
        begin += value


def _shaded(cc: str, shade: float) -> str:
    """Colour of a congestion control, darker (below 0) or lighter."""
    return str(Curve("", cc, np.empty(0), np.empty(0), shade=shade).look()["color"])


def save_small(figure: Figure, path: Path, colours: int = 64) -> None:
    """A PNG of few colours, for the repository; the same figure gives the same bytes."""
    with Image.open(io.BytesIO(save(figure, path))) as full:
        few = full.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
