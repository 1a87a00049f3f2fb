# SPDX-License-Identifier: GPL-2.0
"""A full queue that others keep is not a longer path; a link that was away for a moment is no full queue."""

from pathlib import Path

import pytest

from commands import Run, sets

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
def test_many_flows_behind_a_full_queue(run_json: Run, tmp_path: Path, cc: str) -> None:
    """Half of one window of twenty leaves the queue as it was: as a look at the path 5.0, 9.2 times Reno's drops."""
    many = {"flow.main.count": 20, "link.bottleneck.forward.queue_pkts": 200, "sweep": "{}", "duration_s": 25}
    runs = run_json("real_networks-many", "--cc", cc, "--cc", "reno", "--seed", "1", *sets(many), "--out", tmp_path)
    drops = {run["cc"]: run["queue"]["drops"] for run in runs}
    assert drops[cc] <= 3 * drops["reno"]


def test_a_link_that_was_away(run_json: Run, tmp_path: Path) -> None:
    """LEO of 150 Mbit/s from two starts: 125.4 Mbit/s in the mean while one round of heavy loss was congestion."""
    mbit = []
    for at_s in (8, 9):
        (tmp_path / "away.toml").write_text(AWAY.format(at_s=at_s))
        [found] = run_json(tmp_path / "away.toml", "--cc", "westwood_fr", "--seed", "1", "--out", tmp_path / str(at_s))
        mbit.append(found["flows"][0]["steady_goodput_mbit"])
    assert sum(mbit) / len(mbit) >= 130
