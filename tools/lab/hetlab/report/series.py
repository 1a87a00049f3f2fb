# SPDX-License-Identifier: GPL-2.0
"""Series of runs, read from their directories."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hetlab.errors import LabError
from hetlab.plots import flows as flow_plots
from hetlab.plots import style, trace
from hetlab.plots.style import Floats
from hetlab.report.runs import Run
from hetlab.results import store

LONG_RUN_S = 20


# --------------------------------------------------------------------- plots


def _read(path: Path, names: Sequence[str]) -> dict[str, Floats]:
    """Columns of a table as numbers, NaN where there is none; empty without a table."""
    if not path.exists():
        return {name: np.empty(0) for name in names}
    table = _table(path)
    return {
        name: np.asarray(table[name].to_numpy(), dtype=np.float64)
        if name in table.column_names
        else np.full(table.num_rows, np.nan)
        for name in names
    }


def _table(path: Path) -> pa.Table:
    """A table; LabError naming the file where it is not one."""
    try:
        return pq.ParquetFile(path).read()
    except (OSError, ValueError) as err:
        raise LabError(f"{path}: not a table: {err}") from err


def read_flows(run: Run) -> list[flow_plots.Flow]:
    """The series of the TCP flows of a run."""
    samples = _read(run.directory / "flows.parquet", ("id", "t", "cwnd", "ssthresh", "srtt_us"))
    got = _read(run.directory / "received.parquet", ("id", "t", "bytes_received"))
    sc = run.result.scenario_resolved
    bin_s = 1.0 if sc.duration_s > LONG_RUN_S else 0.5
    ends = {f.name: f.end_s for f in run.result.flows}
    flows = []
    for flow in sc.flows:
        if flow.proto != "tcp":
            continue
        mine, came = samples["id"] == flow.id, got["id"] == flow.id
        t, octets = got["t"][came], got["bytes_received"][came]
        rate = flow_plots.binned_rate(t, octets, flow.start_s, ends.get(flow.name, sc.duration_s), bin_s)
        series = [samples[key][mine] for key in ("t", "cwnd", "ssthresh", "srtt_us")]
        flows.append(flow_plots.Flow(flow.name, flow.cc, series[0], series[1], series[2], series[3] / 1e3, rate))
    return flows


def read_capacity(run: Run, bin_s: float = 1.0) -> style.Series:
    """Ends of intervals (s) and capacity there (Mbit/s) of the trace of the bottleneck; empty if it plays none."""
    got = _read(run.directory / "capacity.parquet", ("t", "capacity_mbit"))
    together = max(round(bin_s / got["t"][0]), 1) if len(got["t"]) else 1
    whole = len(got["t"]) // together * together
    mbit = got["capacity_mbit"][:whole].reshape(-1, together).mean(axis=1)
    return got["t"][:whole].reshape(-1, together)[:, -1], mbit


def read_queue(run: Run) -> style.Series:
    """Times and lengths (packets) of the bottleneck queue of a run."""
    path = run.directory / "queue.parquet"
    link = run.result.queue.link
    if not path.exists() or link is None:
        return np.empty(0), np.empty(0)
    table = _table(path)
    mine = np.asarray(table["queue"].to_numpy() == link, dtype=bool)
    return table["t"].to_numpy()[mine], table["pkts"].to_numpy()[mine]


def read_delays(runs: Sequence[Run]) -> Floats:
    """One-way delays (ms) of all packets of some runs that arrived, steady part."""
    delays = [np.empty(0)]
    for run in runs:
        sc = run.result.scenario_resolved
        for src, dst in sc.owd_pairs:
            table = _read(run.directory / f"owd-{src}-{dst}.parquet", ("t", "owd_ms"))
            t, delay = table["t"], table["owd_ms"]
            inside = (t >= sc.measure.steady_from_s) & (t <= sc.duration_s)
            delays.append(delay[inside & ~np.isnan(delay)])
    return np.concatenate(delays)


def read_completions(runs: Sequence[Run]) -> dict[str, Floats]:
    """Completion times (s) of the items of each flow with a workload, all seeds together; of web its pages."""
    found: dict[str, Floats] = {}
    for flow in runs[0].result.scenario_resolved.flows if runs else ():
        if flow.workload is None:
            continue
        times = [np.empty(0)]
        for run in runs:
            table = store.series(run.directory, "items")
            chosen = zip(table.get("id", []), table.get("kind", []), table.get("time_s", []), strict=True)
            whole = [t for i, kind, t in chosen if i == flow.id and t is not None and kind != "object"]
            times.append(np.asarray(whole, dtype=np.float64))
        found[flow.name] = np.concatenate(times)
    return found


TRACE_COLUMNS = ("id", "t", "n_pkts", "level_us", "pkts_us", "cwnd", "competing", "n_op_pkts")


def read_trace(run: Run) -> tuple[list[trace.TracedFlow], float | None]:
    """What santacruz saw of the flows of a traced run, and its operating point (packets)."""
    seen = _read(run.directory / "trace.parquet", TRACE_COLUMNS)
    lost = _read(run.directory / "trace-loss.parquet", ("id", "t", "cwnd", "congestive"))
    seen["pkts_us"] = np.where(seen["pkts_us"] > 0, seen["pkts_us"], np.nan)
    sources = np.asarray(store.series(run.directory, "trace").get("source", []), dtype=str)
    samples = _read(run.directory / "flows.parquet", ("id", "t", "total_rto"))
    flows = []
    for flow in run.result.scenario_resolved.flows:
        mine, its = seen["id"] == flow.id, lost["id"] == flow.id
        if not mine.any():
            continue
        masks: dict[trace.Verdict, Any] = {
            "loss judged random": its & (lost["congestive"] == 0),
            "loss judged congestion": its & (lost["congestive"] > 0),
        }
        losses = {kind: (lost["t"][mask], lost["cwnd"][mask]) for kind, mask in masks.items()}
        own = samples["id"] == flow.id
        more = np.maximum(np.diff(samples["total_rto"][own], prepend=0), 0)
        timeouts_s = np.repeat(samples["t"][own], np.nan_to_num(more).astype(int))
        used = tuple(dict.fromkeys(sources[mine].tolist()))
        t, n_pkts, level_us, pkts_us, cwnd, mode = (seen[key][mine] for key in TRACE_COLUMNS[1:-1])
        flows.append(trace.TracedFlow(flow.name, used, t, n_pkts, level_us, pkts_us, cwnd, mode, losses, timeouts_s))
    return flows, float(seen["n_op_pkts"][-1]) if len(seen["t"]) else None
