# SPDX-License-Identifier: GPL-2.0
"""Measures of made-up runs that can be computed by hand, verdicts, and the cases of the gauntlet."""

import io
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from hetlab import paths
from hetlab.cli import judge as judging
from hetlab.cli import tables
from hetlab.errors import LabError
from hetlab.judge import (
    baseline,
    case,
    charts,
    compare,
    curves,
    limits,
    matrix,
    measures,
    plan,
    scorecard,
    states,
    verdict,
)
from hetlab.judge.seen import PAYLOAD_SHARE, Seen
from hetlab.model import files
from hetlab.model.jobs import Variant
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
        "flows": {
            "id": np.zeros(len(t), int),
            "t": t,
            "cwnd": (10 * t).astype(int),
            "srtt_us": 1000 * t,
            "bytes_sent": (100_000 * t).astype(int),
            "bytes_retrans": (10_000 * np.maximum(t - 10, 0)).astype(int),
        },
        # Ten responses, one a second, small and large by turns; they take 1, 2 .. 9 s, the last does not end
        "items": {
            "id": [1] * 10,
            "t": np.arange(10.0),
            "kind": ["response"] * 10,
            "bytes": [1000, 1_000_000] * 5,
            "time_s": [*np.arange(1.0, 10), None],
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    flow = FlowResult(
        name="main",
        proto="tcp",
        start_s=0,
        end_s=15,
        complete=True,
        goodput_mbit=1,
        bytes_sent=1_448_000,
        retransmits=7,
        timeouts=3,
    )
    delay = DelayResult(mean=1, variance=1, min=0, p50=2, p95=3, p99=4, packets=5)
    none = {"steady_mean_pkts": None, "steady_min_pkts": None, "steady_max_pkts": None, "p95_pkts": None}
    result = RunResult(
        scenario="two",
        seed=1,
        cc="reno",
        cc_params={},
        flows=(flow, replace(flow, name="second", start_s=5, complete=False, end_s=20, timeouts=1)),
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
    ("drops", {}, 20),
    ("retransmits", {"flow": "main"}, 7),
    ("timeouts", {}, 4),
    ("timeouts", {"flow": "second"}, 1),
    ("retrans_percent", {}, 5),
    ("retrans_percent", {"flow": "main", "from_s": 10}, 10),
    ("retrans_percent", {"flow": "second"}, None),
    ("completion", {"percentile": 50}, 6),
    ("completion", {"percentile": 100}, None),
    ("completion", {"percentile": 50, "flow": "second", "below_bytes": 10_000}, 5),
    ("completion", {"percentile": 100, "above_bytes": 10_000, "to_s": 9}, 8),
    ("completion", {"percentile": 0, "from_s": 5, "to_s": 8}, 6),
    ("completion", {"percentile": 50, "flow": "main"}, None),
    ("unfinished_percent", {"flow": "second"}, 10),
    ("unfinished_percent", {"flow": "second", "to_s": 9}, 0),
    ("unfinished_percent", {"flow": "main"}, None),
    ("queueing_p50", {}, 2),
    ("queueing_p99", {}, 4),
    ("udp_lost_percent", {"flow": "main"}, None),
]


def test_each_measure_is_computed_by_hand() -> None:
    elsewhere = {"harm", "udp_lost_percent", "bbr_bw", "bbr_state", "queued_s", "drain_time"}  # tests below
    assert {name for name, _arguments, value in EXPECTED if value is not None} | elsewhere == set(measures.MEASURES)


def test_udp_packets_that_did_not_arrive(seen: Seen) -> None:
    """Offered 10 Mbit/s for 4 s and 20 Mbit/s for 1 s; delivered 9 and 14."""
    sc = seen.result.scenario_resolved
    made = [(10.0, 4.0, 9.0), (20.0, 1.0, 14.0)]
    flows = [replace(f, rate_mbit=rate, duration_s=s) for f, (rate, s, _got) in zip(sc.flows, made, strict=True)]
    got = [replace(f, goodput_mbit=mbit) for f, (_rate, _s, mbit) in zip(seen.result.flows, made, strict=True)]
    sc = replace(sc, flows=tuple(replace(f, name=f"noise-{i}") for i, f in enumerate(flows)))
    run = replace(seen, result=replace(seen.result, scenario_resolved=sc, flows=tuple(got)))
    assert measures.values([run], "udp_lost_percent", {"flow": "noise"}) == [pytest.approx(100 * 10 / 60)]


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


def test_beside_one_that_never_gets_there(seen: Seen) -> None:
    """Who reaches what the reference does not is not later; of two that do not nothing can be said."""
    late = judgement(measure="reach", at_most=1, of="reno", with_={"share": 2.0})
    assert measures.values([seen], "reach", late.with_) == [None]
    (cell,) = verdict.judge(case.Case(id="x", group="A a", judge=(late,)), ["x"], {"x": [seen], "reno": [seen]})
    assert (cell.limit, cell.word) == (None, "open")
    assert verdict._beside_never(late, verdict.estimate([1.0, 2.0])) == "pass"
    assert verdict._beside_never(late, verdict.estimate([1.0, None])) == "open"
    assert verdict._beside_never(judgement(at_least=1, of="reno"), verdict.estimate([1.0])) == "none"


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
    found = [case.every(), *(case.every(suite) for suite in case.suites())]
    assert len(found[0]) > 55 and len(case.every("bbr")) == 22
    for one in (one for cases in found for one in cases.values()):
        _point, sc = plan.point_of(one)
        flows = {flow.name.rstrip("0123456789").rstrip("-.") for flow in sc.flows}
        for j in one.judge:
            assert {v for k, v in j.with_.items() if k in ("flow", "beside")} <= flows, one.id
            assert all(v <= sc.duration_s for k, v in j.with_.items() if k.endswith("_s") and not isinstance(v, str))
            assert j.source, one.id


def test_every_criterion_of_rfc_9743_has_cases_that_exist() -> None:
    """The table of docs/suites.md names cases or says why there are none; the cases name the criteria."""
    every = {one.id: one for suite in ("", *case.suites()) for one in case.every(suite).values()}
    text = (paths.TOP / "docs" / "suites.md").read_text().partition("## RFC 9743")[2].partition("\n## ")[0]
    rows = [
        line.split("|")[1:3] for line in text.splitlines() if re.match(r"\| (one|mixed|other|general|special)", line)
    ]
    assert len(rows) == 28
    for criterion, cases in rows:
        named = [every.get(name) for name in re.findall(r"\b(?:[a-l]-[a-z0-9-]+|bbr-b\d+)", cases)]
        groups = [case.select([], [letter], quick=False) for letter in re.findall(r"\b[A-L]\b", cases)]
        assert None not in named and (named or groups or "none" in cases), criterion
    covered = " ".join(one.covers for one in every.values())
    numbered = {"S": 5, "M": 5, "G": 3, "X": 12}
    wanted = [f"{letter}{n + 1}" for letter, most in numbered.items() for n in range(most)]
    assert [c for c in wanted if not re.search(rf"\b{c}\b", covered)] == ["X7", "X11"]


def test_variants_of_a_file_are_cases() -> None:
    """tcpeval: all that its tables have, but 802.11g; the page's command names the variant."""
    found = case.every("tcpeval")
    counts = Counter(one.covers for one in found.values())
    basic = dict.fromkeys(("T-DC", "T-AC", "T-TO", "T-GEO", "T-DU", "T-PL"), 3)
    transients = dict.fromkeys(("T-TR-down", "T-TR-up", "T-TR-stairs"), 1)
    assert counts == {**basic, **transients, "T-DT": 5, "T-RU": 6, "T-IM": 2, "T-IF": 20, "T-IR": 20}
    for load in (60, 110):
        flows = plan.point_of(found[f"tcpeval-ac-{load}"])[0].scenario.flow
        web = sum(f.load_percent or 0 for name, f in flows.items() if name.startswith("web"))
        assert web == pytest.approx(load, rel=1e-4)
    assert scorecard._named(found["tcpeval-ac-60"]) == ["--suite", "tcpeval", "--case", "tcpeval-ac-60"]
    assert scorecard._named(case.every()["a-20"]) == ["--case", "a-20"]


def test_goodput_of_transfers_counts_until_they_have_ended(seen: Seen) -> None:
    """10 MB in 4.5 s of a run of 20 s are 17.6 Mbit/s on the page, not 4."""
    flows = tuple(replace(flow, end_s=10.0) for flow in seen.result.flows)
    ended = replace(seen, result=replace(seen.result, flows=flows))
    assert charts._point_of(seen)[1] == pytest.approx(seen.megabits(None, 0, 20) / 20, rel=1e-3)
    assert charts._point_of(ended)[1] == pytest.approx(seen.megabits(None, 0, 10) / 10, rel=1e-3)


@pytest.mark.parametrize(("runs", "points"), [(0, 400), (100, 400), (441, 113), (100_000, 50)])
def test_a_page_of_many_runs_has_fewer_points(seen: Seen, runs: int, points: int) -> None:
    """21 congestion controls in 21 cases made a page of 8 MB, tcpeval one of 11 MB."""
    assert [name for _i, name in seen.flows()] and len(curves.PER_FLOW) == 4
    assert curves.points_for([seen] * runs) == points


def test_select() -> None:
    assert [c.id for c in case.select(["a-20"], [], False)] == ["a-20"]
    assert {c.id for c in case.select(["a-2"], [], False)} == {"a-20", "a-200"}
    assert {c.group for c in case.select([], ["satellite"], False)} == {"G satellite"}
    assert all(c.quick for c in case.select([], ["A", "B"], True))
    quick = case.select([], [], True)
    assert {c.group for c in case.every().values()} - {c.group for c in quick} == {"L background traffic"}
    assert {c.id for c in case.select(["l-85"], [], True)} == {c.id for c in quick} | {"l-85"}
    with pytest.raises(LabError, match="there are: A basic, B loss"):
        case.select([], ["nothing"], False)


def test_cases_of_another_linux_are_left_out_or_refused() -> None:
    """By the way they are chosen: a group leaves them out, a name is a mistake."""
    group = case.select([], ["D"], False)
    assert "d-dualpi2" in {c.id for c in group}
    assert {c.id for c in group} - {c.id for c in case.of_series(group, "6.12")} == {"d-dualpi2"}
    assert case.of_series(group, "7.2") == group
    with pytest.raises(LabError, match=r"--case d-dualpi2: needs --series 7\.2"):
        case.of_series(group, "6.12", ["d-dualpi2"])


def test_ranks_are_of_the_kernel_of_the_shipped_medians() -> None:
    (one,) = case.select(["a-20"], [], False)
    cell = verdict.Cell(one, "mine", one.judge[0], "pass", verdict.estimate([0.9, 0.9]), one.judge[0].at_least)
    assert baseline.rank(cell) is not None
    assert baseline.rank(replace(cell, ranked=False)) is None


def test_seeds(seen: Seen) -> None:
    """Two first; no more where they are alike; one by one where they differ, up to the limit."""
    (e,) = plan.entrants([Variant("reno")])
    one = case.Case(id="x", group="A a", judge=(judgement(at_least=0.5),))
    other = Seen(seen.directory, replace(seen.result, seed=2))

    def seeds(*runs: Seen, most: int = 5) -> list[int]:
        return plan._seeds(one, e, {"reno": list(runs)}, most, precise=True)

    assert seeds() == [1, 2]
    assert seeds(seen) == [2]
    assert seeds(seen, other) == []
    flows = tuple(replace(f, goodput_mbit=9) for f in seen.result.flows)
    differs = Seen(seen.directory, replace(seen.result, seed=2, flows=flows))
    assert seeds(seen, differs) == []  # the measure itself is the same
    assert seeds(seen, differs, most=1) == []


def test_references_run_the_same_seeds(seen: Seen) -> None:
    one = case.Case(id="x", group="A a", judge=(judgement(at_least=0.9, of="cubic"),))
    reno, cubic = plan.entrants([Variant("reno"), Variant("cubic")])
    runs = {"reno": [replace(seen, result=replace(seen.result, seed=n)) for n in (1, 2, 3)]}
    planned = plan._beside(one, [reno], runs, [(reno, 4)])
    assert [(e.label, seed) for e, seed in planned] == [("cubic", n) for n in (1, 2, 3, 4)]
    runs["cubic"] = runs["reno"][:2]
    assert [seed for _e, seed in plan._beside(one, [reno, cubic], runs, [(cubic, 3)])] == []
    (reno2,) = plan.entrants([Variant("reno"), Variant("reno")])[1:]
    runs = {"reno (2)": [replace(seen, result=replace(seen.result, seed=1001))]}
    assert [seed for _e, seed in plan._beside(one, [reno2], runs, [])] == [1]


def test_comparisons_are_seed_by_seed() -> None:
    """Values that differ by a factor of two from seed to seed, always 5 % below the reference."""
    j = judgement(at_least=0.9, of="cubic")
    ref = {1: 1.0, 2: 2.0, 3: 1.5, 4: 1.1}

    def runs(factor: float) -> list[Any]:
        return [SimpleNamespace(result=SimpleNamespace(seed=n), value=factor * v) for n, v in ref.items()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "values", lambda of, *_args: [run.value for run in of])
        one = replace(ONE, judge=(j, judgement(at_least=1, of="cubic")))
        cells = verdict.judge(one, ["mine"], {"mine": runs(0.95), "cubic": runs(1)})
        assert [cell.word for cell in cells] == ["pass", "fail"]
        assert cells[0].limit == pytest.approx(0.9 * 1.3)
        assert verdict.sharp(judgement(at_least=0.9), runs(0.95), []) is False
        # Wide, but on one side of the limit
        assert [verdict.sharp(judgement(at_most=most), runs(1), []) for most in (2.0, 4.0)] == [False, True]


@pytest.mark.parametrize(
    ("mine", "word"),
    [
        ([0.2, 30.0], "pass"),
        ([0.24, 36.0], "fail"),
        ([0.0, 30.0], "open"),  # 0 has no logarithm: by differences
    ],
)
def test_two_seeds_far_apart_are_compared_each_with_its_own(mine: list[float], word: str) -> None:
    """Completion times of 0.2 s and 30 s: what cubic has beside itself is told from two seeds."""
    j = judgement(at_most=1.1, of="cubic")
    runs = {
        name: [SimpleNamespace(result=SimpleNamespace(seed=n), value=v) for n, v in enumerate(values, 1)]
        for name, values in {"mine": mine, "cubic": [0.2, 30.0]}.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "values", lambda of, *_args: [run.value for run in of])
        ours: Any = runs["mine"]
        others: Any = runs["cubic"]
        (cell,) = verdict.judge(replace(ONE, judge=(j,)), ["mine"], {"mine": ours, "cubic": others})
        assert cell.word == word
        assert verdict.sharp(j, ours, others) is (word != "open")


# ------------------------------------------------------ harm, comparison, limits


def test_harm_is_what_is_lost_of_what_a_flow_gets_alone(seen: Seen) -> None:
    """The second flow has 2 Mbit/s from 5 to 10 s; alone it would have the 6 that the first one has here."""
    better = replace(seen, result=replace(seen.result, flows=(replace(seen.result.flows[0], name="second"),)))
    assert measures.harm(seen, "second", "goodput", 5, 10) is None
    seen.alone["second"] = [better]
    assert measures.harm(seen, "second", "goodput", 5, 10) == pytest.approx((6 - 2) / 6, rel=0.02)
    assert measures.harm(seen, "second", "time") is None  # it does not end
    assert measures.harm(seen, "main", "time") is None
    seen.alone["main"] = [replace(seen, result=replace(seen.result, flows=(replace(seen.result.flows[0], end_s=5),)))]
    assert measures.harm(seen, "main", "time") == pytest.approx((15 - 5) / 15)


def test_a_flow_alone_keeps_its_network(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TEXT)
    (point,) = files.load(str(tmp_path / "two.toml"))
    both = resolve(point)
    alone = plan.only(both, "two-alone-second", "second")
    assert [(f.name, f.id, f.start_s) for f in alone.flows] == [("second", 0, 5)]
    assert (alone.links, alone.events) == (both.links, both.events)
    with pytest.raises(LabError, match="there is no flow 'third'"):
        plan.only(both, "x", "third")


ONE = case.Case(
    id="x-one",
    group="X",
    judge=(
        judgement(at_least=0.8),
        judgement(measure="time", at_most=10),
        judgement(measure="load", with_={"flow": "main", "beside": "other"}, at_least=30),
        judgement(measure="load", with_={"flow": "main", "beside": "other"}, at_most=70),
        judgement(measure="drops"),
    ),
)


def cell(number: int, cc: str, *values: float) -> verdict.Cell:
    j = ONE.judge[number]
    ours = verdict.estimate(values)
    limit = j.at_most if j.at_most is not None else j.at_least
    return verdict.Cell(ONE, cc, j, verdict._word(j, ours, limit), ours, limit)


@pytest.mark.parametrize(("width", "ccs", "intervals"), [(80, 3, False), (80, 9, False), (200, 3, True)])
def test_no_verdict_is_cut_on_the_terminal(width: int, ccs: int, intervals: bool) -> None:
    """80 columns cut the names of cases and the marks; they lack the intervals now, and say so."""
    text = io.StringIO()
    names = [f"congestion_{i}" for i in range(ccs)]
    cells = [cell(number, name, 0.123, 1234.0) for number in range(len(ONE.judge)) for name in names]
    console = Console(width=width, file=text, force_terminal=True, color_system=None, markup=False)
    tables.show(judging.verdicts_table(cells, width), to=console)
    said = text.getvalue()
    assert "\u2026" not in said and "+ passed  - failed" in said and "(s)" in said
    assert all(word in said.split() for word in (*names, "x-one", "passed"))
    assert ("617 (" in said) == intervals and ("intervals:" in said) != intervals
    if ccs == 3:
        assert max(len(line.rstrip()) for line in said.splitlines()) <= width


@pytest.mark.parametrize("width", [80, 200])
def test_no_change_is_cut_on_the_terminal(width: int) -> None:
    """80 columns cut what is asked and the line of sums."""
    text = io.StringIO()
    values = {"a": (0.1234, 1234.5), "b": (0.4321, 4321.5)}
    cells = [cell(number, name, *of) for number in range(len(ONE.judge)) for name, of in values.items()]
    console = Console(width=width, file=text, force_terminal=True, color_system=None, markup=False)
    found = compare.differences(cells, "a", "b")
    tables.show(judging.changes_table(found, width), to=console)
    said = text.getvalue()
    assert "\u2026" not in said and "x-one" in said and max(len(line.rstrip()) for line in said.splitlines()) <= width
    assert "all: 0 better, 0 worse, 0 changed, 4 open, 0 same" in " ".join(said.split())
    assert ("617 (" in said) == (width == 200)


@pytest.mark.parametrize(
    ("number", "before", "after", "word"),
    [
        (0, (0.8, 0.8), (0.9, 0.9), "better"),
        (0, (0.9, 0.9), (0.8, 0.8), "worse"),
        (0, (0.9, 0.9), (0.905, 0.905), "same"),
        (0, (0.8, 0.9), (0.95, 0.96), "open"),
        (1, (5.0, 5.0), (4.0, 4.0), "better"),
        (1, (5.0, 5.0), (), "worse"),
        (1, (), (), "none"),
        (2, (40.0, 40.0), (60.0, 60.0), "changed"),
        (4, (5.0, 5.0), (50.0, 50.0), "changed"),
    ],
)
def test_better_is_said_only_where_the_intervals_are_apart(
    number: int, before: tuple[float, ...], after: tuple[float, ...], word: str
) -> None:
    (found,) = compare.differences([cell(number, "a", *before), cell(number, "b", *after)], "a", "b")
    assert found.word == word


def test_the_same_twice_is_seldom_better(seed: int = 7) -> None:
    """A measure with 10 % of noise, two to five seeds each: no difference is seen in 95 % of the draws."""
    rng = np.random.default_rng(seed)
    words = []
    for _ in range(500):
        a, b = (rng.normal(1, 0.1, rng.integers(2, 6)) for _ in range(2))
        (found,) = compare.differences([cell(0, "a", *a), cell(0, "b", *b)], "a", "b")
        words.append(found.word)
    assert sum(word in ("better", "worse") for word in words) <= 0.05 * len(words)


def test_two_of_one_name_have_other_seeds() -> None:
    one, two, other = plan.entrants([Variant("cubic"), Variant("cubic"), Variant("reno")])
    assert [(e.label, e.first_seed) for e in (one, two, other)] == [("cubic", 1), ("cubic (2)", 1001), ("reno", 1)]


LIMITS = """
failed_at_most = 1
ignore = ["y-"]
[case.x-one.util]
at_least = 0.5
"""


def test_limits_of_a_project(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(LIMITS)
    own = limits.read(path)
    (one,) = limits.changed(own, path, [ONE], ["x-one"])
    assert [j.at_least for j in one.judge] == [0.5, None, 30, None, None]
    assert one.judge[0].source == "limits.toml" and one.judge[1:] == ONE.judge[1:]
    failed = [cell(0, "a", 0.1), replace(cell(0, "a", 0.1), case=replace(ONE, id="y-two"))]
    assert own.held(failed)
    assert not own.held([*failed, replace(cell(0, "a", 0.1), case=replace(ONE, id="x-two"))])
    worse = compare.differences([cell(0, "a", 0.9, 0.9), cell(0, "b", 0.1, 0.1)], "a", "b")
    assert not own.held([], worse)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("failed_at_most = 'x'", "failed_at_most"),
        ("nothing = 1", "nothing"),
        ("[case.x-two.util]\nat_most = 1", "case.x-two: no such case"),
        ("[case.x-one.rtt]\nat_most = 1", "case.x-one.rtt: this case asks util, time, load, drops"),
        ("= 1", "not valid TOML"),
    ],
)
def test_faults_of_limits_name_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(text)
    with pytest.raises(LabError) as found:
        limits.changed(limits.read(path), path, [ONE], ["x-one"])
    assert words in str(found.value) and "limits.toml" in str(found.value)


# ---------------------------------------------------------------------- matrix


def test_networks_of_the_matrix() -> None:
    assert len(matrix.NETS) == 16 and len({net.name for net in matrix.NETS}) == 16
    (net,) = (n for n in matrix.NETS if (n.rate_mbit, n.queue, n.other_ms) == (50, "4", 150))
    _point, experiment = matrix.scenario(net, "bbr")
    assert experiment.links["bottleneck"].forward.queue_pkts == round(4 * 50e6 * 0.05 / 12_000)
    assert experiment.links["access2"].forward.delay_ms == 100
    assert [f.cc for f in experiment.flows] == [None, "bbr"]
    (fq,) = (n for n in matrix.NETS if (n.rate_mbit, n.queue, n.other_ms) == (8, "fq_codel", 50))
    assert matrix.scenario(fq, "bbr")[1].links["bottleneck"].forward.aqm == "fq_codel"


def test_pairs_of_the_matrix() -> None:
    """Three: 6 pairs where round trips are equal, 9 else; alone in one place, or in both; 2 seeds, of all the first one
    before the second, so that what an interruption leaves is of every network."""
    three = plan.entrants([Variant("cubic"), Variant("bbr"), Variant("reno")])
    jobs = matrix.wanting(three, {}, Path("/scratch"))
    assert len(jobs) == 2 * 8 * ((6 + 3) + (9 + 3 + 3))
    assert len({(job.name, job.cc, job.seed) for job in jobs}) == len(jobs)
    assert [job.seed for job in jobs] == [1] * (len(jobs) // 2) + [2] * (len(jobs) // 2)
    with pytest.raises(LabError, match="parameters"):
        matrix.check(plan.entrants([Variant("bbr", {"x": "1"})]))


def test_a_square_is_told_from_both_sides(seen: Seen) -> None:
    two = plan.entrants([Variant("cubic"), Variant("bbr")])
    net = matrix.NETS[0]
    named = replace(
        seen, result=replace(seen.result, flows=(seen.result.flows[0], replace(seen.result.flows[1], name="other")))
    )
    found: plan.Found = {f"{net.name}-bbr": {"cubic": [named]}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix, "FROM_S", 10.0)
        one, turned = matrix.squares(two, found)
    assert (one.row, one.column, turned.row) == ("cubic", "bbr", "bbr")
    assert one.share == pytest.approx(2 * 3 / 4, rel=0.02) and turned.share == pytest.approx(2 * 1 / 4, rel=0.02)
    assert one.row_harm is None and (one.seeds, turned.seeds) == (1, 1)


def test_states_are_told_by_gains(seen: Seen) -> None:
    """Of version 1, as tcp_info shows them; a run of another congestion control has none."""
    assert states.bbr_state(seen, "startup") is None and states.bbr_bw(seen, 5) is None
    t = np.arange(0, 201) / 10
    gains = {0: (2.885, 2.885), 1: (0.347, 2.885), 2: (1.25, 2.0), 3: (0.75, 2.0), 4: (1.0, 2.0), 10: (1.0, 1.0)}
    at = [max(begin for begin in gains if begin <= s) for s in t]
    columns = {
        "id": np.zeros(len(t), int),
        "t": t,
        "cc_pacing_gain": [gains[b][0] for b in at],
        "cc_cwnd_gain": [gains[b][1] for b in at],
        "cc_bw_bps": 1e6 * t,
    }
    pq.write_table(pa.table(columns), seen.directory / "flows.parquet")
    bbr = Seen(seen.directory, seen.result)
    names = ("startup", "drain", "probe_up", "probe_down", "cruise", "probe_rtt")
    assert [states.bbr_state(bbr, name) for name in names] == [0, 1, 2, 3, 4, 10]
    assert states.bbr_state(bbr, "probe_up", from_s=5) is None
    assert states.bbr_bw(bbr, 7.05) == pytest.approx(7)


def test_a_queue_that_drains_and_one_that_does_not(seen: Seen) -> None:
    """It grows by a packet each second."""
    assert states.drain_time(seen, 5) is None
    assert states.queued_s(seen, 10) == pytest.approx(10, abs=0.2)
    t = np.arange(0, 201) / 10
    pq.write_table(
        pa.table({"queue": ["bottleneck.forward"] * len(t), "t": t, "pkts": np.maximum(20 - 10 * np.abs(t - 2), 0)}),
        seen.directory / "queue.parquet",
    )
    tent = Seen(seen.directory, seen.result)
    assert states.drain_time(tent, 5) == pytest.approx(1.6)
    assert states.queued_s(tent, 5) == pytest.approx(3, abs=0.15)
