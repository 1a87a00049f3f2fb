# SPDX-License-Identifier: GPL-2.0
"""Claims of the Hybla paper: its equations, and what the claims make of given results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import held, judge, write_table
from hetlab.claims import evaluate
from hetlab.model.congestion import label
from hetlab.model.job import Job
from papers.common import WITHOUT_SACK
from papers.hybla.claims import BOTH, CONGESTION, FAIR_MBIT, drawn_mbit
from papers.hybla.ideal import FLOOR_OURS, burst_over, longest_burst, normalised_rtt, off, sent_pkts, window_pkts
from papers.hybla.runs import (
    INTREE,
    JUDGED,
    LINK_MBIT,
    NEWRENO,
    OURS,
    PAPER,
    PAPER_NOSACK,
    SACK,
    SPACED,
    rtt_ms,
)

pytestmark = pytest.mark.fast

Goodput = Callable[[str, int, int], float]  # of congestion control, round trip in ms, lost percent


def kind(job: Job) -> str:
    """Congestion control, parameters included, as the claims name it."""
    return label(job.cc, job.cc_params) + WITHOUT_SACK * ("@nosack" in job.name)


def place(job: Job) -> tuple[int, int]:
    """Round trip in ms, and lost percent beside the background; -1: alone."""
    way = job.scenario.links["wireless"].forward
    alone = job.name.startswith("hybla-loss")
    return rtt_ms(way.delay_ms), -1 if alone else round(way.loss.percent)


def by_goodput(name: str, out: Path, main: Goodput, wired: float = FAIR_MBIT) -> evaluate.Judgement:
    """A claim where the foreground and the wired flows have these goodputs."""

    def result(job: Job) -> dict[str, Any]:
        values = {"main": main(kind(job), *place(job)), "wired": wired}
        return {"flows": [{"name": n, "goodput_mbit": mbit} for n, mbit in values.items()]}

    return judge(name, out, result)


@pytest.mark.parametrize(("rtt_s", "rho"), [(0.6, 24), (0.025, 1), (0.01, 1)])
def test_equation_5_has_a_floor(rtt_s: float, rho: float) -> None:
    assert normalised_rtt(rtt_s) == pytest.approx(rho)


@pytest.mark.parametrize("rtt_s", [0.025, 0.1, 0.6])
def test_equation_6(rtt_s: float) -> None:
    """rho times what the reference has: 1, twice that every 25 ms, 32 at 125 ms, one more every 25 ms."""
    t = np.array([-0.001, 0, 0.025, 0.1, 0.125, 0.15, 1.125])
    rho = rtt_s / 0.025
    assert window_pkts(t, rtt_s) == pytest.approx(rho * np.array([0, 1, 2, 16, 32, 33, 72]))


def test_equation_6_below_the_reference_round_trip() -> None:
    """Equation 2: at 10 ms 32 segments after 50 ms, then one more every 10 ms."""
    assert window_pkts(np.array([0.01, 0.05, 0.15]), 0.01) == pytest.approx([2, 32, 42])


@pytest.mark.parametrize("rtt_s", [0.01, 0.025, 0.1, 0.6])
def test_equation_8_is_the_integral_of_the_rate(rtt_s: float) -> None:
    """Equation 3, numerically."""
    t = np.linspace(0, 3, 300_001)
    rate = window_pkts(t, rtt_s) / rtt_s
    integral = np.concatenate(([0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(t))))
    assert sent_pkts(t, rtt_s)[::1000] == pytest.approx(integral[::1000], rel=1e-3, abs=0.5)
    assert sent_pkts(np.array([-1.0]), rtt_s) == [0]


def test_equation_8_does_not_know_the_round_trip() -> None:
    t = np.linspace(0, 10, 101)
    assert sent_pkts(t, 0.6) == pytest.approx(sent_pkts(t, 0.025))


def test_distance_from_a_band() -> None:
    """In tolerances of 10 % or 2 segments, whichever is more; inside it is below 0."""
    low, high = np.array([100.0, 10.0]), np.array([120.0, 10.0])
    assert off(np.array([110.0, 10.0]), low, high, 2) == pytest.approx(0)
    assert off(np.array([132.0, 10.0]), low, high, 2) == pytest.approx(1)
    assert off(np.array([80.0, 10.0]), low, high, 2) == pytest.approx(2)
    assert off(np.array([110.0, 13.0]), low, high, 2) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("departures", "longest"), [([0, 1, 2], 1), ([0, 0, 1, 1, 1, 2], 3), ([0, 1, 2, 2], 2), ([0.0], 1)]
)
def test_bursts(departures: list[float], longest: int) -> None:
    assert longest_burst(np.array(departures, float)) == longest


@pytest.mark.parametrize("rtt_s", [0.025, 0.6])
def test_burst_of_a_millisecond(rtt_s: float) -> None:
    """Equation 6 has 427 segments in 25 ms after 10 s, 1.2 times that is 20.5 a millisecond."""
    singles = np.arange(10) / 100
    for pkts in (20, 21):
        found = burst_over(np.concatenate((singles, np.full(pkts, 10.0))), rtt_s)
        assert found == pytest.approx(pkts / 20.496)


@pytest.mark.parametrize(("pkts", "over"), [(10, 1), (11, 1.1)])
def test_first_ten_segments_may_be_a_burst(pkts: int, over: float) -> None:
    assert burst_over(np.zeros(pkts), 0.6) == pytest.approx(over)


def test_a_burst_that_begins_among_the_first_ten() -> None:
    """Eight are left of those after the second."""
    assert burst_over(np.array([0, 0.001] + [0.1] * 12), 0.6) == pytest.approx(12 / 8)


# ------------------------------------------------------------- ideal channel


def ideal(name: str, out: Path, late_rtts: float, at_once: int = 1) -> bool:
    """Whether a claim holds where window and data follow the equations so late, so many segments at once."""

    def result(job: Job) -> dict[str, Any]:
        rtt_s = 2 * job.scenario.links["bottleneck"].forward.delay_ms / 1e3
        t = np.arange(0, 11, 0.005)
        cwnd = np.maximum(window_pkts(t - late_rtts * rtt_s, rtt_s), 1)
        columns = {"t": t + rtt_s, "id": np.zeros(len(t), int), "cwnd": cwnd}
        write_table(out, job, "flows", columns)
        fine = np.arange(0, 11, 0.0001)
        counted = sent_pkts(fine - late_rtts * rtt_s, rtt_s)
        leave = np.interp(np.arange(at_once, counted[-1], at_once), counted, fine)
        t = np.concatenate(([0], np.repeat(leave, at_once)))
        write_table(out, job, "owd-s-d", {"t": t + rtt_s, "owd_ms": t})
        return {"queue": {"link": "bottleneck.forward"}}

    return bool(judge(name, out, result).verdicts["timestamps"].holds)


@pytest.mark.build
@pytest.mark.parametrize(
    ("name", "late_rtts", "holds"),
    [
        ("hybla-f2", 0, True),
        ("hybla-f2", 1, False),
        ("hybla-f2-acks", 1.9, True),
        ("hybla-f2-acks", 4, False),
        ("hybla-f4", 0.1, True),
        ("hybla-f4", 2, False),
        ("hybla-f4-acks", 1.9, True),
        ("hybla-f4-acks", 4, False),
    ],
)
def test_course_on_an_ideal_channel(tmp_path: Path, name: str, late_rtts: float, holds: bool) -> None:
    assert ideal(name, tmp_path, late_rtts) is holds


@pytest.mark.build
@pytest.mark.parametrize("name", ["hybla-f4-spacing", "hybla-f4-spacing-ms"])
@pytest.mark.parametrize(("at_once", "holds"), [(2, True), (3, False)])
def test_spacing_leaves_no_burst(tmp_path: Path, name: str, at_once: int, holds: bool) -> None:
    assert ideal(name, tmp_path, 0, at_once) is holds


@pytest.mark.parametrize(("change", "holds"), [(0, True), (1, False)])
def test_floor_is_renos_window_to_the_segment(tmp_path: Path, change: int, holds: bool) -> None:
    def result(job: Job) -> dict[str, Any]:
        cwnd = np.arange(1, 101) + (np.arange(100) == 50) * change * (kind(job) == FLOOR_OURS)
        columns = {"t": np.arange(100) / 100, "id": np.zeros(100, int), "cwnd": cwnd}
        write_table(tmp_path, job, "flows", columns)
        return {"queue": {"link": "bottleneck.forward"}}

    assert (judge("hybla-rho-floor", tmp_path, result).status == "holds") is holds


@pytest.mark.parametrize(("drops", "holds"), [(9, True), (10, False)])
def test_start_up_loses_less_than_1_percent(tmp_path: Path, drops: int, holds: bool) -> None:
    """Of 1000 segments; others may lose more."""

    def result(job: Job) -> dict[str, Any]:
        flow = {"name": "main", "goodput_mbit": 8.0, "bytes_sent": 1000 * 1024}
        return {"flows": [flow], "queue": {"drops": drops if kind(job) == OURS else 500}}

    assert (judge("hybla-ssthresh", tmp_path, result).status == "holds") is holds


# ---------------------------------------------------- congestion, link losses


def test_round_trips_of_those_that_are_compared() -> None:
    """All for the judged one; Reno wherever it is compared, the others at the ends, 100 and 300 ms."""
    assert list(CONGESTION[JUDGED]) == [25, 50, 100, 200, 300, 400, 500, 600]
    assert [list(CONGESTION[cc]) for cc in (SACK, NEWRENO)] == [[25, 100, 300, 400, 500, 600]] * 2
    assert {tuple(CONGESTION[cc]) for cc in CONGESTION if cc not in (JUDGED, SACK, NEWRENO)} == {(25, 100, 300, 600)}


def test_congestion_without_losses_is_run_once() -> None:
    needs = {n for name in ("hybla-f6", "hybla-f8") for n in evaluate.select([name])[0].needs}
    assert not [n for n in needs if "percent=0" in n.scenario]
    assert all(BOTH[cc, 0] is CONGESTION[cc] for cc in (PAPER, OURS, SACK))


@pytest.mark.parametrize(
    ("last", "reno", "wired", "holds"),
    [
        (0.71, 0.1, 0.81, True),
        (0.69, 0.1, 0.81, False),
        (0.71, 0.15, 0.81, False),
        (0.71, 0.1, 0.79, False),
    ],
)
def test_thresholds_of_congestion(tmp_path: Path, last: float, reno: float, wired: float, holds: bool) -> None:
    """In fair shares: 0.7 of 1 at 600 ms, five times Reno's, 0.8 of the wired flows."""

    def main(cc: str, ms: int, _percent: int) -> float:
        return FAIR_MBIT * (reno if cc in (SACK, NEWRENO) else last if ms == 600 else 1)

    assert (by_goodput("hybla-f6", tmp_path, main, wired * FAIR_MBIT).status == "holds") is holds


def test_a_low_share_everywhere_is_not_enough(tmp_path: Path) -> None:
    judgement = by_goodput("hybla-f6", tmp_path, lambda cc, _ms, _p: 0.59 * FAIR_MBIT if cc == JUDGED else 0.01)
    assert judgement.status == "FAILS"


@pytest.mark.parametrize(("share", "newreno", "holds"), [(1.01, 0.2, True), (0.99, 0.19, False), (1.01, 0.22, False)])
def test_thresholds_of_link_losses(tmp_path: Path, share: float, newreno: float, holds: bool) -> None:
    """Figure 7 as a line from 3 to 2 Mbit/s; ten times NewReno from 400 ms on, not at 300."""
    assert (drawn_mbit(25), drawn_mbit(600)) == (3, 2)

    def main(cc: str, ms: int, _percent: int) -> float:
        return share * drawn_mbit(ms) if cc == JUDGED else newreno if ms > 300 else 2

    assert (by_goodput("hybla-f7", tmp_path, main).status == "holds") is holds


@pytest.mark.parametrize(
    ("one", "five", "alone", "holds"), [(0.51, 0.26, 0.5, True), (0.49, 0.26, 0.4, False), (0.51, 0.24, 0.5, False)]
)
def test_thresholds_of_both(tmp_path: Path, one: float, five: float, alone: float, holds: bool) -> None:
    """In fair shares where there is background, in shares of the link alone."""
    shares = {0: 1.0, 1: one, 5: five}

    def main(_cc: str, _ms: int, percent: int) -> float:
        return alone * LINK_MBIT if percent < 0 else shares[percent] * FAIR_MBIT

    assert held(by_goodput("hybla-f8", tmp_path, main)) is holds


def test_joint_loss_above_the_product_of_both(tmp_path: Path) -> None:
    """0.6 of what congestion leaves, where link losses alone leave 0.7."""

    def main(_cc: str, _ms: int, percent: int) -> float:
        return {-1: 0.7 * LINK_MBIT, 0: FAIR_MBIT, 1: 0.6 * FAIR_MBIT, 5: FAIR_MBIT}[percent]

    assert not held(by_goodput("hybla-f8", tmp_path, main))


# ------------------------------------------------------------------ fairness


def test_seven_runs_tell_of_fairness() -> None:
    needs = evaluate.select(["hybla-f9"])[0].needs
    assert {(n.scenario, n.cc) for n in needs} == {
        *(("hybla-fair", cc) for cc in (PAPER, SPACED, OURS, INTREE, SACK)),
        *(("hybla-fair@nosack", cc.removesuffix(WITHOUT_SACK)) for cc in (NEWRENO, PAPER_NOSACK)),
    }


@pytest.mark.parametrize(("jain", "holds"), [(0.95, True), (0.949, False)])
def test_threshold_of_fairness(tmp_path: Path, jain: float, holds: bool) -> None:
    flows = [{"name": f"{name}{i}", "goodput_mbit": 1.0} for name in ("main", "wired") for i in range(3)]
    judgement = judge(
        "hybla-f9-f10", tmp_path, lambda job: {"flows": flows, "jain": jain if kind(job) == JUDGED else 0.5}
    )
    assert (judgement.status == "holds") is holds


@pytest.mark.parametrize(("mbit", "again", "holds"), [(1.1, 50, True), (1.0, 50, False), (1.1, 51, False)])
def test_thresholds_of_spacing(tmp_path: Path, mbit: float, again: int, holds: bool) -> None:
    """Sum above, half of the 100 in 1000 bytes sent again; half is enough."""

    def result(job: Job) -> dict[str, Any]:
        good, resent = (mbit, again) if kind(job) == SPACED else (1.0, 100)
        flow = {"goodput_mbit": good, "bytes_sent": 1000, "bytes_retrans": resent}
        return {"flows": [flow | {"name": f"{name}{i}"} for name in ("main", "wired") for i in range(3)]}

    assert (judge("hybla-f11", tmp_path, result).status == "holds") is holds
