# SPDX-License-Identifier: GPL-2.0
"""The tables of a scenario file to a Scenario; every fault with its place, value and allowed range. Host only."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from hetlab.errors import LabError
from hetlab.model.limits import LIMITS
from hetlab.model.scenario import Scenario

ADAPTER = TypeAdapter(Scenario)
SAYS_ITS_VALUE = ("missing", "value_error")
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
    key = ".".join(str(part) for part in fault["loc"]) or "scenario"
    message = "there is no such key" if fault["type"] == UNKNOWN else fault["msg"].removeprefix("Value error, ")
    plain = not isinstance(fault["input"], dict)
    shown = f" = {fault['input']!r}" if plain and fault["type"] != "missing" else ""
    named = [part for part in fault["loc"] if isinstance(part, str)]
    said = "" if fault["type"] in SAYS_ITS_VALUE else _range_of(named[-1] if named else "")
    return f"{source}: {key}{shown}: {message}{said}"


def _range_of(name: str) -> str:
    if name not in LIMITS:
        return ""
    low, high = LIMITS[name]
    return f" (allowed range {low:g}..{high:g})"
