# SPDX-License-Identifier: GPL-2.0
"""Claims: which are chosen, which runs they need, how they are judged."""

from pathlib import Path

import pytest

from hetlab import claims
from hetlab.errors import LabError


def test_selection_by_beginning() -> None:
    every = [c.id for c in claims.select([])]
    assert len(every) == len(set(every)) >= 13
    assert [c.id for c in claims.select(["scw-"])] == [i for i in every if i.startswith("scw-")]
    with pytest.raises(LabError, match="sc-t2-delay"):
        claims.select(["nonsense"])


def test_each_run_is_planned_once(tmp_path: Path) -> None:
    chosen = claims.select([])
    evidence = claims.Evidence(tmp_path)
    planned = claims.plan(chosen, evidence)
    needs = {need for c in chosen for need in c.needs}
    assert len(planned) == len(needs) == len(evidence.wanted)
    assert set(evidence.wanted.values()) == needs


def test_what_has_no_result_does_not_hold(tmp_path: Path) -> None:
    chosen = claims.select(["sc-t2"])
    verdicts = claims.judge(chosen, claims.Evidence(tmp_path))
    assert all(not v.holds and "sc-basic" in v.ours for _, v in verdicts)


def test_bad_results_fail_the_claim(tmp_path: Path) -> None:
    """Goodput 10 % off the paper's table."""
    (chosen,) = claims.select(["sc-t2-throughput"])
    evidence = claims.Evidence(tmp_path)
    for job in claims.plan([chosen], evidence):
        name = {
            "scenario": job["scenario"]["name"],
            "cc": job["cc"],
            "cc_params": job["cc_params"],
            "seed": job["seed"],
        }
        evidence.add(name | {"flows": [{"goodput_mbit": 1.38}]})
    assert claims.judge([chosen], evidence)[0][1].holds
    for result in evidence.runs.values():
        result["flows"][0]["goodput_mbit"] = 1.25
    assert not claims.judge([chosen], evidence)[0][1].holds
