# SPDX-License-Identifier: GPL-2.0
"""A queue that others keep, or one of its own, is no longer path; a link that was away is no full queue."""

from pathlib import Path

import pytest

from commands import Run, both_ways, sets

pytestmark = pytest.mark.virtual
AWAY = """
base = "real_networks-leo"
title = "Half of all packets are lost for 100 ms with each handover, which come so many seconds after the begin"
duration_s = 40
sweep = {{}}
[link.bottleneck.forward]
jitter_ms = 3
[[event]]
at_s = {at_s}
every_s = 15
link = "bottleneck"
delay_ms = [28, 16, 35, 22]
[[event]]
at_s = {at_s}
every_s = 15
duration_s = 0.1
link = "bottleneck"
way = "forward"
loss_percent = 50
"""


@pytest.mark.parametrize("cc", ["westwood_fr", "westwood_gfr"])
@pytest.mark.parametrize(("flows", "queue_pkts", "most"), [(20, 60, 1.6), (20, 200, 3)])
def test_many_flows_behind_a_full_queue(
    run_json: Run, tmp_path: Path, cc: str, flows: int, queue_pkts: int, most: float
) -> None:
    """Times Reno's: 2.7 where delayed ACKs hid a queue of 60, behind 200 5.0, 9.2 where half a window was a look."""
    many = {"sweep": "{}", "duration_s": 25}
    many |= {"flow.main.count": flows, "link.bottleneck.forward.queue_pkts": queue_pkts}
    runs = run_json("real_networks-many", "--cc", cc, "--cc", "reno", "--seed", "1", *sets(many), "--out", tmp_path)
    drops = {run["cc"]: run["queue"]["drops"] for run in runs}
    assert drops[cc] <= most * drops["reno"]


def test_a_link_that_was_away(run_json: Run, tmp_path: Path) -> None:
    """LEO of 150 Mbit/s from two starts: 125.4 Mbit/s in the mean while one round of heavy loss was congestion."""
    mbit = []
    for at_s in (8, 9):
        (tmp_path / "away.toml").write_text(AWAY.format(at_s=at_s))
        [found] = run_json(tmp_path / "away.toml", "--cc", "westwood_fr", "--seed", "1", "--out", tmp_path / str(at_s))
        mbit.append(found["flows"][0]["steady_goodput_mbit"])
    assert sum(mbit) / len(mbit) >= 130


def test_a_queue_too_short_to_be_seen(run_json: Run, tmp_path: Path) -> None:
    """Two flows behind 0.6 ms of queue: a lower bound that each loss doubled dropped 16.5 times what Reno's do."""
    fast = both_ways(400, 10) | {f"link.{at}.forward.rate_mbit": 10000 for at in ("access", "exit")}
    fast |= {"link.bottleneck.forward.queue_pkts": 20, "flow.main.count": 2, "flow.main.start_jitter_s": 1}
    fast |= {"sweep": "{}", "duration_s": 15}
    runs = run_json("real_networks-many", "--cc", "westwood_fr", "--cc", "reno", *sets(fast), "--out", tmp_path)
    drops = {run["cc"]: run["queue"]["drops"] for run in runs}
    assert drops["westwood_fr"] <= 8 * drops["reno"]


def test_a_queue_of_its_own_that_comes_back(run_json: Run, tmp_path: Path) -> None:
    """After each probe it was looked at anew within some rounds: 0.87 of a link without loss, 0.97 can be had."""
    plain = both_ways(10, 25) | {"link.bottleneck.forward.queue_pkts": 417, "sweep": "{}"}
    plain |= {"duration_s": 30, "measure.steady_from_s": 5}
    [found] = run_json("any_link-alone", "--cc", "westwood_fr", "--seed", "1", *sets(plain), "--out", tmp_path)
    assert found["flows"][0]["steady_goodput_mbit"] >= 0.9 * 10


OUTAGE = """
base = "any_link-alone"
title = "Nothing arrives for a second that begins somewhere in the 18 rounds from a look at the path to the next"
duration_s = 16
sweep = { "event.0.at_s" = [9.0, 9.12, 9.24, 9.36, 9.42, 9.48, 9.54, 9.6, 9.72, 9.84, 9.96, 10.08, 10.2, 10.26, 10.32] }
[link.bottleneck]
forward = { rate_mbit = 10, delay_ms = 25, queue_pkts = 417 }
reverse = { rate_mbit = 10, delay_ms = 25 }
[[event]]
at_s = 9
duration_s = 1
link = "bottleneck"
loss_percent = 100
[measure]
steady_from_s = 12
"""


@pytest.mark.parametrize("cc", ["westwood_fr", "hybla_ext"])
def test_a_timeout_while_the_path_is_looked_at(run_json: Run, tmp_path: Path, cc: str) -> None:
    """The window that a probe holds is none to go on with: two of 15 outages left westwood_fr 1.6 of 10 Mbit/s."""
    (tmp_path / "outage.toml").write_text(OUTAGE)
    runs = run_json(tmp_path / "outage.toml", "--cc", cc, "--seed", "1", "--out", tmp_path)
    assert min(run["flows"][0]["steady_goodput_mbit"] for run in runs) >= 0.9 * 10
