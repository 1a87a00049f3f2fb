# SPDX-License-Identifier: GPL-2.0
"""Delays from captures."""

from dataclasses import replace

import numpy as np
import pytest

from hetlab.model.event import Change
from hetlab.model.flow import Flow
from hetlab.model.job import Job
from hetlab.model.link import Direction, Link
from hetlab.model.scenario import Experiment, Measure
from hetlab.results import metrics

pytestmark = pytest.mark.fast

PORT = 5001


def packets(*rows: tuple[float, int, int]) -> metrics.Array:
    """Data packets: time (ms), sequence number, IP identification."""
    found = np.zeros(len(rows), metrics.CAP_DTYPE)
    for packet, (t_ms, seq, ident) in zip(found, rows, strict=True):
        packet["t_ns"], packet["seq"], packet["ipid"] = t_ms * 1e6, seq, ident
        packet["dport"], packet["payload"], packet["wire"], packet["ipver"] = PORT, 948, 1000, 4
    return found


def raw(tx: metrics.Array, rx: metrics.Array) -> metrics.Raw:
    flow = Flow(src="s", dst="d", id=0, name="main", port=PORT, duration_s=1)
    scenario = Experiment(name="x", hosts=("s", "d"), duration_s=1, links={}, flows=(flow,), measure=Measure())
    captures = {"s-d.tx": tx, "s-d.rx": rx}
    job = Job(scenario=scenario, cc="reno", dir="")
    return metrics.Raw(job, {}, [], np.empty(0, metrics.QUEUE_DTYPE), [], captures)


def test_a_lost_packet_waits_for_its_retransmission() -> None:
    """The first copy of 2000 is lost; 3000 never arrives; the second copy of 1000 was needless."""
    tx = packets((0, 1000, 1), (1, 2000, 2), (2, 3000, 3), (50, 2000, 4), (51, 1000, 5))
    rx = packets((10, 1000, 1), (60, 2000, 4), (61, 1000, 5))
    t, delay = metrics.owd_series(raw(tx, rx), "s", "d")
    assert t.tolist() == pytest.approx([0, 0.001, 0.002, 0.05, 0.051])
    assert delay.tolist() == pytest.approx([0.01, np.nan, np.nan, 0.01, 0.01], nan_ok=True)
    t, delay = metrics.delivery_series(raw(tx, rx), "s", "d")
    assert t.tolist() == pytest.approx([0, 0.001, 0.002])
    assert delay.tolist() == pytest.approx([0.01, 0.059, np.nan], nan_ok=True)


def test_delay_before_the_point_of_departure_counts() -> None:
    """A host's link of 5 ms: the packet is seen leaving when these are over."""
    seen = raw(packets((5, 1000, 1)), packets((15, 1000, 1)))
    seen.meta["departed_ms"] = {"s-d": 5.0}
    for series in (metrics.owd_series, metrics.delivery_series):
        assert [v.tolist() for v in series(seen, "s", "d")] == [[0.0], pytest.approx([0.015])]
    assert seen.captures["s-d.tx"]["t_ns"].tolist() == [5_000_000]


def test_queueing_is_above_the_delay_of_the_path_as_it_is() -> None:
    """10 ms and 8 Mbit/s, 1000 bytes: 11 ms; from 0.5 s on 30 ms and 4 Mbit/s: 32 ms; what is more was waiting."""
    seen = raw(
        packets((0, 1000, 1), (400, 2000, 2), (600, 3000, 3)), packets((11, 1000, 1), (416, 2000, 2), (632, 3000, 3))
    )
    wire = Link(ends=("s", "d"), forward=Direction(rate_mbit=8, delay_ms=10), reverse=Direction())
    moved = Change(at_s=0.5, link="wire", way="forward", delay_ms=30, rate_mbit=4)
    back = Change(at_s=0.1, link="wire", way="reverse", delay_ms=99)
    scenario = replace(seen.scenario, links={"wire": wire}, events=(back, moved))
    seen = replace(seen, job=replace(seen.job, scenario=scenario))
    _t, waited = metrics.queueing_series(seen, "s", "d")
    assert waited.tolist() == pytest.approx([0, 0.005, 0])


def test_nothing_recorded_is_no_delay() -> None:
    bare = raw(packets(), packets())
    bare.captures.clear()
    assert [len(column) for column in metrics.delivery_series(bare, "s", "d")] == [0, 0]
