# SPDX-License-Identifier: GPL-2.0
"""Scenario files: TOML, checked before anything runs.

A scenario may name a ``base`` it inherits from (tables are merged, everything
else replaced) and a ``sweep`` (keys with lists of values: the cross product; keys
joined by ``+`` get the same value).
"""

import copy
import itertools
import tomllib
from pathlib import Path
from typing import Any

from hetlab.errors import LabError
from hetlab.model.scenario import Point
from hetlab.model.validate import validate
from hetlab.paths import SCENARIOS


def find(name: str) -> Path:
    """File of a scenario: a path, or the name of one of ours."""
    path = Path(name)
    if path.suffix == ".toml" or "/" in name:
        if not path.is_file():
            raise LabError(f"{name}: no such scenario file")
        return path
    path = SCENARIOS / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(p.stem for p in sorted(SCENARIOS.glob("*.toml")))
        raise LabError(f"no scenario {name!r}; there are: {known}")
    return path


def read(path: Path, seen: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Raw tables of a file, its bases merged in."""
    path = path.resolve()
    if path in seen:
        raise LabError(f"{path.name}: base: {' -> '.join(p.stem for p in (*seen, path))} goes in a circle")
    try:
        data = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise LabError(f"{path}: not valid TOML: {err}") from err
    base = data.pop("base", None)
    if base is None:
        return data
    beside = path.parent / f"{base}.toml"
    parent = read(beside if beside.is_file() else find(str(base)), (*seen, path))
    parent.pop("abstract", None)
    parent.pop("sweep", None)
    return merge(parent, data)


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """``above`` over ``below``; tables merge, everything else is replaced."""
    result = copy.deepcopy(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def assign(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set ``a.b.c`` in nested tables; tables on the way may be missing."""
    *path, last = key.split(".")
    for part in path:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise LabError(f"{where}: {key}: {part!r} is a value, not a table")
    data[last] = value


def load(name: str, sets: list[str] | None = None) -> list[Point]:
    """Load a scenario with ``--set`` overrides; each point of its sweep."""
    path = find(name)
    data = read(path)
    for item in sets or []:
        key, eq, text = item.partition("=")
        if not eq or not key:
            raise LabError(f"--set {item}: must be key=value, e.g. link.bottleneck.forward.rate_mbit=10")
        assign(data, key, parse_value(text), f"--set {item}")
    validate(data, path.name)
    sweep = data.pop("sweep", {})
    points = []
    for values in itertools.product(*sweep.values()):
        point = copy.deepcopy(data)
        for keys, value in zip(sweep, values, strict=True):
            for key in keys.split("+"):
                assign(point, key, value, f"{path.name}: sweep")
        suffix = ",".join(f"{k}={v}" for k, v in zip(sweep, values, strict=True))
        full = f"{path.stem}[{suffix}]" if suffix else path.stem
        points.append(Point(full, path.name, validate(point, path.name)))
    return points


def parse_value(text: str) -> Any:
    """A value as TOML reads it, or the bare word."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text
