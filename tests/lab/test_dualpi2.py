# SPDX-License-Identifier: GPL-2.0
"""DualPI2 of Linux 7.2: options reach the kernel, its two queues do what RFC 9332 says, a case is judged by it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Hetlab, Run
from hetlab.results.store import series as table

pytestmark = pytest.mark.series
SCENARIO = """
base = "bulk"
duration_s = 12
hosts = ["s", "d", "s2", "d2"]
[link.bottleneck]
forward = {{ rate_mbit = 50, delay_ms = 10, queue_bdp = 10, aqm = "dualpi2", aqm_options = {{ {options} }} {more} }}
reverse = {{ rate_mbit = 50, delay_ms = 10 }}
[link.access2]
ends = ["s2", "r1"]
forward = {{ rate_mbit = 1000 }}
[link.exit2]
ends = ["r2", "d2"]
forward = {{ rate_mbit = 1000 }}
[flow.main]
cc = "cubic"
[flow.l4s]
src = "s2"
dst = "d2"
cc = "dctcp"
[route.d2]
congctl = "dctcp"
[measure]
steady_from_s = 5
"""


def measured(run_json: Run, tmp_path: Path, options: str, more: str = "") -> tuple[Any, dict[str, float]]:
    """The result, and the mean one-way delay of each flow from 5 s on, in ms."""
    path = tmp_path / "dual.toml"
    path.write_text(SCENARIO.format(options=options, more=more))
    (result,) = run_json(path, "--series", "7.2", "--out", tmp_path / "out")
    directory = next((tmp_path / "out").rglob("result.json")).parent
    delays = {}
    for name, pair in (("main", "s-d"), ("l4s", "s2-d2")):
        owd = table(directory, f"owd-{pair}")
        t, ms = np.array(owd["t"], float), np.array(owd["owd_ms"], float)
        delays[name] = float(np.nanmean(ms[t > 5]))
    return result, delays


def test_two_queues_one_link(run_json: Run, tmp_path: Path) -> None:
    """The scalable flow waits for its step, the classic one for the target; neither starves, no L4S packet is lost."""
    result, delay_ms = measured(run_json, tmp_path, 'any_ect = ""')
    main, l4s = (next(f for f in result["flows"] if f["name"] == name) for name in ("main", "l4s"))
    assert delay_ms["l4s"] - 10 < 3 and 8 < delay_ms["main"] - 10 < 25, delay_ms
    assert result["queue"]["marks"] > 200
    assert l4s["retransmits"] == 0 < main["retransmits"]
    together = main["steady_goodput_mbit"] + l4s["steady_goodput_mbit"]
    assert together > 0.85 * 50 * 1448 / 1500
    assert 0.25 * together < l4s["steady_goodput_mbit"] < 0.75 * together


def test_what_is_not_l4s_is_classic(run_json: Run, tmp_path: Path) -> None:
    """DCTCP sends ECT(0), which is no L4S by default: it waits in the classic queue, as cubic does."""
    _result, delay_ms = measured(run_json, tmp_path, "")
    assert delay_ms["l4s"] - 10 > 8, delay_ms


def test_options_change_what_the_queue_does(run_json: Run, tmp_path: Path) -> None:
    """A target of 40 ms is a longer classic queue; that of L4S is as short with a step of 5 ms as with one of 1 ms."""
    _result, delay_ms = measured(run_json, tmp_path, 'any_ect = "", target = "40ms"', ", mark_above_ms = 5")
    assert delay_ms["main"] - 10 > 30 and delay_ms["l4s"] - 10 < 3, delay_ms


def test_the_case_is_judged_on_7_2(hetlab: Hetlab, tmp_path: Path) -> None:
    """Its numbers are of that kernel, and have no rank among those of 6.12."""
    done = hetlab("judge", "cubic", "--case", "d-dualpi2", "--series", "7.2", "--json", "--out", tmp_path)
    assert done.returncode in (0, 1), done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["measure"] for row in rows] == ["util", "share", "share", "srtt"]
    assert all(row["median"] is not None and row["rank"] is None for row in rows)
    result = json.loads(next(tmp_path.rglob("result.json")).read_text())
    assert result["kernel_release"].startswith("7.2.")
    assert "--series 7.2" in (tmp_path / "scorecard.html").read_text()


def test_another_linux_is_told_where(hetlab: Hetlab, tmp_path: Path) -> None:
    sets = ("--set", "link.bottleneck.forward.aqm=dualpi2")
    done = hetlab("run", "bulk", "--cc", "reno", *sets, "--out", tmp_path)
    assert done.returncode == 2
    assert "bulk: link.bottleneck.forward: aqm='dualpi2'" in done.stderr and "--series 7.2" in done.stderr
