# SPDX-License-Identifier: GPL-2.0
"""How figures look: styles of the congestion controls, fonts, files; the same figure gives the same bytes."""

import functools
import io
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from hetlab.model import congestion

Floats = npt.NDArray[np.float64]
Series = tuple[Floats, Floats]
P = ParamSpec("P")
DPI = 110
FORMATS = ("png", "svg", "pdf")
WIDE_IN = 10.0
NARROW_IN = 5.6
INK = "#333333"
TIME = "time (s)"
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
    """The styles of the congestion controls that are known."""
    return {cc: Style(c.name, c.colour, c.dash, c.marker, c.ours, c.order) for cc, c in congestion.known().items()}


def styles(labels: Iterable[str]) -> dict[str, Style]:
    """A style for every label, in the order of tables and legends.

    Parameter variants keep the colour family of their congestion control. Which
    variation they get depends on the parameters alone, unless two would look alike.
    """
    found: dict[str, Style] = {}
    taken: dict[str, set[int]] = {}
    for label in sorted(set(labels)):
        cc = congestion.family(label)
        params = label[len(cc) + 1 :]
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
    name = f"{style.name} {params.replace(':', ',').replace(',', ', ')}"
    turn = number % len(DASHES)
    return replace(style, name=name, colour=to_hex(tuple(rgb)), dash=DASHES[turn], marker=MARKERS[turn])


def styled(make: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw with our settings, whatever the user's matplotlibrc says."""

    @functools.wraps(make)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.rc_context(RC):
            return make(*args, **kwargs)

    return wrapped


def file_word(text: str) -> str:
    """A name as part of a picture's file name, which LaTeX can include: letters, digits, ``_`` and ``-`` alone.

    The point between two digits becomes ``p``, whatever else is not allowed a ``-``: ``geo[loss=0.5]`` is
    ``geo-loss-0p5``.
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", re.sub(r"(?<=\d)\.(?=\d)", "p", text)).strip("-")


def save(figure: Figure, path: Path) -> bytes:
    """Write a figure, PNG, SVG or PDF by the suffix; the same figure gives the same bytes."""
    data = drawn(figure, path.suffix.lstrip(".").lower() or "png")
    path.write_bytes(data)
    return data


def drawn(figure: Figure, kind: str, letters: bool = False) -> bytes:
    """A figure as the content of a PNG, SVG or PDF file.

    ``letters``: text of an SVG stays text, in the reader's font; a fifth of the bytes.
    """
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    out = io.BytesIO()
    with matplotlib.rc_context(RC | ({"svg.fonttype": "none"} if letters else {})):
        figure.savefig(out, format=kind, dpi=DPI, metadata=dates.get(kind))
    return out.getvalue()
