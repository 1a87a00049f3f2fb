# SPDX-License-Identifier: GPL-2.0
"""Measures of made-up runs that can be computed by hand, verdicts, and the cases of the gauntlet."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hetlab.errors import LabError
from hetlab.judge import case, measures, plan, verdict
from hetlab.judge.measures import PAYLOAD_SHARE, Seen
from hetlab.model import files
from hetlab.model.resolve import resolve
from hetlab.model.result import DelayResult, FlowResult, QueueResult, RunResult

pytestmark = pytest.mark.fast

# Two flows over 10 Mbit/s that fall to 5 at 10 s; the second from 5 s on
TEXT = """
base = "bulk"
duration_s = 20

[flow.second]
src = "s"
dst = "d"
start_s = 5
cc = "cubic"

[[event]]
at_s = 10
link = "bottleneck"
way = "forward"
rate_mbit = 5
"""
RATES = {0: ((0, 8.0), (5, 6.0), (10, 3.0)), 1: ((5, 2.0), (10, 1.0))}  # Mbit/s from a time on


def octets(flow: int, t: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    steps = [*RATES[flow], (1e9, 0.0)]
    total = np.zeros_like(t)
    for (begin, rate), (end, _next) in pairwise(steps):
        total += np.clip(t, begin, end) * rate - begin * rate
    return total * 1e6 / 8


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    (tmp_path / "two.toml").write_text(TEXT)
    (point,) = files.load(str(tmp_path / "two.toml"))
    sc = resolve(point)
    t = np.arange(0, 201) / 10
    tables: dict[str, dict[str, Any]] = {
        "received": {
            "id": np.repeat([0, 1], len(t)),
            "t": np.tile(t, 2),
            "bytes_received": np.concatenate([octets(0, t), octets(1, t)]),
        },
        "queue": {"queue": ["bottleneck.forward"] * len(t), "t": t, "pkts": t},
        "flows": {"id": np.zeros(len(t), int), "t": t, "cwnd": (10 * t).astype(int), "srtt_us": 1000 * t},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    flow = FlowResult(
        name="main", proto="tcp", start_s=0, end_s=15, complete=True, goodput_mbit=1, bytes_sent=1_448_000
    )
    delay = DelayResult(mean=1, variance=1, min=0, p50=2, p95=3, p99=4, packets=5)
    none = {"steady_mean_pkts": None, "steady_min_pkts": None, "steady_max_pkts": None, "p95_pkts": None}
    result = RunResult(
        scenario="two",
        seed=1,
        cc="reno",
        cc_params={},
        flows=(flow, replace(flow, name="second", start_s=5, complete=False, end_s=20)),
        queue=QueueResult(link="bottleneck.forward", **none, max_pkts=20, drops=20, loss_model_drops=0),
        owd_ms=None,
        queueing_ms=delay,
        delivery_ms=None,
        jain=None,
        jain_steady=None,
        scenario_resolved=sc,
    )
    return Seen(tmp_path, result)


EXPECTED: list[tuple[str, dict[str, Any], float | None]] = [
    ("util", {"from_s": 0, "to_s": 5}, 0.8 / PAYLOAD_SHARE),
    ("util", {"from_s": 5, "to_s": 15}, (40 + 20) / 75 / PAYLOAD_SHARE),
    ("util", {"flow": "second", "from_s": 10}, 0.2 / PAYLOAD_SHARE),
    ("goodput", {"flow": "main", "from_s": 5, "to_s": 10}, 6),
    ("time", {"flow": "main"}, 15),
    ("time", {}, None),
    ("time_to", {"megabytes": 1, "flow": "second"}, 4),
    ("time_to", {"megabytes": 100, "flow": "second"}, None),
    ("reach", {"share": 0.8, "from_s": 5}, 0.5),
    ("reach", {"share": 0.8, "from_s": 10}, 0.5),
    ("reach", {"share": 0.99}, None),
    ("queue_mean", {"from_s": 10, "to_s": 20}, 15),
    ("queue_max", {"to_s": 7}, 7),
    ("queue_p95", {"from_s": 0}, 19),
    ("queueing_p95", {}, 3),
    ("srtt", {"flow": "main", "from_s": 10, "to_s": 20}, 15),
    ("cwnd_end", {"flow": "main", "at_s": 7.05}, 70),
    ("drop_percent", {}, 1),
    ("jain", {"from_s": 5, "to_s": 10}, 64 / (2 * 40)),
    ("share", {"flow": "second", "from_s": 5, "to_s": 10}, 0.5),
    ("load", {"flow": "main", "beside": "second"}, 75),
    ("ratio", {"flow": "main", "beside": "second", "from_s": 5}, 3),
    ("time", {"flow": "nobody"}, None),
]


@pytest.mark.parametrize(("name", "arguments", "value"), EXPECTED)
def test_measures(seen: Seen, name: str, arguments: dict[str, Any], value: float | None) -> None:
    (found,) = measures.values([seen], name, arguments)
    assert found == (None if value is None else pytest.approx(value, rel=0.02))


def judgement(**keys: Any) -> case.Judgement:
    return case.Judgement(**{"measure": "util"} | keys)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([0.9], "pass"),
        ([0.7], "fail"),
        ([0.95, 0.93, 0.94], "pass"),
        ([0.7, 0.6, 0.65], "fail"),
        ([0.9, 0.7, 0.81], "open"),
        ([None], "fail"),
        ([None, None, 0.9], "fail"),
    ],
)
def test_no_verdict_while_the_limit_is_within_the_interval(values: list[float | None], word: str) -> None:
    j = judgement(at_least=0.8)
    assert verdict._word(j, verdict.estimate(values), 0.8) == word


def test_at_most_is_the_other_way() -> None:
    j = judgement(at_most=0.8)
    assert [verdict._word(j, verdict.estimate([v]), 0.8) for v in (0.7, 0.8, 0.9)] == ["pass", "pass", "fail"]


def test_a_limit_that_is_another_ones(seen: Seen) -> None:
    """0.9 times what cubic gets in the same place, plus 0.1; none where that was not run."""
    j = judgement(at_least=0.9, of="cubic", plus=0.1, with_={"to_s": 5})
    ours = case.Case(id="x", group="A a", judge=(j,))
    (cell,) = verdict.judge(ours, ["reno"], {"reno": [seen], "cubic": [seen]})
    assert cell.limit == pytest.approx(0.9 * 0.8 / PAYLOAD_SHARE + 0.1)
    (cell,) = verdict.judge(ours, ["reno"], {"reno": [seen]})
    assert (cell.limit, cell.word) == (None, "none")
    assert verdict.passed([cell]) == "none"


def test_equal_values_have_no_interval() -> None:
    found = verdict.estimate([2.0, 2.0, None])
    assert found == verdict.Estimate(2, 2, 2, 2, 1)
    assert found.sharp


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"measure": "utill"}, "did you mean util?"),
        ({"with_": {"form_s": 1}}, "util takes flow, from_s, to_s"),
        ({"at_most": 1, "at_least": 1}, "not both"),
        ({"of": "cubic"}, "needs at_most or at_least"),
    ],
)
def test_faults_of_a_judgement(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(Exception, match=said.replace("?", r"\?")):
        judgement(**keys).check()


def test_faults_of_a_case_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('base = "bulk"\n[case]\ngroup = "A"\n[[judge]]\nmeasure = "utill"\n')
    with pytest.raises(LabError, match=r"x\.toml: judge.*did you mean util"):
        case.load(path)
    path.write_text('base = "bulk"')
    with pytest.raises(LabError, match=r"x\.toml: lacks the table \[case\]"):
        case.load(path)


def test_every_case_of_the_gauntlet_can_be_run() -> None:
    """Flows and times that its judgements name are there; what is not published says so."""
    cases = case.every()
    assert len(cases) > 30
    for one in cases.values():
        _point, sc = plan.point_of(one)
        flows = {flow.name.rstrip("0123456789").rstrip("-.") for flow in sc.flows}
        for j in one.judge:
            assert {v for k, v in j.with_.items() if k in ("flow", "beside")} <= flows, one.id
            assert all(v <= sc.duration_s for k, v in j.with_.items() if k.endswith("_s") and not isinstance(v, str))
            assert j.source, one.id


def test_select() -> None:
    assert [c.id for c in case.select(["a-20"], [], False)] == ["a-20"]
    assert {c.id for c in case.select(["a-2"], [], False)} == {"a-20", "a-200"}
    assert {c.group for c in case.select([], ["satellite"], False)} == {"G satellite"}
    assert all(c.quick for c in case.select([], ["A", "B"], True))
    with pytest.raises(LabError, match="there are: A basic, B loss"):
        case.select([], ["nothing"], False)


def test_seeds(seen: Seen) -> None:
    """Two first; no more where they are alike; one by one where they differ, up to the limit."""
    one = case.Case(id="x", group="A a", judge=(judgement(at_least=0.5),))
    other = Seen(seen.directory, replace(seen.result, seed=2))
    assert plan._seeds(one, [], 5) == [1, 2]
    assert plan._seeds(one, [seen], 5) == [2]
    assert plan._seeds(one, [seen, other], 5) == []
    flows = tuple(replace(f, goodput_mbit=9) for f in seen.result.flows)
    differs = Seen(seen.directory, replace(seen.result, seed=2, flows=flows))
    assert plan._seeds(one, [seen, differs], 5) == []  # the measure itself is the same
    assert plan._seeds(one, [seen, differs], 1) == []
