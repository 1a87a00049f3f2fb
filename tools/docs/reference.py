# SPDX-License-Identifier: GPL-2.0
"""Reference tables of the documentation: keys of the lab's model, and what each command says on --help."""

import dataclasses
import importlib
import json
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hetlab.model.keys import Key, OneOrMore, alternatives, keys_of

TYPES = {bool: "true, false", int: "whole", float: "number", str: "text"}
BYTES = ("bytes", "mtu", "rcvlowat", "clamp", "sndbuf", "rcvbuf", "notsent_lowat")
UNITS = dict.fromkeys(BYTES, "bytes") | {
    "s": "s",
    "ms": "ms",
    "mbit": "Mbit/s",
    "pkts": "packets",
    "initcwnd": "packets",
    "bdp": "BDP",
    "percent": "%",
    "ppm": "ppm",
    "share": "times the rate",
    "ber": "errors/bit",
}


def keys(module: str, name: str) -> list[dict[str, str]]:
    """Keys of a class of the lab's model: name, type, unit, default, allowed values, meaning."""
    cls = getattr(importlib.import_module(module), name)
    defaults = {f.name: f for f in dataclasses.fields(cls)}
    extras = get_type_hints(cls, include_extras=True)
    found = []
    for key, hint, about in keys_of(cls):
        one = "or one" if any(isinstance(extra, OneOrMore) for extra in get_args(extras[key])) else ""
        row = {"name": key, "type": f"{_type(hint)} {one}".strip(), "unit": _unit(key), "text": about.text}
        found.append(row | {"default": _default(defaults[key]), "range": _range(hint, about)})
    return found


def _type(hint: Any) -> str:
    """A type as a TOML file has it."""
    (kind,) = {part for part in alternatives(hint) if part is not NoneType} or {str}
    of, parts = get_origin(kind) or kind, get_args(kind)
    if of is tuple:
        return f"list of {len(parts)}" if parts[-1] is not Ellipsis else "list"
    if of is dict or dataclasses.is_dataclass(kind):
        return "table"
    return TYPES[type(parts[0]) if of is Literal else of]


def _unit(key: str) -> str:
    """By the name of a key, or by its last word."""
    return UNITS.get(key) or UNITS.get(key.rpartition("_")[2], "")


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "" if field.default_factory is not dataclasses.MISSING else "needed"
    empty = field.default in (None, "", ())
    return "" if empty else json.dumps(field.default)


def _range(hint: Any, about: Key) -> str:
    words = [word for part in (hint, *get_args(hint)) if get_origin(part) is Literal for word in get_args(part)]
    if words:
        return ", ".join(map(str, words))
    return "" if about.low is None or about.high is None else f"{_number(about.low)}..{_number(about.high)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def usage() -> dict[str, str]:
    """What hetlab and each of its commands say on --help, on a terminal of 80 columns."""
    import typer.main

    from hetlab.cli.app import app

    group: Any = typer.main.get_command(app)
    top = group.context_class(group, info_name="hetlab", terminal_width=78, **group.context_settings)
    found = {"hetlab": group.get_help(top)} | _usage_below(group, top)
    return {name: "\n".join(line.rstrip() for line in text.splitlines()) for name, text in found.items()}


def _usage_below(group: Any, above: Any) -> dict[str, str]:
    """The same of the commands of a command, and of theirs."""
    found: dict[str, str] = {}
    for name, command in group.commands.items():
        if command.hidden:
            continue
        context = command.context_class(command, info_name=name, parent=above, **command.context_settings)
        found[context.command_path] = command.get_help(context)
        if hasattr(command, "commands"):
            found |= _usage_below(command, context)
    return found
