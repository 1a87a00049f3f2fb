# SPDX-License-Identifier: GPL-2.0
"""Claims of the faster-recovery paper: what they make of given results."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from harness import Result, held, judge, write_table
from hetlab.claims import evaluate
from hetlab.claims.evidence import Evidence, RunKey, plan
from hetlab.model import jobs
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.result import known
from papers.common import need
from papers.faster_recovery import claims as fr
from papers.faster_recovery.claims import BY_PAPER, FR, GFR, RENO, SACK

pytestmark = pytest.mark.fast

Goodput = Callable[[str, str], float]


def kind(job: Job) -> str:
    """Congestion control, parameters included, as the claims name it."""
    return RENO if "@nosack" in job.name else label(job.cc, job.cc_params)


def verdict(name: str, out: Path, goodput: Goodput, other: Goodput = lambda _cc, _name: 1.0) -> evaluate.Judgement:
    """Of a claim where connections have this goodput, by congestion control and name of the scenario's point."""

    def result(job: Job) -> Result:
        at = kind(job), job.name
        found = {"main": goodput(*at), "other": other(*at)}
        pairs = [(f"{n}{i}", mbit) for n, mbit in found.items() for i in (0, 1)]
        flows = [
            {"name": n, "goodput_mbit": mbit, "steady_goodput_mbit": mbit, "retransmits": 0}
            for n, mbit in [*pairs, ("udp", 99.0)]
        ]
        return {"flows": flows}

    return judge(name, out, result)


def test_the_papers_reno_runs_without_sack() -> None:
    run = need("faster_recovery-onoff", RENO, flow__main__count=5)
    assert run == RunKey("faster_recovery-onoff@nosack[flow.main.count=5]", "reno")
    (job,) = plan([run], Evidence(Path()))
    assert job.scenario.sysctl["net.ipv4.tcp_sack"] == 0
    with_sack = jobs.parse_cc(need("faster_recovery-onoff", SACK, flow__main__count=5).cc)
    assert with_sack == jobs.Variant("reno")


def at_count(low: float, many: float) -> Goodput:
    """GFR has this for one connection, and for 20; 1.5 elsewhere; Reno 1.2, SACK 1.1."""
    ours = {"count=1]": low, "count=20]": many}
    rest = {RENO: 1.2, SACK: 1.1}
    return lambda cc, name: rest.get(cc) or ours.get(name.rpartition(".")[2], 1.5)


@pytest.mark.parametrize(
    ("low", "many", "holds"), [(1.21, 1.05, True), (1.2, 1.05, False), (1.15, 1.05, False), (1.21, 1.04, False)]
)
def test_thresholds_of_connections(tmp_path: Path, low: float, many: float, holds: bool) -> None:
    """Above the better of the two for few; 0.95 of SACK alone, that is 1.045, for many."""
    assert (verdict("faster_recovery-f2", tmp_path, at_count(low, many)).status == "holds") is holds


def of_cc(got: dict[str, float], cc: str, _name: str) -> float:
    """The same at every point."""
    return got[cc]


@pytest.mark.parametrize(
    ("fr", "gfr", "reno", "holds"), [(3, 2, 1, True), (2, 3, 1, False), (3, 2, 2, False), (3, 3, 1, False)]
)
def test_order_at_the_highest_rate(tmp_path: Path, fr: float, gfr: float, reno: float, holds: bool) -> None:
    """By the paper's rules; what the defaults have, best or worst, does not count."""
    got = {FR + BY_PAPER: fr, GFR + BY_PAPER: gfr, RENO: reno, SACK: 1}
    for default in (0.5, 9.0):
        every = got | {FR: default, GFR: default}
        assert held(verdict("faster_recovery-f3", tmp_path, partial(of_cc, every))) is holds


@pytest.mark.parametrize(
    ("ms", "fr", "holds"), [(100, 0.95, True), (100, 0.94, False), (150, 1.31, True), (150, 1.3, False)]
)
def test_thresholds_of_delays(tmp_path: Path, ms: int, fr: float, holds: bool) -> None:
    """A round trip of 200 ms is not above 0.2 s; there the default counts, Reno without SACK does not."""
    counts = FR if ms == 100 else FR + BY_PAPER
    rest = {RENO: 1.3, SACK: 1.0}

    def goodput(cc: str, name: str) -> float:
        at = name.endswith(f"delay_ms={ms}]")
        return rest.get(cc) or (1.4 if not at else fr if cc == counts else 0.1)

    judged = verdict("faster_recovery-f4", tmp_path, goodput)
    assert (judged.status == "holds") is holds


@pytest.mark.parametrize(("bad", "holds"), [(1, True), (2, False)])
def test_almost_all_points_of_random_losses(tmp_path: Path, bad: int, holds: bool) -> None:
    """At 2 Mbit/s Reno fills the link; of the other 17 points 90 % are 16. GFR is good everywhere."""
    worse = (
        "faster_recovery-random[flow.main.count=1]",
        "faster_recovery-random-delay[link.bottleneck.forward.delay_ms=10]",
    )[:bad]
    judged = verdict(
        "faster_recovery-f5", tmp_path, lambda cc, name: 2 if cc == GFR or (cc == FR and name not in worse) else 1
    )
    assert (judged.status == "holds") is holds
    said = judged.verdicts["timestamps"].ours
    assert f"{FR} {17 - bad} of 17" in said
    assert f"{GFR} 17 of 17" in said
    assert "full for all at 1 more" in said


def sustained(out: Path, first: float, others: float) -> evaluate.Judgement:
    """faster_recovery-f8, where ours have these rates from 100 s on and nothing before; Reno 1 Mbit/s all the time."""
    t = np.linspace(0, 200, 201)

    def result(job: Job) -> Result:
        ours = job.cc != "reno"
        octets = [np.maximum(t - 100, 0) * r * 125_000 if ours else t * 125_000 for r in (first, *[others] * 9)]
        columns = {"t": np.tile(t, 10), "id": np.repeat(np.arange(10), len(t))}
        write_table(out, job, "received", columns | {"bytes_received": np.concatenate(octets)})
        return {}

    return judge("fr-f8", out, result)


@pytest.mark.parametrize(("first", "others", "holds"), [(3.1, 3.1, True), (2.9, 4, False), (10, 2, False)])
def test_thresholds_of_the_last_100_s(tmp_path: Path, first: float, others: float, holds: bool) -> None:
    """Both the first connection and the mean; what numpy compared can be written as JSON, too."""
    judged = sustained(tmp_path, first, others)
    assert held(judged) is holds
    assert json.loads(judged.as_json())["sources"]["timestamps"]["holds"] is holds


def test_samples_within_5_percent_by_period() -> None:
    """Periods of 4 s: close in the last half; off for a fifth of it; off in the first half alone; off."""
    t = np.arange(0, 16, 0.02)
    errors = np.zeros(len(t))
    errors[(t >= 6) & (t < 6.4)] = -0.06
    errors[(t >= 8) & (t < 10)] = 9
    errors[t >= 12] = 0.051
    found = fr.within(t + 1e-9, errors, [4.0, 8.0, 12.0], 16.0)
    assert found == pytest.approx([1, 0.8, 1, 0], abs=0.011)
    assert list(fr.within(t[t < 8], errors[t < 8], [4.0, 8.0], 12.0))[-1] == 0, "no samples, no proof"


def estimate(out: Path, wrong: str, factor: float) -> evaluate.Judgement:
    """faster_recovery-bwe, where the estimate is right but in runs with this in their name."""

    def result(job: Job) -> Result:
        resolved = job.scenario
        t = np.arange(0, resolved.duration_s, 0.1) + 1e-3
        halves = t // resolved.events[0].at_s % 2
        rate = known(resolved.links["bottleneck"].forward.rate_mbit) * np.where(halves, 0.5, 1)
        octets = rate * 125_000 * 1448 / 1500 * (factor if wrong in resolved.name else 1)
        write_table(out, job, "flows", {"t": t, "id": [0] * len(t), "cc_rttcnt": octets})
        return {"queue": {"link": "bottleneck.forward"}}

    return judge("faster_recovery-bwe", out, result)


@pytest.mark.parametrize(
    ("wrong", "factor", "holds"),
    [
        ("faster_recovery-bwe", 1.04, True),
        ("faster_recovery-bwe", 0.96, True),
        ("slow@thinned[link.bottleneck.forward.rate_mbit=0", 1.06, False),
    ],
)
def test_thresholds_of_the_estimate(tmp_path: Path, wrong: str, factor: float, holds: bool) -> None:
    """Of both rates of the link; one run of 25 is enough to fail."""
    judged = estimate(tmp_path, wrong, factor)
    assert held(judged) is holds
    if not holds:
        assert "thinned: 0.00 of the samples, median +0.060 at 0.064 Mbit/s" in judged.verdicts["timestamps"].ours


@pytest.mark.parametrize(("gfr", "cubic", "holds"), [(3, 2, True), (2.9, 2, False), (3, 2.1, False)])
def test_threshold_of_the_satellite(tmp_path: Path, gfr: float, cubic: float, holds: bool) -> None:
    """Both of ours, the better of the two others; bbr does not count."""
    got = {GFR: gfr, "cubic": cubic, "bbr": 20, "westwood": 1.9}
    judged = verdict("faster_recovery-geo", tmp_path, lambda cc, _name: got.get(cc, 3.0))
    assert (judged.status == "holds") is holds


@pytest.mark.parametrize(("gfr", "holds"), [(4.83, True), (4.82, False)])
def test_threshold_of_a_longer_path(tmp_path: Path, gfr: float, holds: bool) -> None:
    """Two flows share what 20 Mbit/s carry: a half is 4.827 for each; the others do not count."""
    judged = verdict("faster_recovery-longer", tmp_path, lambda cc, _name: {FR: 6.0, GFR: gfr}.get(cc, 0.1))
    assert (judged.status == "holds") is holds


@pytest.mark.parametrize(("least", "holds"), [(0.97, True), (0.96, False)])
def test_threshold_of_friendliness(tmp_path: Path, least: float, holds: bool) -> None:
    """Two flows of each kind at 20 Mbit/s: a fair share of 4.83, a fifth of which is 0.965; Reno's own do not count."""
    judged = verdict(
        "faster_recovery-friendly-cubic-fifo",
        tmp_path,
        lambda _cc, _name: 8.0,
        lambda cc, name: (0.1 if cc == "reno" else least) if "delay_ms=100" in name else 5.0,
    )
    assert (judged.status == "holds") is holds
    assert "1.60 1.60 1.60 / 1.60 1.60 1.60 / 8." in judged.verdicts["timestamps"].ours
