# SPDX-License-Identifier: GPL-2.0
"""Claims about LANs, company, links that change and random draws: what they make of given results."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import Result, claim, judge, run_of, write_table
from hetlab.claims import evaluate
from hetlab.claims.evidence import PACKET, PAYLOAD, Evidence, Floats, plan
from hetlab.model.job import Job
from papers.real_networks import company, draws, varying
from papers.real_networks import measured as m

pytestmark = pytest.mark.fast
DELAY = {"p95": 0.0}
FOUR_OF_RENO = [{"name": f"other{i}"} for i in range(4)]


def of_cc(ours: Result, theirs: Result) -> Callable[[Job], Result]:
    """Results of santacruz, and of all others."""
    return lambda job: ours if job.cc == m.CC else theirs


def one(mbit: float, p95_ms: float, steady_mbit: float = 0, **more: Any) -> Result:
    """One flow's result."""
    flow = {"goodput_mbit": mbit, "steady_goodput_mbit": steady_mbit, "complete": True}
    delay = dict.fromkeys(("mean", "variance", "min", "p50", "p95", "p99", "packets"), 0) | {"p95": p95_ms}
    return {"flows": [flow | more], "queueing_ms": delay, "queue": {"drops": 0}}


def held(judged: evaluate.Judgement) -> bool:
    """Whether what was measured satisfies it; a cause, which some have today, does not count here."""
    return all(verdict.holds for verdict in judged.verdicts.values())


def holds(name: str, tmp_path: Path, result: Callable[[Job], Result]) -> bool:
    return held(judge(name, tmp_path, result))


@pytest.mark.parametrize(
    ("name", "theirs", "good", "bad"),
    [
        ("lan", one(960, 1.0), [one(913, 1.0), one(1000, 0.1)], [one(911, 1.0), one(960, 1.1)]),
        ("5g", one(100, 50), [one(97.1, 50), one(120, 1)], [one(96.9, 1), one(100, 50.1)]),
        ("slots", one(40, 10), [one(36.1, 10)], [one(35.9, 1), one(40, 10.1)]),
        ("transfers", one(1, 0, end_s=5.0), [one(1, 0, end_s=5.0)], [one(1, 0, end_s=5.1), one(1, 0, complete=False)]),
    ],
)
def test_beside_others_of_the_kernel(
    tmp_path: Path, name: str, theirs: Result, good: list[Result], bad: list[Result]
) -> None:
    for ours, expected in [*((r, True) for r in good), *((r, False) for r in bad)]:
        assert holds(f"real_networks-{name}", tmp_path, of_cc(ours, theirs)) is expected, ours


def test_nobody_may_be_better_in_both(tmp_path: Path) -> None:
    """The mean of the rates of rate-steps is 15.57 Mbit/s and no other than that counts."""
    capacity = 14
    for mbit, p95_ms, expected in ((capacity * 0.9, 100, True), (capacity * 0.6, 100, False), (13.0, 201, False)):
        ours, theirs = one(mbit, p95_ms), one(capacity, 200)
        assert holds("real_networks-rate-steps", tmp_path, of_cc(ours, theirs)) is expected


@pytest.mark.parametrize(("drops", "jain", "expected"), [(120, 0.95, True), (121, 0.95, False), (120, 0.949, False)])
def test_drops_of_many(tmp_path: Path, drops: int, jain: float, expected: bool) -> None:
    ours = {"queue": {"drops": drops}, "jain_steady": jain}
    assert holds("real_networks-many", tmp_path, of_cc(ours, {"queue": {"drops": 100}, "jain_steady": 1})) is expected


@pytest.mark.parametrize(("jain", "queue", "expected"), [(0.97, 8, True), (0.969, 8, False), (0.97, 8.1, False)])
def test_equal_flows(tmp_path: Path, jain: float, queue: float, expected: bool) -> None:
    result = {"flows": [{}, {"name": "main2"}], "jain_steady": jain, "queue": {"steady_mean_pkts": queue}}
    assert holds("real_networks-equal", tmp_path, lambda _job: result) is expected


@pytest.mark.parametrize(
    ("name", "share", "expected"),
    [
        ("beside-reno", 0.51, True),
        ("beside-reno", 0.49, False),
        ("beside-reno", 1.49, True),
        ("beside-reno", 1.51, False),
        ("forged", 0.1, True),
        ("forged", 1.49, True),
        ("forged", 1.51, False),
        ("company-two", 0.61, True),
        ("company-two", 0.59, False),
        ("company-two", 1.41, False),
        ("company-fq", 0.91, True),
        ("company-fq", 0.89, False),
    ],
)
def test_shares_beside_others(tmp_path: Path, name: str, share: float, expected: bool) -> None:
    """Of five flows one has this share of the mean; of all that they have together, 20 Mbit/s."""
    mbit = share * 4
    rest = (20 - mbit) / 4
    flows: list[Result] = [{"goodput_mbit": mbit, "steady_goodput_mbit": mbit}]
    flows += [flow | {"goodput_mbit": rest, "steady_goodput_mbit": rest} for flow in FOUR_OF_RENO]
    assert holds(f"real_networks-{name}", tmp_path, lambda _job: {"flows": flows}) is expected


@pytest.mark.parametrize(("share", "p95_ms", "expected"), [(0.91, 25, True), (0.89, 25, False), (0.91, 25.1, False)])
def test_steps_of_the_delay(tmp_path: Path, share: float, p95_ms: float, expected: bool) -> None:
    result = one(1, p95_ms, steady_mbit=12 * share * PAYLOAD / PACKET)
    assert holds("real_networks-delay-step", tmp_path, lambda _job: result) is expected


@pytest.mark.parametrize(("mean_s", "max_s", "expected"), [(0.5, 0.6, True), (0.51, 0.6, False), (0.5, 0.61, False)])
def test_bursts_are_no_later(tmp_path: Path, mean_s: float, max_s: float, expected: bool) -> None:
    empty = dict.fromkeys(("p50_s", "p95_s", "p99_s", "small_p95_s", "medium_p95_s", "large_p95_s"))
    done = {"kind": "message", "n": 23, "done": 23, "bytes": 1} | empty
    lacking = {"flows": [{"completion": done | {"done": 22, "mean_s": 0.1, "max_s": 0.1}}]}
    assert not holds("real_networks-bursts", tmp_path, lambda _job: lacking)
    ours, theirs = (
        {"flows": [{"completion": done | {"mean_s": mean, "max_s": worst}}]}
        for mean, worst in ((mean_s, max_s), (0.5, 0.6))
    )
    assert holds("real_networks-bursts", tmp_path, of_cc(ours, theirs)) is expected


def with_tables(name: str, out: Path, result: Result, tables: Callable[[Job], dict[str, dict[str, Any]]]) -> bool:
    """Whether a claim holds when its runs have these series."""
    chosen, evidence = claim(name), Evidence(out)
    for job in plan(chosen.needs, evidence):
        evidence.add(run_of(job, result))
        for table, columns in tables(job).items():
            write_table(out, job, table, columns)
    return held(evaluate.judge([chosen], evidence)[0])


def received(shares: list[Floats], mbit: float) -> dict[str, Any]:
    """What each flow with these shares of the link in each second has received."""
    t = np.arange(len(shares[0]) + 1.0)
    rows = [np.append(0, np.cumsum(share)) * mbit * 1e6 / 8 * PAYLOAD / PACKET for share in shares]
    ids = np.repeat(np.arange(len(rows)), len(t))
    return {"id": ids, "t": np.tile(t, len(rows)), "bytes_received": np.concatenate(rows)}


def owd(late_ms: Floats) -> dict[str, Any]:
    """One-way delays of ten packets a second, with the least of all at the begin."""
    values = np.repeat(late_ms, 10) + 20
    values[0] = 20
    return {"t": np.arange(len(values)) / 10, "owd_ms": values}


@pytest.mark.parametrize(
    ("beside_ms", "after_ms", "used", "expected"),
    [(7, 4, 0.46, True), (7.1, 4, 0.46, False), (7, 4.2, 0.46, False), (7, 4, 0.44, False)],
)
def test_beside_and_after_udp(tmp_path: Path, beside_ms: float, after_ms: float, used: float, expected: bool) -> None:
    """Alone 3 ms; from 20 to 50 s UDP takes half the link; the ten seconds after each change may be anything."""
    late, share = np.full(80, 3.0), np.full(80, 0.99)
    late[20:30] = late[50:60] = 90
    late[30:50], late[60:] = beside_ms, after_ms
    share[20:50] = used
    tables = {"received": received([share], 20), "owd-s-d": owd(late)}
    assert (
        with_tables("real_networks-cbr", tmp_path, {"flows": [{}], "queue": {"drops": 0}}, lambda _j: tables)
        is expected
    )


@pytest.mark.parametrize(
    ("wrong", "cubic_share", "expected"),
    [((), 0.5, True), ((60, 70), 0.5, True), ((60, 110), 0.5, False), ((), 0.2, False)],
)
def test_company_that_comes_and_goes(
    tmp_path: Path, wrong: tuple[int, ...], cubic_share: float, expected: bool
) -> None:
    """A flow that has the link but in company; the delay is wrong for 10 or for 20 of the 140 s that are judged."""
    late, mine, other = np.full(250, 3.0), np.ones(250), np.zeros(250)
    if wrong:
        late[slice(*wrong)] = 40
    for name, (begin, end) in company.IN_COMPANY.items():
        mine[begin:end] = {"cubic": cubic_share, "reno": 1 / 3}.get(name, 0.5)
        other[begin:end] = 1 - mine[begin:end]
    tables = {"received": received([mine, other], 20), "owd-s-d": owd(late)}
    result = {"flows": [{}, {"name": "cubic"}], "queue": {"drops": 0}}
    assert with_tables("real_networks-mix", tmp_path, result, lambda _job: tables) is expected


@pytest.mark.parametrize(("worse", "share", "expected"), [(0, 0.86, True), (1, 0.86, False), (0, 0.84, False)])
def test_draws(tmp_path: Path, worse: int, share: float, expected: bool) -> None:
    """Of ten draws not one may be below 0.85: 0.9 of them is less than 0.95."""
    numbers = {job: i for i, job in varying.DRAWN.items()}

    def tables(job: Job) -> dict[str, dict[str, Any]]:
        number = next(i for run, i in numbers.items() if run.scenario == job.name)
        of = draws.draw(draws.SEED, number)
        part = (0.8 if number <= worse else share) * (1 - of.loss_percent / 100)
        return {"received": received([np.full(int(of.duration_s) + 1, part)], of.rate_mbit)}

    result = {"flows": [{}], "queue": {"drops": 0}}
    assert with_tables("real_networks-sweep-few", tmp_path, result, tables) is expected


def test_draws_are_those_of_the_scenario() -> None:
    """The file is what the generator makes, a draw does not depend on how many there are, and all are in range."""
    file = Path(m.__file__).with_name("scenarios") / "sweep.toml"
    assert file.read_text() == draws.scenario(draws.SEED, draws.DRAWS)
    few = tomllib.loads(draws.scenario(draws.SEED, 3))["variant"]
    every = tomllib.loads(file.read_text())["variant"]
    assert list(few.items()) == list(every.items())[:3]
    assert tomllib.loads(draws.scenario(2, 3))["variant"] != few
    found = [draws.draw(draws.SEED, i) for i in range(1, draws.DRAWS + 1)]
    for of in found:
        assert 1 <= of.rate_mbit <= 1000 and 5 <= of.rtt_ms <= 600 and -100 <= of.step_ms <= 200
        assert 0 <= of.jitter_ms <= 10 and 0 <= of.loss_percent <= 2 and 0.3 <= of.queue_bdp <= 4
        assert all(b - a > 2.999 for a, b in of.windows())
    assert {of.way for of in found} == {"forward", "reverse", "both"}
    assert min(of.step_ms for of in found) < -90 and max(of.rate_mbit for of in found) > 900
