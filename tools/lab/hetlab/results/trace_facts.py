# SPDX-License-Identifier: GPL-2.0
"""What a trace is like: means, percentiles, outages; and its values over time for a picture."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetlab.model import traces
from hetlab.model.trace import KINDS, NS, Table, Trace

Floats = npt.NDArray[np.float64]
OUTAGE_S = 0.2
UNITS = {"opportunities": "Mbit/s", "rate": "Mbit/s", "delay": "ms", "loss": "%"}
SCALE = {"rate": 1e-6, "delay": 1e-6, "loss": 100 / 2**32}
SAMPLE_S = 0.01


@dataclass(frozen=True)
class Facts:
    """A table in numbers; percentiles are of means over 1 s (of delay: of its values each 10 ms)."""

    kind: str
    unit: str
    duration_s: float
    entries: int
    mean: float
    p5: float
    p50: float
    p95: float
    low: float
    high: float
    outages: int | None = None
    outage_s: float | None = None
    longest_gap_s: float | None = None


def facts(trace: Trace) -> list[Facts]:
    """Of each table."""
    return [_facts(table) for table in sorted(trace.tables, key=lambda t: KINDS.index(t.kind))]


def _facts(table: Table) -> Facts:
    _t, values = over_time(table, 1.0 if table.kind in ("opportunities", "rate") else SAMPLE_S)
    p5, p50, p95 = (float(v) for v in np.percentile(values, [5, 50, 95]))
    capacity = table.kind in ("opportunities", "rate")
    mean = table.mean_mbit if capacity else traces.mean(table) * SCALE[table.kind]
    gaps = _gaps_s(table) if capacity else np.empty(0)
    long = gaps[gaps >= OUTAGE_S]
    return Facts(
        kind=table.kind,
        unit=UNITS[table.kind],
        duration_s=table.length_ns / NS,
        entries=len(table.t_ns),
        mean=mean,
        p5=p5,
        p50=p50,
        p95=p95,
        low=float(values.min()),
        high=float(values.max()),
        outages=len(long) if capacity else None,
        outage_s=float(long.sum()) if capacity else None,
        longest_gap_s=float(gaps.max(initial=0)) if capacity else None,
    )


def _gaps_s(table: Table) -> Floats:
    """Times without any capacity: between opportunities, the end of the period included; of a rate while it is 0."""
    t = np.asarray(table.t_ns, dtype=np.float64)
    if table.kind == "opportunities":
        found: Floats = np.diff(np.append(t, table.period_ns + t[0])) / NS
        return found
    ends = np.append(t[1:], table.length_ns)
    found = ((ends - t) / NS)[np.asarray(table.value) == 0]
    return found


def over_time(table: Table, bin_s: float) -> tuple[Floats, Floats]:
    """Ends of intervals (s) and the mean of each: of delay and loss the value at its begin. The last one is whole."""
    count = max(int(table.length_ns / NS / bin_s + 1e-9), 1)
    edges: Floats = np.arange(count + 1, dtype=np.float64) * bin_s
    if table.kind in ("opportunities", "rate"):
        return edges[1:], np.diff(_bits(table, edges)) / bin_s / 1e6
    at = np.searchsorted(np.asarray(table.t_ns), np.rint(edges[:-1] * NS).astype(np.uint64), side="right") - 1
    return edges[1:], np.asarray(table.value)[at] * SCALE[table.kind]


def _bits(table: Table, edges: Floats) -> Floats:
    """Bits until these times of one period, all at once."""
    t, value = np.asarray(table.t_ns, dtype=np.float64) / NS, np.asarray(table.value, dtype=np.float64)
    if table.kind == "opportunities":
        total = np.concatenate(([0.0], np.cumsum(value))) * 12_000
        found: Floats = total[np.searchsorted(t, edges + 1e-9, side="right")]
        return found
    ends = np.append(t[1:], max(edges[-1], t[-1]))
    total = np.concatenate(([0.0], np.cumsum(value * (ends - t))))
    found = np.interp(edges, np.append(t, ends[-1]), total)
    return found
