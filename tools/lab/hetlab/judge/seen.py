# SPDX-License-Identifier: GPL-2.0
"""A run as the measures see it: its result, and its series as arrays."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab.model.result import FlowResult, RunResult
from hetlab.results import store

Floats = npt.NDArray[np.float64]
Columns = dict[str, npt.NDArray[Any]]
# Of a packet of 1500 bytes what is left beside IP and TCP headers with timestamps
PAYLOAD_SHARE = 1448 / 1500


@dataclass(frozen=True)
class Seen:
    """A run with its series."""

    directory: Path
    result: RunResult
    alone: dict[str, list["Seen"]] = field(
        default_factory=dict, compare=False
    )  # by flow: runs of it without the others

    @property
    def end_s(self) -> float:
        """Length of the run."""
        return self.result.scenario_resolved.duration_s

    def flows(self, name: str | None = None) -> list[tuple[int, FlowResult]]:
        """TCP flows with their numbers; of a name, or of a group by the name without its number."""
        found = [(i, f) for i, f in enumerate(self.result.flows) if f.proto != "udp"]
        if name is None:
            return found
        return [(i, f) for i, f in found if name in (f.name, group_of(f.name))]

    @cached_property
    def _received(self) -> dict[str, Floats]:
        return {k: np.asarray(v, float) for k, v in store.series(self.directory, "received").items()}

    @cached_property
    def samples(self) -> Columns:
        """tcp_info of every flow over time."""
        return {k: np.asarray(v) for k, v in store.series(self.directory, "flows").items()}

    @cached_property
    def queue(self) -> tuple[Floats, Floats]:
        """Times and lengths of the bottleneck's queue, in packets."""
        all_ = store.series(self.directory, "queue")
        mine = np.asarray(all_.get("queue", []), object) == self.result.queue.link
        return np.asarray(all_.get("t", []), float)[mine], np.asarray(all_.get("pkts", []), float)[mine]

    def octets(self, flow: int, at_s: Floats) -> Floats:
        """In-order bytes that the receiver of a flow had at these times."""
        mine = self._received["id"] == flow
        times, values = self._received["t"][mine], self._received["bytes_received"][mine]
        start = self.result.flows[flow].start_s
        return np.interp(at_s, np.concatenate(([start], times)), np.concatenate(([0.0], values)))

    def megabits(self, name: str | None, from_s: float, to_s: float) -> float:
        """Payload that the receivers got between two times."""
        edges = np.array([from_s, to_s])
        return float(sum(np.diff(self.octets(i, edges))[0] for i, _f in self.flows(name)) * 8 / 1e6)

    def capacity_megabits(self, from_s: float, to_s: float) -> float | None:
        """Payload that the bottleneck could have carried between two times, its changes of rate counted."""
        way, sc = self.result.scenario_resolved.bottleneck, self.result.scenario_resolved
        link, _, name = (sc.measure.bottleneck or "").partition(".")
        if self.result.queue.capacity_mbit is not None:
            return self._traced_megabits(from_s, to_s) * PAYLOAD_SHARE
        if way is None or way.rate_mbit is None:
            return None
        steps = [(0.0, way.rate_mbit)]
        steps += [
            (c.at_s, c.rate_mbit) for c in sc.events if (c.link, c.way) == (link, name) and c.rate_mbit is not None
        ]
        ends = [t for t, _rate in steps[1:]] + [self.end_s]
        pieces = ((max(t, from_s), min(end, to_s), rate) for (t, rate), end in zip(steps, ends, strict=True))
        return sum(max(end - t, 0) * rate for t, end, rate in pieces) * PAYLOAD_SHARE

    @cached_property
    def _capacity(self) -> tuple[Floats, Floats]:
        """Of a trace: begins of equal intervals, and what it could have carried until then, in Mbit."""
        found = store.series(self.directory, "capacity")
        t, mbit = np.asarray(found["t"], float), np.asarray(found["capacity_mbit"], float)
        return np.append(t, 2 * t[-1] - t[-2]), np.concatenate(([0.0], np.cumsum(mbit * (t[1] - t[0]))))

    def _traced_megabits(self, from_s: float, to_s: float) -> float:
        return float(np.diff(np.interp([from_s, to_s], *self._capacity))[0])

    @cached_property
    def items(self) -> Columns:
        """Items of workloads."""
        return {k: np.asarray(v) for k, v in store.series(self.directory, "items").items()}

    def times(self, name: str | None, from_s: float, to_s: float, above: float = 0, below: float = np.inf) -> Floats:
        """How long items took that began between two times, by size; infinite where they were not whole at the end."""
        ids = [i for i, f in enumerate(self.result.flows) if name is None or name in (f.name, group_of(f.name))]
        if not self.items or not ids:
            return np.array([])
        of = self.items
        mine = np.isin(of["id"], ids) & (of["t"] >= from_s) & (of["t"] < to_s) & (of["kind"] != "object")
        mine &= (of["bytes"] >= above) & (of["bytes"] < below)
        return np.array([np.inf if v is None or np.isnan(v) else v for v in of["time_s"][mine].tolist()], float)


def group_of(name: str) -> str:
    """Name of a flow without its number: ``main`` of ``main-3``, ``web`` of ``web-12``."""
    return name.rstrip("0123456789").rstrip("-.")
