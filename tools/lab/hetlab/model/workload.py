# SPDX-License-Identifier: GPL-2.0
"""What a flow sends if it is not bulk: keys of workloads, which belong together, what flowgen is told of them."""

import itertools
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from hetlab.model import distribution
from hetlab.model.distribution import MOST_CHARACTERS, Distribution, Spelt
from hetlab.model.keys import Checked, Key, ModelError

SEGMENT_S, BUFFER_S = 4.0, 60.0
BYTES = (1, 1e12)
TIMES = (0, 1e6)
# Ranges of the values of distributions
RANGES: dict[str, tuple[float, float]] = {
    "size_bytes": BYTES,
    "think_s": TIMES,
    "objects": (1, 10_000),
    "busy_s": (1e-3, 1e6),
    "idle_s": TIMES,
    "arrivals_s": TIMES,
}
# Keys of each workload: those that it needs, those that it may have
NEEDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "requests": (("size_bytes",), ("think_s", "transfers")),
    "web": (("size_bytes", "objects"), ("think_s", "parallel", "transfers")),
    "onoff": (("busy_s", "idle_s"), ("transfers",)),
    "video": ((), ("ladder_mbit", "segment_s", "buffer_s", "abr", "transfers")),
    "messages": (("period_s", "size_bytes"), ("key_every", "key_factor", "transfers")),
    "replay": (("writes",), ()),
    "connections": (("size_bytes",), ("arrivals_s", "load_percent", "transfers")),
}
# Names of keys in flowgen
TOLD = {
    "size_bytes": "size",
    "think_s": "think",
    "objects": "objects",
    "parallel": "parallel",
    "busy_s": "on",
    "idle_s": "off",
    "ladder_mbit": "ladder",
    "segment_s": "segment",
    "buffer_s": "buffer",
    "abr": "abr",
    "period_s": "period",
    "key_every": "key_every",
    "key_factor": "key_factor",
    "writes": "writes",
    "arrivals_s": "arrivals",
    "transfers": "limit",
}


@dataclass(frozen=True, kw_only=True)
class Workload(Checked):
    """Keys of a flow that are about what the application does; docs/workloads.md."""

    workload: Annotated[
        Literal["requests", "web", "onoff", "video", "messages", "replay", "connections"] | None,
        Key("what the application does; none: bulk (tcp) or constant bit rate (udp)", sparse=True),
    ] = None
    size_bytes: Annotated[
        str | None, Spelt(), Key("distribution of sizes, in bytes, of responses, objects and so on", sparse=True)
    ] = None
    think_s: Annotated[
        str | None, Spelt(), Key("distribution of the time, in s, from a request to its response or page", sparse=True)
    ] = None
    objects: Annotated[str | None, Spelt(), Key("web: distribution of the objects of a page", sparse=True)] = None
    parallel: Annotated[int | None, Key("web: connections of a page; without: 6", low=1, high=256, sparse=True)] = None
    busy_s: Annotated[str | None, Spelt(), Key("onoff: distribution of the time, in s, that it sends", sparse=True)] = (
        None
    )
    idle_s: Annotated[
        str | None, Spelt(), Key("onoff: distribution of the time, in s, that it is silent", sparse=True)
    ] = None
    ladder_mbit: Annotated[
        tuple[float, ...] | None,
        Key("video: rates; without: 0.3, 0.75, 1.2, 1.85, 2.85, 4.3", low=0.001, high=100_000, sparse=True),
    ] = None
    segment_s: Annotated[float | None, Key("video: length of a segment; without: 4", low=0.1, high=60, sparse=True)] = (
        None
    )
    buffer_s: Annotated[
        float | None, Key("video: what the player holds at most; without: 60", low=1, high=3600, sparse=True)
    ] = None
    abr: Annotated[
        Literal["buffer", "throughput"] | None, Key("video: rule that chooses rates; without: buffer", sparse=True)
    ] = None
    period_s: Annotated[
        float | None, Key("messages: time from one to the next", low=0.0001, high=3600, sparse=True)
    ] = None
    key_every: Annotated[
        int | None, Key("messages: each so many-th is larger, from the first on", low=1, high=1_000_000, sparse=True)
    ] = None
    key_factor: Annotated[
        float | None, Key("messages: how many times larger; without: 10", low=1, high=1000, sparse=True)
    ] = None
    writes: Annotated[
        str | None, Spelt(), Key("replay: list of [t_s, bytes], or file:PATH with t_s,bytes a line", sparse=True)
    ] = None
    arrivals_s: Annotated[
        str | None, Spelt(), Key("connections: distribution of the time, in s, between two", sparse=True)
    ] = None
    transfers: Annotated[
        int | None,
        Key("it ends after so many responses, pages, segments or what it has", low=1, high=1_000_000_000, sparse=True),
    ] = None


def check(flow: Any) -> None:
    """Refuse keys of a flow that do not go together, and distributions that are none: ModelError."""
    given = {f.name for f in fields(Workload) if getattr(flow, f.name) is not None} - {"workload"}
    if getattr(flow, "load_percent", None) is not None:
        given.add("load_percent")
    if flow.workload is None:
        if given:
            raise ModelError(f"{sorted(given)[0]} needs a workload: one of {', '.join(NEEDS)}")
        return
    needed, allowed = NEEDS[flow.workload]
    if missing := [key for key in needed if key not in given]:
        raise ModelError(f"workload={flow.workload!r}: {missing[0]} is required")
    if alien := sorted(given - {*needed, *allowed}):
        raise ModelError(f"{alien[0]} does not apply to workload={flow.workload!r}: it has {_words(needed, allowed)}")
    _check_kind(flow, given)
    _check_values(flow)


def _words(needed: tuple[str, ...], allowed: tuple[str, ...]) -> str:
    return ", ".join((*needed, *allowed))


def _check_kind(flow: Any, given: set[str]) -> None:
    """What single workloads want."""
    if flow.proto != "tcp" and not (flow.proto == "udp" and flow.workload == "messages"):
        raise ModelError(f"workload={flow.workload!r} needs proto = 'tcp'")
    if flow.bytes is not None:
        raise ModelError("bytes does not apply to a workload: transfers does")
    if flow.proto == "udp" and (flow.rate_mbit is not None or flow.on_s or flow.off_s):
        raise ModelError("rate_mbit, on_s and off_s do not apply to workload='messages'")
    if flow.workload == "connections" and len(given & {"arrivals_s", "load_percent"}) != 1:
        raise ModelError("workload='connections' needs arrivals_s or load_percent, one of them")
    ladder = flow.ladder_mbit or (1,)
    if any(low >= high for low, high in itertools.pairwise(ladder)):
        raise ModelError(f"ladder_mbit={list(ladder)}: each rate must be above the one before")
    buffer_s, segment_s = flow.buffer_s or BUFFER_S, flow.segment_s or SEGMENT_S
    if buffer_s < 2 * segment_s:
        raise ModelError(f"buffer_s={buffer_s:g}: less than two segments of {segment_s:g} s")


def _check_values(flow: Any) -> None:
    """Distributions and lists that are not in files; those of files when the experiment is made."""
    for key in (*RANGES, "writes"):
        if len(getattr(flow, key) or "") > MOST_CHARACTERS:
            raise ModelError(f"{key}: {len(getattr(flow, key))} characters; at most {MOST_CHARACTERS}")
    for key, (low, high) in RANGES.items():
        text = getattr(flow, key)
        if text is not None and not text.startswith(distribution.FILE):
            distribution.parse(key, text, low, high)
    if flow.writes is not None and not flow.writes.startswith(distribution.FILE):
        distribution.check_writes("writes", flow.writes)


def with_files(flow: Any) -> dict[str, str]:
    """Keys that named a file, with its contents; LabError: file and line, or what check() finds."""
    found = {}
    for key in (*RANGES, "writes"):
        text = getattr(flow, key)
        if text is not None and text.startswith(distribution.FILE):
            found[key] = distribution.with_file(key, text, pairs=key == "writes")
    return found


def drawn(flow: Any, key: str) -> Distribution:
    """The distribution of a key that is given."""
    return distribution.parse(key, getattr(flow, key), *RANGES[key])


def told(flow: Any, end: Literal["sender", "receiver"], seed: int) -> dict[str, str]:
    """Keys and values of its workload that flowgen gets at an end of a flow; none of bulk."""
    if flow.workload is None:
        return {}
    if end == "receiver":
        return {"workload": flow.workload}
    values = {name: getattr(flow, key) for key, name in TOLD.items()}
    words = {name: _word(value) for name, value in values.items() if value is not None}
    return {"workload": flow.workload, "seed": str(seed), **words}


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(f"{one:g}" for one in value)
    return f"{value:.9g}" if isinstance(value, float) else str(value)
