# SPDX-License-Identifier: GPL-2.0
"""Completion times of the items of workloads, pages, and what a video's player does: pure functions over records.

An item begins when its sender begins to write it; a message or a write of a replay when it is due; a page and a
transfer on a connection of its own when connect() is called. It is complete when the receiver has all its bytes.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hetlab.model.flow import Flow
from hetlab.model.result import CompletionResult, VideoResult
from hetlab.model.workload import SEGMENT_S

SMALL_BYTES, LARGE_BYTES = 10_000, 1_000_000
COLUMNS = ("id", "kind", "conn", "n", "page", "t", "bytes", "rate_mbit", "time_s")
Record = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """Something that was sent whole or in part; ``time_s``: how long it took, None: it never was complete."""

    kind: str
    conn: int | None
    n: int
    page: int | None
    t: float
    bytes: int
    rate_mbit: float | None
    time_s: float | None


def on_one_clock(record: Record, ahead_s: float) -> Record:
    """A record about items with its time since the run's start; hosts begin so much later than it, each its own."""
    if ahead_s and record["type"] in ("item", "page", "done"):
        record["t"] = round(record["t"] + ahead_s, 6)
    return record


def items(records: Sequence[Record], flow: Flow) -> list[Item]:
    """Items of a flow, in the order in which they were begun."""
    mine = [record for record in records if record.get("id") == flow.id]
    done = {(r["conn"], r["n"]): r for r in mine if r["type"] == "done"}
    begun = sorted((r for r in mine if r["type"] == "item"), key=lambda r: (r["t"], r["conn"], r["n"]))
    return [_item(r, done.get((r["conn"], r["n"]))) for r in begun]


def _item(begun: Record, done: Record | None) -> Item:
    """On-off periods are as large as they became."""
    octets: int = (done or begun).get("bytes") or begun["bytes"]
    time_s = round(done["t"] - begun["t"], 6) if done else None
    return Item(
        kind=begun["kind"],
        conn=begun["conn"],
        n=begun["n"],
        page=begun.get("page"),
        t=begun["t"],
        bytes=octets,
        rate_mbit=begun.get("rate_mbit"),
        time_s=time_s,
    )


def pages(records: Sequence[Record], flow: Flow, objects: Iterable[Item]) -> list[Item]:
    """Pages of a flow: complete with the last of their objects."""
    by_page: dict[int | None, list[Item]] = {}
    for item in objects:
        by_page.setdefault(item.page, []).append(item)
    found = [r for r in records if r["type"] == "page" and r.get("id") == flow.id]
    return [_page(r, by_page.get(r["n"], [])) for r in found]


def _page(begun: Record, objects: list[Item]) -> Item:
    ends = [item.t + item.time_s for item in objects if item.time_s is not None]
    time_s = round(max(ends) - begun["t"], 6) if len(ends) == begun["objects"] else None
    return Item("page", None, begun["n"], begun["n"], begun["t"], sum(i.bytes for i in objects), None, time_s)


def judged(records: Sequence[Record], flow: Flow) -> list[Item]:
    """What completion is about: pages of web, else items."""
    found = items(records, flow)
    return pages(records, flow, found) if flow.workload == "web" else found


def completion(found: Sequence[Item]) -> CompletionResult | None:
    """Statistics of completion times; None if nothing was begun."""
    if not found:
        return None
    whole = [item for item in found if item.time_s is not None]
    times = [item.time_s for item in whole]
    small = [item.time_s for item in whole if item.bytes < SMALL_BYTES]
    large = [item.time_s for item in whole if item.bytes >= LARGE_BYTES]
    medium = [item.time_s for item in whole if SMALL_BYTES <= item.bytes < LARGE_BYTES]
    return CompletionResult(
        kind=found[0].kind,
        n=len(found),
        done=len(whole),
        bytes=sum(item.bytes for item in whole),
        mean_s=round(float(np.mean(np.asarray(times, dtype=np.float64))), 6) if times else None,
        p50_s=_percentile(times, 50),
        p95_s=_percentile(times, 95),
        p99_s=_percentile(times, 99),
        max_s=_percentile(times, 100),
        small_p95_s=_percentile(small, 95),
        medium_p95_s=_percentile(medium, 95),
        large_p95_s=_percentile(large, 95),
    )


def _percentile(times: Sequence[float | None], percent: float) -> float | None:
    return round(float(np.percentile(np.asarray(times, dtype=np.float64), percent)), 6) if times else None


def video(found: Sequence[Item], flow: Flow) -> VideoResult:
    """Stalls of a player that begins, and goes on, as soon as one segment is there; until the flow's end."""
    start_s, until_s, segment_s = flow.start_s, flow.start_s + flow.duration_s, flow.segment_s or SEGMENT_S
    got = [(item.t + item.time_s, item) for item in found if item.time_s is not None]
    rates = [item.rate_mbit for _t, item in got if item.rate_mbit is not None]
    stalls, stalled_s, empty_at = 0, 0.0, None
    for t, _item_got in got:
        if empty_at is not None and t > empty_at:
            stalls, stalled_s = stalls + 1, stalled_s + t - empty_at
        empty_at = max(t, empty_at or t) + segment_s
    if empty_at is not None and len(got) < len(found) and until_s > empty_at:
        stalls, stalled_s = stalls + 1, stalled_s + until_s - empty_at
    return VideoResult(
        startup_s=round(got[0][0] - start_s, 6) if got else None,
        stalls=stalls,
        stalled_s=round(stalled_s, 6),
        rate_mbit=round(float(np.mean(rates)), 6) if rates else None,
        switches=sum(a != b for a, b in itertools.pairwise(rates)),
    )


def table(records: Sequence[Record], flows: Iterable[Flow]) -> dict[str, list[Any]]:
    """Columns of items.parquet: every item, and every page, of all flows."""
    rows = []
    for flow in flows:
        if flow.workload is None:
            continue
        found = items(records, flow)
        extra = pages(records, flow, found) if flow.workload == "web" else []
        rows += [{"id": flow.id, **vars(item)} for item in (*found, *extra)]
    return {name: [row[name] for row in rows] for name in COLUMNS}
