# SPDX-License-Identifier: GPL-2.0
"""Distributions of sizes and times, and lists of writes, as scenario files and flowgen spell them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetlab.errors import LabError
from hetlab.model.keys import ModelError

FILE = "file:"
LIST = "list:"
FORMS = {
    "const": "const:VALUE",
    "exp": "exp:MEAN[:MAX]",
    "pareto": "pareto:MEAN:SHAPE[:MAX]",
    "lognormal": "lognormal:MEDIAN:SIGMA[:MAX]",
    "uniform": "uniform:LEAST:LARGEST",
}
SHAPE, SIGMA = (1.01, 100.0), (0.001, 10.0)
LEAST_WRITE_BYTES, MOST_WRITE_BYTES = 24, 10**12
LATEST_WRITE_S = 1e6
# A program's argument may have 128 KiB
MOST_CHARACTERS = 100_000


class Spelt:
    """A scenario file may give a number, or a list of numbers or of pairs, where a text is taken."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """For pydantic, which only the host has: make a text of it before the type is looked at."""
        return {
            "type": "function-before",
            "function": {"type": "no-info", "function": spelt},
            "schema": handler(source),
        }


def spelt(value: Any) -> Any:
    """``20000`` as "20000", ``[1, 2]`` as "list:1/2", ``[[0, 100], [1.5, 2000]]`` as "0:100/1.5:2000"."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}"
    if not isinstance(value, list | tuple) or not value:
        return value
    if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        return "/".join(f"{spelt(t_s)}:{spelt(octets)}" for t_s, octets in value)
    return LIST + "/".join(str(spelt(one)) for one in value)


@dataclass(frozen=True)
class Distribution:
    """A kind with its parameters; draws above ``most`` become that. ``values``: of a list, equally likely."""

    kind: str
    a: float = 0
    b: float = 0
    most: float = math.inf
    values: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """Mean of the draws, ``most`` taken into account."""
        of: dict[str, Callable[[], float]] = {
            "const": lambda: self.a,
            "uniform": lambda: (self.a + self.b) / 2,
            "list": lambda: math.fsum(self.values) / len(self.values),
            "exp": lambda: self.a * -math.expm1(-self.most / self.a),
            "pareto": self._pareto_mean,
            "lognormal": self._lognormal_mean,
        }
        return of[self.kind]()

    def _pareto_mean(self) -> float:
        least = self.a * (self.b - 1) / self.b
        if math.isinf(self.most):
            return self.a
        if self.most <= least:
            return self.most
        return self.a - (least / self.most) ** self.b * self.most / (self.b - 1)

    def _lognormal_mean(self) -> float:
        whole = self.a * math.exp(self.b**2 / 2)
        if math.isinf(self.most):
            return whole
        z = math.log(self.most / self.a) / self.b
        return whole * _normal(z - self.b) + self.most * (1 - _normal(z))


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def parse(key: str, text: str, low: float, high: float) -> Distribution:
    """A distribution whose values, means and medians lie in a range; ModelError: key, value, allowed range."""

    def number(word: str, what: str, least: float = low, most: float = high) -> float:
        try:
            value = float(word)
        except ValueError:
            raise ModelError(f"{key}={_short(text)!r}: {word!r} is not a number") from None
        if not least <= value <= most:
            raise ModelError(f"{key}={_short(text)!r}: {what} {value:g}: allowed range is {least:.12g}..{most:.12g}")
        return value

    kind, colon, rest = text.partition(":")
    if not colon:
        return Distribution("const", number(text, "value"))
    if kind == "list":
        return Distribution("list", values=tuple(number(word, "value") for word in rest.split("/")))
    words = rest.split(":")
    needed = FORMS[kind].partition("[")[0].count(":") if kind in FORMS else 0
    if kind not in FORMS or not needed <= len(words) <= FORMS[kind].count(":"):
        raise ModelError(f"{key}={_short(text)!r}: a number, a list, file:PATH or {', '.join(FORMS.values())}")
    a = number(words[0], "value")
    if kind == "uniform":
        return Distribution(kind, a, number(words[1], "largest value", a))
    limits = {"pareto": SHAPE, "lognormal": SIGMA}.get(kind)
    b = number(words[1], "shape" if kind == "pareto" else "sigma", *limits) if limits else 0
    most = number(words[-1], "largest value") if len(words) > needed else math.inf
    return Distribution(kind, a, b, most)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_writes(key: str, text: str) -> None:
    """ModelError: key, which write, allowed range."""
    before_s = 0.0
    for i, pair in enumerate(text.split("/")):
        t_text, _, size_text = pair.partition(":")
        try:
            t_s, octets = float(t_text), int(size_text)
        except ValueError:
            raise ModelError(f"{key}.{i}={pair!r}: a pair of t_s and bytes") from None
        if not before_s <= t_s <= LATEST_WRITE_S:
            allowed = f"{before_s:.12g}..{LATEST_WRITE_S:.12g}, in order"
            raise ModelError(f"{key}.{i}: t_s={t_s:g}: allowed range is {allowed}")
        if not LEAST_WRITE_BYTES <= octets <= MOST_WRITE_BYTES:
            allowed = f"{LEAST_WRITE_BYTES}..{MOST_WRITE_BYTES:g}"
            raise ModelError(f"{key}.{i}: bytes={octets}: allowed range is {allowed}")
        before_s = t_s


def with_file(key: str, text: str, pairs: bool = False) -> str:
    """The same with the contents of a file that it names: one value, or t_s,bytes, a line. LabError: file and line."""
    if not text.startswith(FILE):
        return text
    path = Path(text.removeprefix(FILE))
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as err:
        raise LabError(f"{key}: {path}: {err}") from err
    if not lines:
        raise LabError(f"{key}: {path}: is empty")
    for i, line in enumerate(lines, start=1):
        _check_line(f"{key}: {path}, line {i}", line, pairs)
    words = [":".join(word.strip() for word in line.split(",")) for line in lines]
    found = "/".join(words) if pairs else LIST + "/".join(words)
    if len(found) > MOST_CHARACTERS:
        raise LabError(f"{key}: {path}: {len(found)} characters in {len(lines)} lines; at most {MOST_CHARACTERS}")
    return found


def _check_line(where: str, line: str, pairs: bool) -> None:
    words = line.split(",")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != 1 + pairs:
        raise LabError(f"{where}: {line!r} is not {'t_s,bytes' if pairs else 'a number'}")
