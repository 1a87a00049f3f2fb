# SPDX-License-Identifier: GPL-2.0
"""Keys of the model: what each means, its allowed range, its unit in its name.

The classes of the model are frozen dataclasses of the standard library, because
guests import them. An annotation ``Annotated[type, Key(...)]`` is checked twice
from one source: here when a script makes an object, and by pydantic when the host
reads a scenario file, which then names the place.
"""

import functools
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from hetlab.errors import LabError
from hetlab.model.limits import LIMITS


class ModelError(LabError, ValueError):
    """What a scenario or a script asks for does not exist or does not fit together."""


class Key:
    """Meaning of a key and, by the name of its limits, the range of its value (of each value of a list).

    A ``sparse`` key is left out of JSON where it has its default: results from before it was there keep their bytes.
    """

    def __init__(
        self, text: str, limits: str = "", low: float | None = None, high: float | None = None, sparse: bool = False
    ) -> None:
        self.text = text
        self.sparse = sparse
        self.low, self.high = LIMITS[limits] if limits else (low, high)

    def check(self, value: Any) -> Any:
        """The value; ValueError if it, or one of a list, is outside of the range."""
        for one in value if isinstance(value, tuple | list) else (value,):
            if one is not None and self.low is not None and self.high is not None and not self.low <= one <= self.high:
                raise ValueError(f"allowed range is {self.low:.12g}..{self.high:.12g}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """For pydantic, which only the host has: check the range after the type."""
        return {
            "type": "function-after",
            "function": {"type": "no-info", "function": self.check},
            "schema": handler(source),
        }


class OneOrMore:
    """A scenario file may give one value where a list is taken."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """For pydantic, which only the host has: make a list of one before the type is looked at."""
        return {
            "type": "function-before",
            "function": {"type": "no-info", "function": self.listed},
            "schema": handler(source),
        }

    @staticmethod
    def listed(value: Any) -> Any:
        """A list, or one of what is not a list."""
        return value if isinstance(value, list | tuple) or value is None else [value]


class Checked:
    """Base of the model's classes: ranges and choices are checked when an object is made; unknown keys are errors."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        of: Any = type(self)
        for name, choices, key in _rules(of):
            value = getattr(self, name)
            if choices and value is not None and value not in choices:
                raise ModelError(f"{name}={value!r}: one of {', '.join(map(str, choices))}")
            try:
                key.check(value)
            except ValueError as err:
                raise ModelError(
                    f"{name}={value:g}: {err}" if not isinstance(value, tuple) else f"{name}: {err}"
                ) from err
        self.check()

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""


@functools.cache
def _rules(of: type) -> tuple[tuple[str, tuple[Any, ...], Key], ...]:
    """For each key: its name, the words that are allowed (empty: any), its range."""
    return tuple((name, _choices(hint), key) for name, hint, key in keys_of(of))


@functools.cache
def keys_of(of: type) -> tuple[tuple[str, Any, Key], ...]:
    """Name, type without its annotation, and Key of every key of a class, in order."""
    hints = get_type_hints(of, include_extras=True)
    found = []
    for f in fields(of):
        hint, key = hints[f.name], Key("")
        if get_origin(hint) is Annotated:
            hint, *extras = get_args(hint)
            key = next((e for e in extras if isinstance(e, Key)), key)
        found.append((f.name, hint, key))
    return tuple(found)


def _choices(hint: Any) -> tuple[Any, ...]:
    for part in alternatives(hint):
        if get_origin(part) is Literal:
            return get_args(part)
    return ()


def alternatives(hint: Any) -> Iterator[Any]:
    """The types of a union, one of any other."""
    if get_origin(hint) in (Union, UnionType):
        yield from get_args(hint)
    else:
        yield hint


@functools.cache
def _sparse(of: type) -> dict[str, Any]:
    """The sparse keys of a class, each with its default."""
    defaults = {f.name: f.default_factory() if f.default_factory is not MISSING else f.default for f in fields(of)}
    return {name: defaults[name] for name, _hint, key in keys_of(of) if key.sparse}


def as_plain(value: Any) -> Any:
    """An object of the model as dictionaries and tuples, for JSON; from_plain is the other way."""
    if is_dataclass(value):
        of: Any = type(value)
        unsaid = _sparse(of)
        given = {name: getattr(value, name) for name, _hint, _key in keys_of(of)}
        return {name: as_plain(v) for name, v in given.items() if name not in unsaid or v != unsaid[name]}
    if isinstance(value, dict):
        return {key: as_plain(v) for key, v in value.items()}
    return type(value)(as_plain(v) for v in value) if isinstance(value, tuple | list) else value


def from_plain(of: Any, value: Any) -> Any:
    """An object of the model from what JSON made of it; the other way is ``as_plain``.

    ``of`` is a class of the model or the type of one of its keys. Nothing is checked but what the classes check.
    """
    if get_origin(of) is Annotated:
        of = get_args(of)[0]
    kinds = [kind for kind in alternatives(of) if kind is not NoneType]
    if value is None or len(kinds) != 1:
        return value
    kind, parts = get_origin(kinds[0]) or kinds[0], get_args(kinds[0])
    if is_dataclass(kind):
        assert isinstance(kind, type)
        return kind(**{n: from_plain(hint, value[n]) for n, hint, _key in keys_of(kind) if n in value})
    if kind is tuple:
        each = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(from_plain(part, v) for part, v in zip(each, value, strict=True))
    if kind is dict:
        return {k: from_plain(parts[1], v) for k, v in value.items()}
    return value
