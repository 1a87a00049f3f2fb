# SPDX-License-Identifier: GPL-2.0
"""Scenario files: TOML, checked before anything runs.

A scenario may name a ``base`` it inherits from (tables are merged, everything
else replaced), a ``sweep`` (keys with lists of values: the cross product; keys
joined by ``+`` get the same value), and variants of itself: the keys of
``[variant.NAME]`` over its own. ``remove`` lists keys of the base, or in a
variant of the scenario, that are left out. ``NAME@VARIANT[KEY=VALUE,...]`` is a
point of the sweep of a variant.
"""

import copy
import functools
import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetlab.errors import LabError, meant
from hetlab.model import names
from hetlab.model.distribution import FILE
from hetlab.model.resolve import TRACES
from hetlab.model.scenario import Point
from hetlab.model.trace_make import is_recipe
from hetlab.model.validate import validate
from hetlab.paths import PAPERS

OF_OTHERS = ("case", "judge")  # tables of hetlab.judge in a scenario file
BEGINS = {"link": ("ends",), "flow": ("src", "dst")}  # keys by which --set can add one
INHERITED_TEXTS = ("title", "note")


@dataclass(frozen=True)
class Address:
    """Which scenario is meant: its file, its name without variant and point, a variant, a point of the sweep."""

    path: Path
    name: str
    variant: str = ""
    point: str = ""

    @property
    def full(self) -> str:
        """Name with the variant."""
        return f"{self.name}@{self.variant}" if self.variant else self.name

    @property
    def source(self) -> str:
        """File and variant, for messages."""
        below = self.path.is_relative_to(PAPERS)
        file = str(self.path.relative_to(PAPERS)) if below else self.path.name
        return f"{file}@{self.variant}" if self.variant else file


def find(text: str) -> Address:
    """A file by its path, or one of ours by its name; either with a variant and a point."""
    head, bracket, rest = text.partition("[") if text.endswith("]") else (text, "", "")
    point = rest[:-1] if bracket else ""
    if head.endswith(".toml") or "/" in head:
        name, at, variant = head.rpartition("@")
        if not at or "/" in variant or variant.endswith(".toml"):
            name, variant = head, ""
        path = Path(name)
        if not path.is_file():
            raise LabError(f"{name}: no such scenario file")
        return Address(path.resolve(), path.stem, variant, point)
    name, _, variant = current(head).partition("@")
    return Address(names.scenarios()[name].resolve(), name, variant, point)


def current(name: str) -> str:
    """Today's name of a scenario, with its variant; for an old name a note goes to stderr."""
    stem, at, variant = name.partition("@")
    if stem in names.scenarios():
        return name
    for new in (names.renamed_scenario(stem), stem):
        if found := _known(new):
            names.tell(name, found + at + variant)
            return found + at + variant
    raise LabError(f"no scenario {name!r}{meant(stem, names.scenarios())}; 'hetlab list' shows all")


def _known(name: str) -> str:
    """The name, or as a variant what was a scenario of its own: NAME-VARIANT; empty: neither is there."""
    if name.partition("@")[0] in names.scenarios():
        return name
    stem, _, variant = name.rpartition("-")
    known = stem in names.scenarios() and variant in variants(stem)
    return f"{stem}@{variant}" if known else ""


def variants(name: str) -> list[str]:
    """Names of the variants of a scenario."""
    return list(read(find(name.partition("@")[0]).path).get("variant", {}))


def read(path: Path, seen: tuple[Path, ...] = (), variant: str = "") -> dict[str, Any]:
    """Raw tables of a file, its bases merged in, with its variants and theirs; of a file with ``variant`` that one."""
    path = path.resolve()
    if path in seen:
        raise LabError(f"{path.name}: base: {' -> '.join(p.stem for p in (*seen, path))} goes in a circle")
    try:
        data = _own(_parsed(path.read_text()), variant)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise LabError(f"{path}: not valid TOML: {err}") from err
    _beside(data, path.parent)
    base, removed = data.pop("base", None), data.pop("remove", [])
    if base is None:
        if removed:
            raise LabError(f"{path}: remove: there is no base to remove keys of")
        return data
    beside = path.parent / f"{base}.toml"
    parent = read(beside if beside.is_file() else find(str(base)).path, (*seen, path), variant)
    parent.pop("abstract", None)
    parent.pop("sweep", None)
    remove(parent, removed, str(path))
    return merge(parent, data)


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> dict[str, Any]:
    """Tables of a text, which are not changed: a file of many variants is read once for each."""
    return tomllib.loads(text)


def _own(data: dict[str, Any], variant: str) -> dict[str, Any]:
    """A copy, of many variants with the one that is wanted."""
    every = data.get("variant")
    if isinstance(every, dict) and variant in every:
        data = data | {"variant": {variant: every[variant]}}
    return copy.deepcopy(data)


def _beside(data: dict[str, Any], directory: Path) -> None:
    """Files of traces and workloads, in variants too, are named from the scenario's directory."""
    for key, value in data.items():
        if key.rpartition(".")[2] in TRACES and isinstance(value, str):
            data[key] = _from(directory, value)
        elif isinstance(value, str) and value.startswith(FILE):
            data[key] = FILE + str(directory / value.removeprefix(FILE))
        elif isinstance(value, dict) and key != "sweep":
            _beside(value, directory)


def _from(directory: Path, text: Any) -> Any:
    """Path of a file; a recipe of a synthetic trace as it is."""
    return text if not isinstance(text, str) or is_recipe(text) else str(directory / text)


def remove(data: dict[str, Any], keys: Any, where: str) -> None:
    """Take keys ``a.b.c`` out of nested tables; LabError if one is not there."""
    if not isinstance(keys, list):
        raise LabError(f"{where}: remove = {keys!r}: must be a list of keys")
    for key in keys:
        *path, last = parts_of(str(key))
        table: Any = data
        for part in path:
            table = table.get(part) if isinstance(table, dict) else None
        if not isinstance(table, dict) or last not in table:
            raise LabError(f"{where}: remove: there is no {key!r}")
        del table[last]


def chosen(data: dict[str, Any], address: Address) -> dict[str, Any]:
    """Tables of a variant: its keys over the scenario's, whose sweep stays unless it has one of its own.

    In its title and note ``{title}`` and ``{note}`` are the scenario's.
    """
    below = dict(data)
    every = below.pop("variant", {})
    if not isinstance(every, dict) or not all(isinstance(table, dict) for table in every.values()):
        raise LabError(f"{address.source}: variant: must be tables [variant.NAME]")
    if not address.variant:
        return below
    if address.variant not in every:
        known = ", ".join(every) or "none"
        raise LabError(f"{address.source}: no variant {address.variant!r}; there are: {known}")
    above = dict(every[address.variant])
    for key in INHERITED_TEXTS:
        if isinstance(above.get(key), str):
            above[key] = above[key].replace(f"{{{key}}}", str(below.get(key, "")))
    if "sweep" in above:
        below.pop("sweep", None)
    below = copy.deepcopy(below)
    remove(below, above.pop("remove", []), address.source)
    return merge(below, above)


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """``above`` over ``below``; tables merge, everything else is replaced."""
    result = copy.deepcopy(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def parts_of(key: str) -> list[str]:
    """Names of the tables on the way to a key, and its own; that of a sysctl has points, with or without quotes."""
    kind, _, name = key.partition(".")
    return [kind, name.strip('"')] if kind == "sysctl" and name else key.split(".")


def assign(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set ``a.b.c`` in nested tables; tables on the way may be missing. Of a list of tables a part is the number."""
    *path, last = parts_of(key)
    inside: Any = data
    for part in path:
        if isinstance(inside, list):
            inside = inside[_number(part, inside, f"{where}: {key}")]
        else:
            inside = inside.setdefault(part, {})
        if not isinstance(inside, dict | list):
            raise LabError(f"{where}: {key}: {part!r} is a value, not a table")
    if isinstance(inside, list):
        inside[_number(last, inside, f"{where}: {key}")] = value
    else:
        inside[last] = value


def _named(data: dict[str, Any], key: str, where: str) -> None:
    """LabError where a key is of a link or flow that is not there, unless it is one that each must have."""
    kind, *rest = parts_of(key)
    there = data.get(kind)
    begun = rest[1:] and rest[1] in BEGINS.get(kind, ())
    if kind in BEGINS and len(rest) > 1 and isinstance(there, dict) and rest[0] not in there and not begun:
        known = ", ".join(there) or "none"
        raise LabError(f"{where}: no {kind} {rest[0]!r}{meant(rest[0], there)}; there are: {known}")


def _number(part: str, of: list[Any], where: str) -> int:
    """Index of an element of a list, which counts from 0."""
    if part.isdecimal() and int(part) < len(of):
        return int(part)
    raise LabError(f"{where}: {part!r}: must be the number of one of {len(of)} elements, 0 to {len(of) - 1}")


def load(name: str, sets: list[str] | None = None) -> list[Point]:
    """Load a scenario with ``--set`` overrides; each point of its sweep, or the one that is named."""
    address = find(name)
    data = chosen(read(address.path, variant=address.variant), address)
    for table in OF_OTHERS:
        data.pop(table, None)
    for item in sets or []:
        key, eq, text = item.partition("=")
        if not eq or not key:
            raise LabError(f"--set {item}: must be key=value, e.g. link.bottleneck.forward.rate_mbit=10")
        _named(data, key, f"--set {item}")
        assign(data, key, parse_value(text), f"--set {item}")
    validate(data, address.source)
    sweep = data.pop("sweep", {})
    for key in (key for keys in sweep for key in keys.split("+")):
        _named(data, key, f"{address.source}: sweep")
    asked = (name, *(word for item in sets or [] for word in ("--set", item)))
    found = {}
    for values in itertools.product(*sweep.values()):
        at = dict(zip(sweep, values, strict=True))
        suffix = ",".join(f"{k}={_spelt(v)}" for k, v in at.items())
        if address.point in ("", suffix):
            full = f"{address.full}[{suffix}]" if suffix else address.full
            point = _at_point(data, at, address)
            found[suffix] = Point(full, address.source, validate(point, address.source), asked)
    if not found and not sweep:
        raise LabError(f"{address.full}: has no sweep, so no point [{address.point}]; --set KEY=VALUE changes a key")
    if not found:
        raise LabError(f"{address.full}: no point [{address.point}] of its sweep over {' and '.join(sweep)}")
    return list(found.values())


def _spelt(value: Any) -> str:
    """A value of a sweep in the name of its point, without blanks."""
    return "[" + ",".join(map(_spelt, value)) + "]" if isinstance(value, list) else str(value)


def _at_point(data: dict[str, Any], swept: dict[str, Any], address: Address) -> dict[str, Any]:
    """Tables with the values of a point of the sweep, whose files are named from the scenario's directory."""
    point = copy.deepcopy(data)
    for keys, value in swept.items():
        for key in keys.split("+"):
            own = _from(address.path.parent, value) if key.rpartition(".")[2] in TRACES else value
            assign(point, key, own, f"{address.source}: sweep")
    return point


def parse_value(text: str) -> Any:
    """A value as TOML reads it, or the bare word."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text
