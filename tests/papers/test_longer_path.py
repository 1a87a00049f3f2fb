# SPDX-License-Identifier: GPL-2.0
"""A handover to a longer path: known within seconds, begun anew, and how losses lay on the path before is forgotten."""

from pathlib import Path

import numpy as np
import pytest

from commands import Run, both_ways, sets
from hetlab.model.keys import from_plain
from hetlab.model.result import RunResult
from hetlab.results.store import run_dir, series

pytestmark = pytest.mark.virtual
FORTH = "link.bottleneck.forward"

# By satellite-leo: all lost for 100 ms at 15 and 45 s, then 60 ms and 70 ms instead of 40 ms and 45 ms
LONGER = {15: 60, 45: 70}
TOLD_MS = 2


@pytest.mark.parametrize(("cc", "start_s", "known_s"), [("hybla_ext", 3, 3), ("westwood_fr", 4, 7)])
def test_a_longer_path_is_known(run_json: Run, tmp_path: Path, cc: str, start_s: float, known_s: float) -> None:
    """hybla_ext took 40 ms for the path's still, and had 459 of 1160 packets at 53 s, where nothing waited.

    westwood_fr grew by a packet a round trip from the quarter of the window that the losses had left. At 53 s it
    has 897, 890, 478, 762, begun at 3, 4, 5, 6 s, and knows the path 3, 6, 5, 7 s after the handover. Begun at 4 s it
    was less than 5 s while a cut by losses that lie as a full queue's was a look at the path, too.
    """
    sets = ("--set", "duration_s=56", "--set", f"flow.main.start_s={start_s}")
    [found] = run_json("satellite-leo", "--cc", cc, "--seed", "1", *sets, "--out", tmp_path)
    seen = series(run_dir(tmp_path, from_plain(RunResult, found)), "flows")
    t = np.array(seen["t"])
    for at_s, rtt_ms in LONGER.items():
        known_ms = seen["cc_minrtt"][np.searchsorted(t, at_s + known_s)] / 1e3
        assert abs(known_ms - rtt_ms) <= TOLD_MS, f"from {at_s} s on"
    assert seen["cwnd"][np.searchsorted(t, 53)] > 700


@pytest.mark.parametrize(
    ("rate_mbit", "delay_ms", "later_ms", "jitter_ms"),
    [(8, 25, 31, 1.5), (30, 15, 18, 0)],
    ids=["8 Mbit/s (0.61)", "30 Mbit/s (0.38)"],
)
def test_a_step_shorter_than_the_operating_point_is_known_after_two_drains(
    run_json: Run, tmp_path: Path, rate_mbit: int, delay_ms: int, later_ms: int, jitter_ms: float
) -> None:
    """tcp_santacruz: what two drains leave alike is the path's, however little. In brackets what was reached before."""
    link = both_ways(rate_mbit, delay_ms) | {f"{FORTH}.jitter_ms": jitter_ms, f"{FORTH}.jitter_in_order": "true"}
    link |= {"sweep": "{}", "event.0.delay_ms": later_ms, "measure.steady_from_s": 30}
    [found] = run_json("real_networks-delay-step", "--cc", "santacruz", "--seed", "1", *sets(link), "--out", tmp_path)
    [flow] = found["flows"]
    assert flow["steady_goodput_mbit"] >= 0.9 * rate_mbit


def test_own_packets_that_a_drain_leaves_are_no_path(run_json: Run, tmp_path: Path) -> None:
    """tcp_santacruz: the fewest packets of a drain wait for each other; taken for the path's that adds one (4.3)."""
    # A pipe of a fifth of a packet, a queue of 100
    link = both_ways(0.5, 2.5) | {f"{FORTH}.queue_bdp": 480, "duration_s": 100}
    [found] = run_json("real_networks-long", "--cc", "santacruz", "--seed", "1", *sets(link), "--out", tmp_path)
    assert found["queue"]["steady_mean_pkts"] <= 3.6
