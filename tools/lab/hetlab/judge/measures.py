# SPDX-License-Identifier: GPL-2.0
"""Measures that a case judges by: numbers of a run, most of them of a part of its time.

Each takes a run and keywords that a case gives: ``flow``, the name of a flow or of its group (all TCP flows without);
``from_s`` and ``to_s``, seconds of the run. None where a run does not have the number.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hetlab.judge.seen import Floats, Seen, group_of

REACHED = 0.9
WINDOW_S = 0.5


Measure = Callable[..., float | None]
MEASURES: dict[str, tuple[Measure, str]] = {}


def measure(unit: str) -> Callable[[Measure], Measure]:
    """Register a measure by its name; its unit is for tables and axes."""

    def register(function: Measure) -> Measure:
        MEASURES[function.__name__] = (function, unit)
        return function

    return register


def keywords(name: str) -> dict[str, Any]:
    """Keywords that a measure takes, with their types."""
    parameters = list(inspect.signature(MEASURES[name][0]).parameters.values())[1:]
    return {p.name: p.annotation for p in parameters}


@measure("share of the link")
def util(run: Seen, flow: str | None = None, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Payload of TCP flows of what the bottleneck carries."""
    end = run.end_s if to_s is None else to_s
    capacity = run.capacity_megabits(from_s, end)
    return run.megabits(flow, from_s, end) / capacity if capacity else None


@measure("Mbit/s")
def goodput(run: Seen, flow: str | None = None, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Payload of TCP flows by time."""
    end = run.end_s if to_s is None else to_s
    return run.megabits(flow, from_s, end) / (end - from_s)


@measure("s")
def time(run: Seen, flow: str | None = None) -> float | None:
    """From connect() until all bytes of a transfer have been acknowledged; longest of several flows."""
    found = run.flows(flow)
    if not found or not all(f.complete for _i, f in found):
        return None
    return max(f.end_s - f.start_s for _i, f in found)


@measure("s")
def time_to(run: Seen, megabytes: float, flow: str | None = None) -> float | None:
    """From a flow's start until its receiver has this much."""
    ((number, result), *_more) = run.flows(flow)
    at = np.arange(result.start_s, run.end_s, 0.01)
    have = np.flatnonzero(run.octets(number, at) >= megabytes * 1e6)
    return float(at[have[0]] - result.start_s) if len(have) else None


@measure("s")
def reach(
    run: Seen,
    flow: str | None = None,
    from_s: float | None = None,
    share: float = REACHED,
    window_s: float = WINDOW_S,
) -> float | None:
    """Until the flows together get this share of the link, over a window that ends then."""
    begin = min((f.start_s for _i, f in run.flows(flow)), default=0.0) if from_s is None else from_s
    edges = np.arange(begin, run.end_s, window_s / 10)
    for end in edges[10:]:
        capacity = run.capacity_megabits(end - window_s, end)
        if capacity and run.megabits(flow, end - window_s, end) >= share * capacity:
            return float(end - begin)
    return None


def _of_queue(run: Seen, from_s: float, to_s: float | None, statistic: Callable[[Floats], Any]) -> float | None:
    times, lengths = run.queue
    chosen = lengths[(times >= from_s) & (times <= (run.end_s if to_s is None else to_s))]
    return float(statistic(chosen)) if len(chosen) else None


@measure("pkts")
def queue_p95(run: Seen, from_s: float = 0, to_s: float | None = None) -> float | None:
    """95th percentile of the length of the bottleneck's queue."""
    return _of_queue(run, from_s, to_s, lambda q: np.percentile(q, 95))


@measure("pkts")
def queue_mean(run: Seen, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Mean length of the bottleneck's queue."""
    return _of_queue(run, from_s, to_s, np.mean)


@measure("pkts")
def queue_max(run: Seen, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Largest length of the bottleneck's queue."""
    return _of_queue(run, from_s, to_s, np.max)


def _delay(run: Seen, key: str) -> float | None:
    return None if run.result.queueing_ms is None else float(getattr(run.result.queueing_ms, key))


@measure("ms")
def queueing_p50(run: Seen) -> float | None:
    """Median of the one-way delay above the path's own, steady part."""
    return _delay(run, "p50")


@measure("ms")
def queueing_p95(run: Seen) -> float | None:
    """95th percentile of the one-way delay above the path's own, steady part."""
    return _delay(run, "p95")


@measure("ms")
def queueing_p99(run: Seen) -> float | None:
    """99th percentile of the one-way delay above the path's own, steady part."""
    return _delay(run, "p99")


@measure("ms")
def srtt(run: Seen, flow: str | None = None, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Mean of the smoothed round trip times that the sender saw."""
    ids, t = [i for i, _f in run.flows(flow)], run.samples["t"].astype(float)
    mine = np.isin(run.samples["id"], ids) & (t >= from_s) & (t <= (run.end_s if to_s is None else to_s))
    values = run.samples["srtt_us"][mine].astype(float)
    return float(np.mean(values)) / 1e3 if len(values) else None


@measure("pkts")
def cwnd_end(run: Seen, flow: str | None = None, at_s: float = 0) -> float | None:
    """Congestion window of the last sample before a time."""
    ids, t = [i for i, _f in run.flows(flow)], run.samples["t"].astype(float)
    mine = np.flatnonzero(np.isin(run.samples["id"], ids) & (t <= at_s))
    return float(run.samples["cwnd"][mine[-1]]) if len(mine) else None


@measure("pkts")
def drops(run: Seen) -> float | None:
    """Packets that the bottleneck's queue dropped."""
    return run.result.queue.drops


@measure("%")
def drop_percent(run: Seen, flow: str | None = None) -> float | None:
    """The same of the segments that were sent; ``flow``: those that pass this queue, where others go the other way."""
    sent = sum(f.bytes_sent or 0 for _i, f in run.flows(flow)) / 1448
    dropped = run.result.queue.drops
    return None if dropped is None or not sent else 100 * dropped / sent


@measure("pkts")
def retransmits(run: Seen, flow: str | None = None) -> float | None:
    """Segments sent again."""
    return float(sum(f.retransmits or 0 for _i, f in run.flows(flow)))


@measure("%")
def retrans_percent(run: Seen, flow: str | None = None, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Payload sent again, of all that was sent between two times."""
    end = run.end_s if to_s is None else to_s
    sent = again = 0.0
    for number, _f in run.flows(flow):
        mine = run.samples["id"] == number
        t = run.samples["t"][mine].astype(float)
        if len(t):
            sent += np.diff(np.interp([from_s, end], t, run.samples["bytes_sent"][mine].astype(float)))[0]
            again += np.diff(np.interp([from_s, end], t, run.samples["bytes_retrans"][mine].astype(float)))[0]
    return float(100 * again / sent) if sent else None


@measure("%")
def udp_lost_percent(run: Seen, flow: str) -> float | None:
    """Packets of UDP flows of constant rate that did not arrive."""
    named = zip(run.result.scenario_resolved.flows, run.result.flows, strict=True)
    mine = [
        (f.rate_mbit, f.duration_s, r.goodput_mbit)
        for f, r in named
        if flow in (f.name, group_of(f.name)) and f.rate_mbit
    ]
    offered = sum(rate * duration for rate, duration, _got in mine)
    return 100 * (1 - sum(got * duration for _rate, duration, got in mine) / offered) if offered else None


@measure("s")
def completion(
    run: Seen,
    percentile: float,
    flow: str | None = None,
    from_s: float = 0,
    to_s: float | None = None,
    above_bytes: float = 0,
    below_bytes: float = np.inf,
) -> float | None:
    """Percentile of the time that items of workloads took which began between two times, by default in the first 0.9.

    None where that many were not whole at the end.
    """
    found = run.times(flow, from_s, 0.9 * run.end_s if to_s is None else to_s, above_bytes, below_bytes)
    if not len(found):
        return None
    value = float(np.percentile(found, percentile, method="higher"))
    return value if np.isfinite(value) else None


@measure("%")
def unfinished_percent(run: Seen, flow: str, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Items that never were whole: lost frames of UDP, transfers that did not end."""
    found = run.times(flow, from_s, 0.9 * run.end_s if to_s is None else to_s)
    return float(100 * np.mean(~np.isfinite(found))) if len(found) else None


@measure("")
def timeouts(run: Seen, flow: str | None = None) -> float | None:
    """Retransmission timeouts."""
    return float(sum(f.timeouts or 0 for _i, f in run.flows(flow)))


@measure("")
def jain(run: Seen, flow: str | None = None, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Jain's fairness index of the flows' goodput (Jain, Chiu, Hawe 1984)."""
    end = run.end_s if to_s is None else to_s
    got = np.array([run.megabits(f.name, from_s, end) for _i, f in run.flows(flow)])
    return float(got.sum() ** 2 / (len(got) * (got**2).sum())) if got.any() else None


@measure("of the fair share")
def share(run: Seen, flow: str, from_s: float = 0, to_s: float | None = None) -> float | None:
    """What the named flows get, each, of the mean of all TCP flows."""
    end = run.end_s if to_s is None else to_s
    total, mine = run.megabits(None, from_s, end), run.megabits(flow, from_s, end)
    each = total / len(run.flows())
    return mine / len(run.flows(flow)) / each if each and run.flows(flow) else None


@measure("%")
def load(run: Seen, flow: str, beside: str) -> float | None:
    """Share of the bytes delivered while both run that is the flow's (the C4 tests' load)."""
    both = [f for name in (flow, beside) for _i, f in run.flows(name)]
    if len(both) < 2:
        return None
    begin, end = max(f.start_s for f in both), min(f.end_s for f in both)
    mine, other = run.megabits(flow, begin, end), run.megabits(beside, begin, end)
    return 100 * mine / (mine + other) if mine + other else None


@measure("")
def ratio(run: Seen, flow: str, beside: str, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Goodput of one by that of the other, each the mean of its group."""
    end = run.end_s if to_s is None else to_s
    mine, other = (run.megabits(name, from_s, end) / max(len(run.flows(name)), 1) for name in (flow, beside))
    return mine / other if other else None


@measure("share of what it gets alone")
def harm(run: Seen, flow: str, of: str = "goodput", from_s: float = 0, to_s: float | None = None) -> float | None:
    """What the others cost a flow (Ware et al., HotNets 2019), from 0 to 1: of goodput, or of delay or time.

    Of goodput (x - y) / x, x what it gets alone, y what it gets here; of delay (smoothed round trip time) and of time
    (completion) (y - x) / y. Below 0: the flow gains.
    """
    here, alone = (
        _harmed(run, flow, of, from_s, to_s),
        [_harmed(a, flow, of, from_s, to_s) for a in run.alone.get(flow, [])],
    )
    had = [value for value in alone if value is not None]
    if here is None or not had:
        return None
    before = float(np.median(had))
    lost, whole = (before - here, before) if of == "goodput" else (here - before, here)
    return lost / whole if whole else None


def _harmed(run: Seen, flow: str, of: str, from_s: float, to_s: float | None) -> float | None:
    """What a flow may lose: goodput in Mbit/s, delay in ms, time in s."""
    if of == "time":
        return time(run, flow)
    return goodput(run, flow, from_s, to_s) if of == "goodput" else srtt(run, flow, from_s, to_s)


HARMS = ("goodput", "delay", "time")


def values(runs: Sequence[Seen], name: str, arguments: dict[str, Any]) -> list[float | None]:
    """A measure of each run."""
    return [MEASURES[name][0](run, **arguments) for run in runs]
