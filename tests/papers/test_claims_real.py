# SPDX-License-Identifier: GPL-2.0
"""Claims about real networks: what they make of given results."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from harness import claim, held, judge, run_of
from hetlab.claims import evaluate
from hetlab.claims.evidence import PACKET, PAYLOAD, Evidence, Floats, RunKey, plan
from papers.real_networks import claims as real

pytestmark = pytest.mark.fast


def test_cuts_of_the_window_after_signals() -> None:
    """Signals at 1.0 (with a second one 0.1 s later), cut by 0.4, and at 3.0, not cut at all."""
    t = np.arange(0, 4, 0.02)
    signals = np.searchsorted([0.999, 1.099, 2.999], t).astype(np.float64)
    cwnd = np.where((t >= 1.04) & (t < 2), 60.0, 100.0)
    assert real.cuts(t, cwnd, signals) == pytest.approx([0.4, 0])


def test_means_of_five_minutes() -> None:
    """After the first minute; less than half of a window at the end is left out."""
    t = np.arange(0, 3600, 0.5)
    values = np.where(t < 60, 99.0, (t - 60) // 300)
    assert real.window_means(t, values) == pytest.approx(range(12))
    assert len(real.window_means(t[t < 3500], values[t < 3500])) == 11


Columns = dict[str, dict[str, Floats]]


@dataclass
class Tables(Evidence):
    """Results with these series, by table and column."""

    series_of: Columns = field(default_factory=dict)

    def series(self, need: RunKey, table: str, column: str, since_s: float = 0) -> Floats:
        columns = self.series_of[table]
        return columns[column][columns["t"] >= since_s]


def judged(name: str, tmp_path: Path, duration_s: float, tables: Columns, drops: int = 0) -> bool:
    """Whether a claim holds when all its runs have these series."""
    chosen = claim(name)
    evidence = Tables(tmp_path, series_of=tables)
    result = {"queue": {"drops": drops, "steady_mean_pkts": 3}, "flows": [{"goodput_mbit": 9}]}
    jobs = plan(chosen.needs, evidence)
    runs = [run_of(replace(job, scenario=replace(job.scenario, duration_s=duration_s)), result) for job in jobs]
    evidence.runs = dict(zip(chosen.needs, runs, strict=True))
    return held(evaluate.judge([chosen], evidence)[0])


def received(mbit: Floats) -> dict[str, Floats]:
    """What a flow with this share of the link's rate in each second has received."""
    octets = np.cumsum(mbit) * 1e6 / 8 * PAYLOAD / PACKET
    return {"t": np.arange(len(mbit) + 1.0), "bytes_received": np.append(0.0, octets)}


@pytest.mark.parametrize(
    ("slow_second", "late_ms", "drops", "holds"),
    [(9, 5, 0, True), (10, 5, 0, False), (29, 5, 0, False), (9, 5.1, 0, False), (9, 5, 1, False)],
)
def test_thresholds_of_filling(tmp_path: Path, slow_second: int, late_ms: float, drops: int, holds: bool) -> None:
    mbit = np.full(30, 91.0)
    mbit[slow_second] = 89
    owd_ms = np.where(np.arange(3000) % 10 == 0, 100 + late_ms, 100.0)
    owd = {"t": np.arange(0, 30, 0.01), "owd_ms": owd_ms}
    assert judged("real_networks-long", tmp_path, 30, {"received": received(mbit), "owd-s-d": owd}, drops) is holds


@pytest.mark.parametrize(("share", "queue", "holds"), [(0.86, 6, True), (0.84, 6, False), (0.86, 6.1, False)])
def test_thresholds_of_handovers(tmp_path: Path, share: float, queue: float, holds: bool) -> None:
    """One period out of eight with this share, one with this queue; 5 s after a step it may be anything."""
    mbit = np.full(120, 19.0)
    mbit[30:45] = 20 * share
    t = np.arange(0, 120, 0.1)
    pkts = np.where(t % 15 < 4.95, 60.0, np.where((t >= 60) & (t < 75), queue, 3.0))
    tables = {"received": received(mbit), "queue": {"t": t, "pkts": pkts}}
    assert judged("real_networks-handover", tmp_path, 120, tables) is holds


@pytest.mark.parametrize(("queue", "error", "holds"), [(0.4, 0, True), (0.6, 0, False), (0, 0.6, False)])
def test_thresholds_of_drift(tmp_path: Path, queue: float, error: float, holds: bool) -> None:
    """In the middle of the hour the queue, or the estimate's error, is off by so much."""
    t = np.arange(0, 3600, 1.0)
    middle = (t > 1000) & (t < 2600)
    pkts = np.where(middle, 3 + queue, 3.0)
    own = pkts + np.where(middle, error, 0.0) - 0.5
    tables = {"queue": {"t": t, "pkts": pkts}, "trace": {"t": t, "n_pkts": own}}
    assert judged("real_networks-drift", tmp_path, 3600, tables) is holds


def verdict(name: str, tmp_path: Path, **values: object) -> bool:
    """Whether a claim holds when all its runs have these results."""
    return held(judge(name, tmp_path, lambda _job: values))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("real_networks-rates", {"goodput_mbit": 96}, {"goodput_mbit": 86}),
        ("real_networks-versus", {"steady_goodput_mbit": 0.4}, {"steady_goodput_mbit": 0.3}),
        ("real_networks-share-rtt", {"steady_goodput_mbit": 2.1}, {"steady_goodput_mbit": 1.9}),
    ],
)
def test_thresholds_of_shares(tmp_path: Path, name: str, good: dict[str, float], bad: dict[str, float]) -> None:
    for values, holds in ((good, True), (bad, False)):
        assert verdict(name, tmp_path, flows=[values, values], owd_ms={"mean": 20}) is holds


@pytest.mark.parametrize(("jain", "queue", "holds"), [(0.95, 60, True), (0.949, 60, False), (0.99, 91, False)])
def test_threshold_of_fairness(tmp_path: Path, jain: float, queue: float, holds: bool) -> None:
    flows = [{"steady_goodput_mbit": 2.4}] * 20
    assert (
        verdict("real_networks-share-20", tmp_path, flows=flows, jain_steady=jain, queue={"steady_mean_pkts": queue})
        is holds
    )


@pytest.mark.parametrize(("goodput", "queue", "holds"), [(16.5, 3.0, True), (15.8, 3.0, False), (16.5, 4.6, False)])
def test_thresholds_of_loss(tmp_path: Path, goodput: float, queue: float, holds: bool) -> None:
    values = {"flows": [{"goodput_mbit": goodput}], "queue": {"steady_mean_pkts": queue}}
    assert verdict("real_networks-loss", tmp_path, **values) is holds
