# SPDX-License-Identifier: GPL-2.0
"""The text of a trace to tables: pure functions.

Input is what ftrace prints of the events of include/hetcc/trace_santacruz.h. A
line that is not one of them is an error, so that no trace is incomplete.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hetlab.errors import LabError

Value = int | str
Read = Callable[[str], Value]

US_PER_S = 10**6
Q8 = 256.0
NS_PER_US = 1000.0

# comm-PID [CPU] flags seconds.microseconds: event: fields
LINE = re.compile(r"^\s*\S.*-\d+\s+\[\d+\]\s+\S+\s+(\d+)\.(\d{6}): (\w+): (.*)$")


def _whole(low: int, high: int) -> Read:
    """Reader of a whole number in a range."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d+", text) or not low <= int(text) <= high:
            raise ValueError(f"allowed range is {low}..{high}")
        return int(text)

    return read


def _word(*known: str) -> Read:
    """Reader of one of a few words."""

    def read(text: str) -> str:
        if text not in known:
            raise ValueError(f"known are {', '.join(known)}")
        return text

    return read


_S32, _U32 = _whole(-(2**31), 2**31 - 1), _whole(0, 2**32 - 1)
_HEAD: dict[str, Read] = {
    "family": _word("ipv4", "ipv6"),
    "sport": _whole(1, 65535),
    "dport": _whole(1, 65535),
    "n_q8_pkts": _S32,
}
_STATE: dict[str, Read] = {"cwnd_pkts": _U32, "grew": _whole(0, 2), "competing": _whole(0, 1)}
# Fields of every event, in order
FIELDS: dict[str, dict[str, Read]] = {
    "interval": _HEAD
    | {
        "level_us": _S32,
        "pkts_ns": _U32,
    }
    | _STATE
    | {
        "source": _word("rtt", "timestamps", "option"),
        "phase": _word("startup", "steady", "drain", "hold", "raise", "lower"),
    },
    "loss": _HEAD | _STATE | {"congestive": _whole(0, 1), "timeout": _whole(0, 1)},
}


@dataclass(frozen=True)
class Event:
    """One event; ``t_us``: CLOCK_MONOTONIC of the machine, microseconds."""

    t_us: int
    name: str
    fields: Mapping[str, Any]


def parse(text: str, where: str) -> list[Event]:
    """Events of a trace, in order; LabError names ``where``, line and fault."""
    events = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                events.append(_event(line))
            except ValueError as err:
                raise LabError(f"{where}: line {number}: {err}: {line.strip()}") from err
    return events


def _event(line: str) -> Event:
    match = LINE.match(line)
    if not match:
        raise ValueError("not an event")
    seconds, micros, name, rest = match.groups()
    if name not in FIELDS:
        raise ValueError(f"no event {name!r}; known are {', '.join(FIELDS)}")
    return Event(int(seconds) * US_PER_S + int(micros), name, _fields(FIELDS[name], rest.split()))


def _fields(known: Mapping[str, Read], words: Sequence[str]) -> dict[str, Value]:
    """Values of ``key=value`` words, which must be those expected, in their order."""
    pairs = [word.partition("=") for word in words]
    if [key for key, _is, _text in pairs] != list(known):
        raise ValueError(f"fields must be {' '.join(known)}")
    values = {}
    for key, _is, text in pairs:
        try:
            values[key] = known[key](text)
        except ValueError as err:
            raise ValueError(f"{key}={text}: {err}") from None
    return values


def intervals(events: Iterable[Event], ports: Mapping[int, int], t0_s: int, n_op_pkts: float) -> dict[str, list[Any]]:
    """Columns of trace.parquet; ``ports`` are the ids of the flows by destination port.

    Time since ``t0_s`` (seconds), queue n and operating point (packets), delay and pktS
    (microseconds), window (packets), the paper's count, competitive mode, source, phase.
    Events of other connections are left out.
    """
    mine = [e for e in events if e.name == "interval" and e.fields["dport"] in ports]
    return _common(mine, ports, t0_s) | {
        "level_us": [e.fields["level_us"] for e in mine],
        "pkts_us": [e.fields["pkts_ns"] / NS_PER_US for e in mine],
        "source": [e.fields["source"] for e in mine],
        "phase": [e.fields["phase"] for e in mine],
        "n_op_pkts": [n_op_pkts] * len(mine),
    }


def losses(events: Iterable[Event], ports: Mapping[int, int], t0_s: int) -> dict[str, list[Any]]:
    """Columns of trace-loss.parquet: as above, and the verdict."""
    mine = [e for e in events if e.name == "loss" and e.fields["dport"] in ports]
    return _common(mine, ports, t0_s) | {
        "congestive": [bool(e.fields["congestive"]) for e in mine],
        "timeout": [bool(e.fields["timeout"]) for e in mine],
    }


def _common(events: Sequence[Event], ports: Mapping[int, int], t0_s: int) -> dict[str, list[Any]]:
    return {
        "t": [(e.t_us - t0_s * US_PER_S) / US_PER_S for e in events],
        "id": [ports[e.fields["dport"]] for e in events],
        "n_pkts": [e.fields["n_q8_pkts"] / Q8 for e in events],
        "cwnd": [e.fields["cwnd_pkts"] for e in events],
        "grew": [e.fields["grew"] for e in events],
        "competing": [bool(e.fields["competing"]) for e in events],
    }
