# SPDX-License-Identifier: GPL-2.0
"""hetlab qlog: the events of a flow, against the tables that they are made from."""

import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commands import Hetlab, Run

pytestmark = pytest.mark.virtual


def test_events_are_those_of_the_run(hetlab: Hetlab, run_json: Run, tmp_path: Path) -> None:
    """Every packet, every loss, and each window that is not that of the sample before."""
    run_json("bulk", "--cc", "reno", "--set", "duration_s=5", "--out", tmp_path)
    run = tmp_path / "bulk" / "reno" / "seed-1"
    target = tmp_path / "flow.qlog"
    assert hetlab("qlog", run, "--output", target).returncode == 0
    document = json.loads(target.read_text())
    assert document["qlog_version"] == "0.3" and "reno" in document["title"]
    events = document["traces"][0]["events"]
    assert [e["time"] for e in events] == sorted(e["time"] for e in events)
    packets = pq.read_table(run / "owd-s-d.parquet").to_pydict()
    sent = [e for e in events if e["name"] == "transport:packet_sent"]
    assert [e["time"] for e in sent] == [round(t * 1e3, 3) for t in packets["t"]]
    lost = sum(map(math.isnan, packets["owd_ms"]))
    assert sum(e["name"] == "recovery:packet_lost" for e in events) == lost > 0
    windows = pq.read_table(run / "flows.parquet").to_pydict()["cwnd"]
    changed = [w for i, w in enumerate(windows) if i == 0 or w != windows[i - 1]]
    told = [e["data"]["congestion_window"] for e in events if "congestion_window" in e["data"]]
    assert told == [1448 * w for w in changed]


@pytest.mark.parametrize(("words", "said"), [((), "no result of a run"), (("--flow", "x"), "no result of a run")])
def test_faults(hetlab: Hetlab, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = hetlab("qlog", tmp_path, *words)
    assert done.returncode == 2 and said in done.stderr


def test_packets_of_two_flows_are_not_told_apart(hetlab: Hetlab, run_json: Run, tmp_path: Path) -> None:
    """Windows of either, by its name, and no packets."""
    run_json("bulk", "--cc", "reno", "--set", "duration_s=3", "--set", "flow.main.count=2", "--out", tmp_path)
    run = tmp_path / "bulk" / "reno" / "seed-1"
    names = [flow["name"] for flow in json.loads((run / "result.json").read_text())["flows"]]
    done = hetlab("qlog", run, "--flow", names[1])
    found = {e["name"] for e in json.loads(done.stdout)["traces"][0]["events"]}
    assert found == {"recovery:metrics_updated"}
    assert f"no such TCP flow; there are: {', '.join(names)}" in hetlab("qlog", run, "--flow", "x").stderr
