# SPDX-License-Identifier: GPL-2.0
"""Series of a run for the scorecard: few enough points for a page of some megabytes."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from hetlab.judge.seen import Floats, Seen
from hetlab.results import store

POINTS, FEWEST_POINTS = 400, 50
PAGE_BYTES = 3_000_000  # of a page of 5 MB at most: drawings, tables and scripts take the rest
VALUE_BYTES = 6
FLOWS = 5
# Panels of a flow, those of tcp_info with column and factor
SAMPLED = {"cwnd": ("cwnd", 1.0), "srtt": ("srtt_us", 1e-3), "inflight": ("unacked", 1.0)}
PER_FLOW = ("goodput", *SAMPLED)
MARKS = 300
HELD = 3  # intervals that a sample stands for at most: after its end a flow has none
DIGITS = 4
PERCENTILES = np.concatenate([np.arange(0, 99, 2.0), np.arange(99, 100.05, 0.1)])


def points_for(runs: Iterable[Seen]) -> int:
    """Points of a curve on a page of these runs, so that it stays a page of some megabytes."""
    values = sum(2 + len(PER_FLOW) * min(len(run.flows()), FLOWS) for run in runs)
    return max(FEWEST_POINTS, min(POINTS, PAGE_BYTES // (VALUE_BYTES * max(values, 1))))


def curves(run: Seen, points: int) -> dict[str, Any]:
    """Goodput, window, round trip time, data in flight of the first flows, the queue, marks; one grid of time."""
    edges = np.linspace(0, run.end_s, points + 1)
    flows = run.flows()[:FLOWS]
    panels: dict[str, list[list[float | None]]] = {}
    panels["goodput"] = [plain(np.diff(run.octets(i, edges)) * 8 / 1e6 / np.diff(edges)) for i, _f in flows]
    for name, (column, factor) in SAMPLED.items():
        if column in run.samples:
            panels[name] = [plain(_held(run, i, column, edges) * factor) for i, _f in flows]
    panels["queue"] = [plain(_largest(*run.queue, edges))]
    middle, names = plain((edges[1:] + edges[:-1]) / 2), [f.name for _i, f in flows]
    return {"t": middle, "names": names, "panels": panels, "lost": _losses(run)}


def plain(values: Floats) -> list[float | None]:
    """For JSON: four digits, no NaN."""
    return [None if np.isnan(v) else float(f"{v:.{DIGITS}g}") for v in values]


def _held(run: Seen, flow: int, column: str, edges: Floats) -> Floats:
    """Last value of a flow's samples up to the end of each interval; NaN before the first and after the last."""
    mine = run.samples["id"] == flow
    t, values = run.samples["t"][mine].astype(float), run.samples[column][mine].astype(float)
    if not len(t):
        return np.full(len(edges) - 1, np.nan)
    at = np.searchsorted(t, edges[1:], side="right") - 1
    fresh = edges[1:] - t[np.maximum(at, 0)] <= HELD * max(
        edges[1] - edges[0], float(np.median(np.diff(t, prepend=t[0])))
    )
    return np.where((at >= 0) & fresh, values[np.maximum(at, 0)], np.nan)


def _largest(t: Floats, values: Floats, edges: Floats) -> Floats:
    """Largest value in each interval."""
    found = np.full(len(edges) - 1, np.nan)
    at = np.searchsorted(edges, t, side="right") - 1
    inside = (at >= 0) & (at < len(found))
    np.fmax.at(found, at[inside], values[inside])
    return found


def _losses(run: Seen) -> list[float | None]:
    """When the first flow's count of retransmissions grew."""
    flows = run.flows()
    if not flows or "total_retrans" not in run.samples:
        return []
    mine = run.samples["id"] == flows[0][0]
    t, total = run.samples["t"][mine].astype(float), run.samples["total_retrans"][mine].astype(float)
    return plain(t[1:][np.diff(total) > 0][:MARKS])


def delay_percentiles(runs: list[Seen]) -> list[float | None]:
    """Of the one-way delay above the smallest, over all packets of all seeds, for a distribution curve; in ms."""
    found = []
    for run in runs:
        for src, dst in run.result.scenario_resolved.owd_pairs:
            delay = np.asarray(store.series(run.directory, f"owd-{src}-{dst}").get("owd_ms", []), float)
            delay = delay[~np.isnan(delay)]
            if len(delay):
                found.append(delay - delay.min())
    return plain(np.percentile(np.concatenate(found), PERCENTILES)) if found else []
