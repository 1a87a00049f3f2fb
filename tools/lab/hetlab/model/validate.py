# SPDX-License-Identifier: GPL-2.0
"""The tables of a scenario file to a Scenario; every fault with its place, value and allowed range. Host only."""

from dataclasses import is_dataclass
from types import NoneType
from typing import Any, cast, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from hetlab.errors import LabError, meant
from hetlab.model.keys import alternatives, keys_of
from hetlab.model.limits import LIMITS
from hetlab.model.scenario import Scenario

ADAPTER = TypeAdapter(Scenario)
SAYS_ITS_VALUE = ("missing", "value_error")
NO_LIST = ("tuple_type", "list_type")
UNKNOWN = "unexpected_keyword_argument"


def validate(data: dict[str, Any], source: str) -> Scenario:
    """Tables as TOML gives them; LabError with a line for each fault."""
    try:
        return ADAPTER.validate_python(data)
    except ValidationError as err:
        raise LabError(explain(err, source)) from err


def explain(err: ValidationError, source: str) -> str:
    """Every fault of a scenario: file, key, value, allowed range."""
    return "\n".join(_line(fault, source) for fault in err.errors())


def _line(fault: Any, source: str) -> str:
    key = ".".join(str(part) for part in fault["loc"])
    message = _message(fault)
    plain = not isinstance(fault["input"], dict)
    shown = f" = {fault['input']!r}" if plain and fault["type"] != "missing" else ""
    named = [part for part in fault["loc"] if isinstance(part, str)]
    said = "" if fault["type"] in (*SAYS_ITS_VALUE, UNKNOWN) else _range_of(named[-1] if named else "")
    return ": ".join(filter(None, (source, f"{key}{shown}" if key else "", f"{message}{said}")))


def _message(fault: Any) -> str:
    if fault["type"] == UNKNOWN:
        return _unknown(fault["loc"])
    if fault["type"] in NO_LIST:
        return "must be a list, e.g. [1, 2, 3]"
    return "is required" if fault["type"] == "missing" else fault["msg"].removeprefix("Value error, ")


def _unknown(place: tuple[str | int, ...]) -> str:
    """That there is no such key, and which one may be meant."""
    kind: Any = Scenario
    for part in place[:-1]:
        kind = _inside(kind, part)
    known = [name for name, _hint, _key in keys_of(cast("type", kind))] if is_dataclass(kind) else []
    return "there is no such key" + meant(str(place[-1]), known)


def _inside(kind: Any, part: str | int) -> Any:
    """Type of what is below a key of a class, a name in a table or a number in a list."""
    if is_dataclass(kind):
        kind = next((hint for name, hint, _key in keys_of(cast("type", kind)) if name == part), None)
    elif get_args(kind):
        kind = get_args(kind)[-1 if get_origin(kind) is dict else 0]
    return next((k for k in alternatives(kind) if k is not NoneType), None)


def _range_of(name: str) -> str:
    if name not in LIMITS:
        return ""
    low, high = LIMITS[name]
    return f" (allowed range {low:.12g}..{high:.12g})"
