# SPDX-License-Identifier: GPL-2.0
"""The delay that a path has of its own: what a packet would need if it never waited."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab.model import traces
from hetlab.model.scenario import Experiment
from hetlab.model.trace import CAPACITY, Table
from hetlab.paths import TRACES

Floats = npt.NDArray[np.float64]


def own_delay_s(scenario: Experiment, src: str, dst: str, t_s: Floats, octets: npt.NDArray[Any]) -> Floats:
    """Propagation and transmission (s) of packets of these sizes that leave at these times.

    Of each link as it is at the packet's departure: events and traces change delay and rate. Jitter and slots count as
    waiting, and so does the wait for an opportunity, or for a rate that is 0.
    """
    total = np.zeros(len(t_s))
    for link, way in scenario.path(src, dst):
        direction = scenario.links[link].way(way)
        played = _tables(scenario, f"{link}.{way}")
        if "delay" in played:
            total += values_at(played["delay"], t_s) / 1e9
        else:
            total += _steps(scenario, link, way, "delay_ms", direction.delay_ms, t_s) / 1e3
        if "rate" in played:
            total += _transmission_s(octets, values_at(played["rate"], t_s) / 1e6)
        elif direction.rate_mbit is not None:
            total += _transmission_s(octets, _steps(scenario, link, way, "rate_mbit", direction.rate_mbit, t_s))
    return total


def _transmission_s(octets: npt.NDArray[Any], rate_mbit: Floats) -> Floats:
    """Of packets of these sizes at these rates; none where the rate is 0."""
    found: Floats = np.divide(octets * 8, rate_mbit, out=np.zeros(len(rate_mbit)), where=rate_mbit > 0) / 1e6
    return found


def _tables(scenario: Experiment, label: str) -> dict[str, Table]:
    """What a direction plays, by kind."""
    if label not in scenario.traces:
        return {}
    found = traces.load(str(TRACES / f"{scenario.traces[label].hash}{traces.SUFFIX}"))
    return {table.kind: table for table in found.tables}


def values_at(table: Table, t_s: Floats) -> Floats:
    """Values in force at times since the start of the run."""
    t_ns = np.rint(t_s * 1e9).astype(np.int64)
    inside = t_ns % table.period_ns if table.period_ns else t_ns
    at = np.searchsorted(np.asarray(table.t_ns), inside.astype(np.uint64), side="right") - 1
    found: Floats = np.asarray(table.value)[np.maximum(at, 0)].astype(np.float64)
    return found


def capacity_series(scenario: Experiment, label: str, bin_s: float) -> tuple[Floats, Floats]:
    """Capacity (Mbit/s) of what a direction plays, in intervals of the run: their ends (s) and values; empty: none."""
    played = _tables(scenario, label)
    table = next((played[kind] for kind in CAPACITY if kind in played), None)
    if table is None:
        return np.empty(0), np.empty(0)
    edges: Floats = np.arange(round(scenario.duration_s / bin_s) + 1, dtype=np.float64) * bin_s
    bits = np.array([table.bits(round(edge * 1e9)) for edge in edges], float)
    return edges[1:], np.diff(bits) / np.diff(edges) / 1e6


def _steps(scenario: Experiment, link: str, way: str, key: str, first: float, t_s: Floats) -> Floats:
    """A key of a direction at these times, with what events make of it."""
    changes = [c for c in scenario.events if (c.link, c.way) == (link, way) and getattr(c, key) is not None]
    values = np.array([first, *(getattr(c, key) for c in changes)], float)
    found: Floats = values[np.searchsorted([c.at_s for c in changes], t_s, side="right")]
    return found
