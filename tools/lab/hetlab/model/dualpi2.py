# SPDX-License-Identifier: GPL-2.0
"""Options of the queue discipline dualpi2 (RFC 9332), spelt as tc-dualpi2(8) has them."""

import re
from collections.abc import Callable, Mapping

from hetlab.model.keys import ModelError

KIND = "dualpi2"
SINCE = "Linux 6.17"
TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)?")
UNIT_US = {None: 1, "us": 1, "ms": 1000, "s": 1_000_000}


def _time_us(text: str) -> int:
    found = TIME.fullmatch(text)
    return round(float(found[1]) * UNIT_US[found[2]]) if found else 0


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _mask(value: int) -> Callable[[str], int]:
    return lambda text: 0 if text else value


# What the kernel calls each, how its text is read, and largest value; 0 is a text that cannot be read
OPTIONS: Mapping[str, tuple[str, Callable[[str], int], int]] = {
    "target": ("target_us", _time_us, 10_000_000),
    "tupdate": ("tupdate_us", _time_us, 1_000_000),
    "step_thresh": ("step_us", _time_us, 4_000_000),
    "coupling_factor": ("coupling", _count, 255),
    "l4s_ect": ("ecn_mask", _mask(1), 3),
    "any_ect": ("ecn_mask", _mask(3), 3),
}


def wanted(options: Mapping[str, str | int | float]) -> dict[str, int]:
    """Options as the kernel has them: times in us; ModelError naming what cannot be."""
    found: dict[str, int] = {}
    for key, value in options.items():
        if key not in OPTIONS:
            raise ModelError(f"aqm_options: dualpi2 has no {key!r} here; there are: {', '.join(OPTIONS)}")
        name, read, high = OPTIONS[key]
        number = read(str(value))
        if not 1 <= number <= high:
            raise ModelError(f"aqm_options: dualpi2 {key} = {value!r}: {_allowed(name, high)}")
        if name in found:
            raise ModelError("aqm_options: dualpi2: give l4s_ect or any_ect, not both")
        found[name] = number
    return found


def _allowed(name: str, high: int) -> str:
    """What an option's value must be, in words."""
    if name == "ecn_mask":
        return 'a word without a value, ""'
    return f'a time such as "15ms", at most {high} us' if name.endswith("_us") else f"a whole number, 1..{high}"
