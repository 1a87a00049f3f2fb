# SPDX-License-Identifier: GPL-2.0
"""Measures of what happens inside a run: states of BBR, a queue that drains or never does.

States are told by the gains in tcp_info, of version 1 (Linux) and 3 (the draft); without them, None.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hetlab.judge.measures import measure
from hetlab.judge.seen import Floats, Seen

Flags = npt.NDArray[np.bool_]
# By pacing gain and window gain; of probe_rtt Linux shows both as 1
STATES: dict[str, Callable[[Floats, Floats], Flags]] = {
    "startup": lambda pacing, window: pacing > 2,
    "drain": lambda pacing, window: (pacing <= 0.5) & (pacing > 0),
    "probe_up": lambda pacing, window: (pacing > 1.1) & (pacing < 2),
    "probe_down": lambda pacing, window: (pacing > 0.6) & (pacing < 0.95),
    "cruise": lambda pacing, window: np.isclose(pacing, 1, atol=0.02) & (window >= 1.9),
    "probe_rtt": lambda pacing, window: np.isclose(pacing, 1, atol=0.02) & (window <= 1.1),
}


def _of_bbr(run: Seen, flow: str | None, column: str) -> tuple[Floats, Floats]:
    """Times and values of the first flow's column; empty where its congestion control shows none."""
    found = run.flows(flow)
    if not found or column not in run.samples:
        return np.array([]), np.array([])
    mine = run.samples["id"] == found[0][0]
    values = np.array([np.nan if v is None else v for v in run.samples[column][mine].tolist()], float)
    known = ~np.isnan(values)
    return run.samples["t"][mine].astype(float)[known], values[known]


@measure("s")
def bbr_state(run: Seen, state: str, flow: str | None = None, from_s: float = 0) -> float | None:
    """When BBR was first seen in a state, from a time on: startup, drain, probe_up, probe_down, cruise, probe_rtt."""
    t, pacing = _of_bbr(run, flow, "cc_pacing_gain")
    _t, window = _of_bbr(run, flow, "cc_cwnd_gain")
    seen = t[STATES[state](pacing, window) & (t >= from_s)]
    return float(seen[0]) if len(seen) else None


@measure("Mbit/s")
def bbr_bw(run: Seen, at_s: float, flow: str | None = None) -> float | None:
    """BBR's estimate of the bottleneck's rate, of the last sample before a time."""
    t, bandwidth = _of_bbr(run, flow, "cc_bw_bps")
    before = np.flatnonzero(t <= at_s)
    return float(bandwidth[before[-1]]) / 1e6 if len(before) else None


@measure("s")
def drain_time(run: Seen, below_pkts: float, from_s: float = 0, to_s: float | None = None) -> float | None:
    """From the bottleneck queue's peak between two times until it is shorter than this."""
    times, lengths = run.queue
    window = np.flatnonzero((times >= from_s) & (times <= (run.end_s if to_s is None else to_s)))
    if not len(window):
        return None
    peak = window[np.argmax(lengths[window])]
    short = np.flatnonzero((times >= times[peak]) & (lengths < below_pkts))
    return float(times[short[0]] - times[peak]) if len(short) else None


@measure("s")
def queued_s(run: Seen, above_pkts: float, from_s: float = 0, to_s: float | None = None) -> float | None:
    """Longest time without a break in which the bottleneck's queue was longer than this: none saw the base delay."""
    times, lengths = run.queue
    end = run.end_s if to_s is None else to_s
    inside = (times >= from_s) & (times <= end)
    short = times[inside & (lengths <= above_pkts)]
    if not inside.any():
        return None
    return float(np.max(np.diff(np.concatenate(([from_s], short, [end])))))
