# SPDX-License-Identifier: GPL-2.0
"""A handover to a longer path: known within seconds, begun anew, and how losses lay on the path before is forgotten."""

from pathlib import Path

import numpy as np
import pytest

from commands import Run
from hetlab.model.keys import from_plain
from hetlab.model.result import RunResult
from hetlab.results.store import run_dir, series

pytestmark = pytest.mark.virtual

# By satellite-leo: all lost for 100 ms at 15 and 45 s, then 60 ms and 70 ms instead of 40 ms and 45 ms
LONGER = {15: 60, 45: 70}
TOLD_MS = 2


@pytest.mark.parametrize(("cc", "start_s", "known_s"), [("hybla_ext", 3, 3), ("westwood_fr", 4, 5)])
def test_a_longer_path_is_known(run_json: Run, tmp_path: Path, cc: str, start_s: float, known_s: float) -> None:
    """hybla_ext took 40 ms for the path's still, and had 459 of 1160 packets at 53 s, where nothing waited.

    westwood_fr grew by a packet a round trip from the quarter of the window that the losses had left. At 53 s
    it has 894 to 931, begun at 3 to 6 s; begun at 1 and 2 s 450 and 351, as the new slow start overran the queue.
    """
    sets = ("--set", "duration_s=56", "--set", f"flow.main.start_s={start_s}")
    [found] = run_json("satellite-leo", "--cc", cc, "--seed", "1", *sets, "--out", tmp_path)
    seen = series(run_dir(tmp_path, from_plain(RunResult, found)), "flows")
    t = np.array(seen["t"])
    for at_s, rtt_ms in LONGER.items():
        known_ms = seen["cc_minrtt"][np.searchsorted(t, at_s + known_s)] / 1e3
        assert abs(known_ms - rtt_ms) <= TOLD_MS, f"from {at_s} s on"
    assert seen["cwnd"][np.searchsorted(t, 53)] > 700
