# SPDX-License-Identifier: GPL-2.0
"""Claims on links that no paper lists: what they make of given results."""

from pathlib import Path

import pytest

from harness import DELAY, Result, held, judge
from hetlab.claims import evaluate
from hetlab.model.job import Job
from papers import drawn
from papers.any_link import claims as any_link
from papers.any_link import draws

pytestmark = pytest.mark.fast


def flow(name: str, mbit: float, **more: float) -> Result:
    """A flow with one goodput, all the time."""
    return {"name": name, "goodput_mbit": mbit, "steady_goodput_mbit": mbit, "bytes_sent": 1000} | more


@pytest.mark.parametrize(
    ("mbit", "drops", "holds"),
    [(1.7, 150, True), (1.8, 150, False), (0.45, 100, True), (0.44, 100, False), (1, 151, False)],
)
def test_thresholds_beside_reno(tmp_path: Path, mbit: float, drops: int, holds: bool) -> None:
    """Four others with 1 Mbit/s each: 1.5 of the fair share is 12/7, a half 4/9; at one queue of three."""

    def result(job: Job) -> Result:
        at = job.cc == "westwood_fr" and job.name.endswith("queue_pkts=10]")
        others = [flow(f"other{i}", 1) for i in range(4)]
        return {"flows": [flow("main", mbit if at else 1), *others], "queue": {"drops": drops if at else 100}}

    assert (judge("any_link-beside-reno-westwood_fr", tmp_path, result).status == "holds") is holds


@pytest.mark.parametrize(("mbit", "again", "holds"), [(9.81, 10, True), (9.79, 10, False), (9.9, 11, False)])
def test_thresholds_alone(tmp_path: Path, mbit: float, again: int, holds: bool) -> None:
    def result(job: Job) -> Result:
        at = job.cc == "westwood_gfr" and job.name.endswith("queue_pkts=5]")
        return {"flows": [flow("main", mbit if at else 10, bytes_retrans=again if at else 0)]}

    assert judge("any_link-alone", tmp_path, result).verdicts["timestamps"].holds is holds


@pytest.mark.parametrize(("most", "worst", "holds"), [(12.1, 10.1, True), (11.9, 11.9, False), (18, 9.9, False)])
def test_the_worst_seed_must_hold(tmp_path: Path, most: float, worst: float, holds: bool) -> None:
    def result(job: Job) -> Result:
        return {"flows": [flow("main", worst if job.seed == 7 else most)]}

    assert (judge("any_link-geo", tmp_path, result).status == "holds") is holds


@pytest.mark.parametrize(("ours", "jain", "holds"), [("hybla_ext", 0.94, False), ("westwood_gfr", 0.81, True)])
def test_thresholds_of_four(tmp_path: Path, ours: str, jain: float, holds: bool) -> None:
    judged = judge("any_link-geo-four", tmp_path, lambda job: {"jain_steady": jain if job.cc == ours else 0.96})
    assert judged.verdicts["timestamps"].holds is holds


@pytest.mark.parametrize(("name", "least"), [("any_link-slots", 9), ("any_link-asym", 10)])
def test_thresholds_of_goodput(tmp_path: Path, name: str, least: float) -> None:
    """The kernel's have 10 Mbit/s; one that reaches the threshold and one that does not."""
    for mbit, holds in ((least, True), (least - 0.1, False)):

        def result(job: Job, mbit: float = mbit) -> Result:
            return {"flows": [flow("main", mbit if job.cc == "westwood_fr" else 10)]}

        judged = judge(name, tmp_path / str(holds), result)
        assert judged.verdicts["timestamps"].holds is holds


def waiting(mbit: float, p95_ms: float) -> Result:
    """One flow with this goodput, whose packets waited so long."""
    return {"flows": [flow("main", mbit)], "queueing_ms": DELAY | {"p95": p95_ms}}


@pytest.mark.parametrize(
    ("ours", "p95_ms", "other", "holds"),
    [(10, 50, 9, True), (9.9, 50, 9, False), (10, 51, 9, False), (10, 50, 8.9, False)],
)
def test_ahead_of_the_kernels(tmp_path: Path, ours: float, p95_ms: float, other: float, holds: bool) -> None:
    """bbr has 10 Mbit/s and 50 ms; at one satellite hybla_ext as much and no more, westwood_fr 0.9 of it."""

    def result(job: Job) -> Result:
        if job.cc == "hybla_ext":
            return waiting(ours, p95_ms) if job.name.endswith("@meo") else waiting(10, 50)
        return waiting(10 if job.cc == "bbr" else other, 50)

    assert held(judge("any_link-satellites", tmp_path, result)) is holds


@pytest.mark.parametrize(("mbit", "holds"), [(9, True), (8.9, False)])
def test_handovers(tmp_path: Path, mbit: float, holds: bool) -> None:
    def result(job: Job) -> Result:
        return waiting(mbit if job.cc == "westwood_fr" and "jitter_ms=3" in job.name else 10, 50)

    assert held(judge("any_link-leo", tmp_path, result)) is holds


@pytest.mark.parametrize(("mbit", "p95_ms", "holds"), [(9, 50, True), (8.9, 50, False), (10, 51, False)])
def test_microwave(tmp_path: Path, mbit: float, p95_ms: float, holds: bool) -> None:
    def result(job: Job) -> Result:
        return waiting(mbit, p95_ms) if job.cc == "westwood_fr" else waiting(10, 50)

    assert held(judge("any_link-microwave", tmp_path, result)) is holds


@pytest.mark.parametrize(("dropped", "holds"), [(100, True), (101, False)])
def test_fast_start(tmp_path: Path, dropped: int, holds: bool) -> None:
    def result(job: Job) -> Result:
        return {"flows": [flow("main", 1)], "queue": {"drops": 1000 if job.cc == "cubic" else dropped}}

    assert held(judge("any_link-fast-start", tmp_path, result)) is holds


@pytest.mark.parametrize(("third", "holds"), [(8.6, True), (8.4, False), (11.4, True), (11.6, False)])
def test_neighbouring_round_trips(tmp_path: Path, third: float, holds: bool) -> None:
    def result(job: Job) -> Result:
        ms = job.scenario.links["bottleneck"].forward.delay_ms
        ours = third if job.cc == "hybla_ext" else 10
        return {"flows": [flow("main", 10 if ms < 16 else ours)]}

    assert judge("any_link-border", tmp_path, result).verdicts["timestamps"].holds is holds


def test_claims_of_all_four_names() -> None:
    chosen = [c.id for c in evaluate.select(["any_link-beside-reno-"])]
    assert chosen == [
        f"any_link-beside-reno-{name}"
        for name in ("hybla_ext", "hybla_paper", "westwood_fr", "westwood_gfr", "hybla_ext-rtt0")
    ]


@pytest.mark.parametrize(("least", "others", "holds"), [(9, 9, True), (8, 10, False), (4, 10, False)])
def test_drawn_links(tmp_path: Path, least: float, others: float, holds: bool) -> None:
    """To the best in-tree goodput of the same draw, which has 10: 95 % of 16 are all."""

    def result(job: Job) -> Result:
        if job.cc not in any_link.BOTH:
            return {"flows": [{"goodput_mbit": 10 if job.cc == "bbr" else 1}]}
        return {"flows": [{"goodput_mbit": least if job.name.endswith(("d003", "d013")) else others}]}

    judged = judge("any_link-sweep", tmp_path, result)
    assert judged.verdicts["timestamps"].holds is holds
    assert least == others or "153 Mbit/s, 428 ms" in judged.verdicts["timestamps"].ours


def test_draws_are_those_of_the_scenario() -> None:
    """The file is what the generator makes, and all are in the ranges of the claim."""
    file = Path(draws.__file__).with_name("scenarios") / "sweep.toml"
    assert file.read_text() == draws.scenario(draws.SEED, draws.DRAWS)
    assert draws.scenario(2, 3) != draws.scenario(draws.SEED, 3)
    for number in range(1, 201):
        of = draws.draw(draws.SEED, number)
        assert 1 <= of.rate_mbit <= 200 and 5 <= of.rtt_ms <= 800 and of.queue_pkts >= drawn.LEAST_QUEUE_PKTS
        assert 0.1 <= of.queue_bdp <= 4 and 0 <= of.loss_percent <= 3
