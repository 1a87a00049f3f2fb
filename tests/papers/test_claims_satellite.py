# SPDX-License-Identifier: GPL-2.0
"""Claims on satellite links: what they make of given results."""

from pathlib import Path

import numpy as np
import pytest

from harness import Result, held, judge, write_table
from hetlab.claims import evaluate
from hetlab.model import files, resolve
from hetlab.model.job import Job
from papers.satellite.claims import ASYM_RIVALS, KERNEL, OURS, RTT_FAIR_MBIT, path_ms

pytestmark = pytest.mark.fast

SWEPT_QUEUE = "link.satellite.forward.queue_bdp"


def said(judged: evaluate.Judgement) -> str:
    """What was measured."""
    return judged.verdicts["timestamps"].ours


def delayed(out: Path, job: Job, queueing_ms: float) -> None:
    """As many packets per second as there are, all of which wait so long; one in ten is lost."""
    t = np.arange(0, job.scenario.duration_s, 0.1) + 0.013
    owd_ms = queueing_ms + path_ms(job.scenario, t + 0.04)
    owd_ms[::10] = np.nan
    write_table(out, job, "owd-s-d", {"t": t, "owd_ms": owd_ms})


def flow(name: str, mbit: float, **more: float) -> Result:
    """A flow with one goodput, all the time."""
    return {"name": name, "goodput_mbit": mbit, "steady_goodput_mbit": mbit} | more


def test_names_begin_as_those_of_the_paper() -> None:
    chosen = [c.id for c in evaluate.select(["satellite-"])]
    whole = [
        "satellite-start",
        "satellite-resume",
        "satellite-resume-fallen",
        "satellite-geo",
        "satellite-leo",
        "satellite-asym",
        "satellite-rtt",
        "satellite-rtt-fifo",
        "satellite-rtt-deep",
        "satellite-friend",
    ]
    assert chosen == whole


def test_delay_of_a_path_that_changes() -> None:
    (leo,) = files.load("satellite-leo")
    resolved = resolve.resolve(leo)
    arrived = np.array([0.1, 15.04, 15.06, 30.04, 30.06, 45.06, 60.06, 74.9])
    assert path_ms(resolved, arrived) == pytest.approx([20, 20, 30, 30, 20, 35, 22.5, 22.5])
    (geo, _deep) = files.load("satellite-geo")
    assert path_ms(resolve.resolve(geo), arrived) == pytest.approx([300] * 8)


def test_leo_profile_is_the_issues() -> None:
    """Round trips of 40 ms and steps of 20 to 30, 50 to 200 Mbit/s, 100 ms without anything both ways."""
    (leo,) = files.load("satellite-leo")
    events = resolve.resolve(leo).events
    ahead = [e for e in events if e.way == "forward"]
    rtts_ms = [40, *(2 * e.delay_ms for e in ahead if e.delay_ms is not None)]
    assert np.abs(np.diff(rtts_ms)).min() >= 20
    assert np.abs(np.diff(rtts_ms)).max() <= 30
    rates_mbit = {e.rate_mbit for e in ahead if e.rate_mbit is not None}
    assert (min(rates_mbit), max(rates_mbit)) == (50, 200)
    for way in ("forward", "reverse"):
        outages = [(e.at_s, e.loss_percent) for e in events if e.way == way and e.loss_percent is not None]
        assert outages == [(t + late, lost) for t in (15, 30, 45, 60) for late, lost in ((0, 100), (0.1, 0))]


# ------------------------------------------------------------------ start-up


def transfers(took_s: float, retransmits: int, drops: int, complete: bool = True) -> Result:
    """Three, of which the last takes so long and has what is sent again; 6906 packets."""
    quick = {"start_s": 0.0, "end_s": 2.0, "complete": True, "retransmits": 0, "bytes_sent": 10_000_000}
    last = {"start_s": 60.0, "end_s": 60 + took_s, "complete": complete, "retransmits": retransmits}
    flows = [{"name": "main"} | quick, {"name": "medium"} | quick, {"name": "large"} | quick | last]
    return {"flows": flows, "queue": {"drops": drops}}


@pytest.mark.parametrize(
    ("took_s", "retransmits", "drops", "complete", "holds"),
    [
        (6.059, 69, 999, True, True),
        (6.061, 0, 0, True, False),
        (6.0, 70, 999, True, False),
        (6.0, 70, 69, True, True),
        (6.0, 0, 0, False, False),
    ],
)
def test_thresholds_of_start_up(
    tmp_path: Path, took_s: float, retransmits: int, drops: int, complete: bool, holds: bool
) -> None:
    """The first of the others needs 6 s; with one buffer of the two is enough to fail."""

    def result(job: Job) -> Result:
        if job.cc == OURS and job.name.endswith(f"{SWEPT_QUEUE}=0.5]"):
            return transfers(took_s, retransmits, drops, complete)
        return transfers(6.0 if job.cc in (OURS, "vegas") else 8.0, 0 if job.cc == OURS else 1500, 1500)

    judged = judge("satellite-start", tmp_path, result)
    assert (judged.status == "holds") is holds
    assert "10 MB, 1 BDP: 6.00 s, dropped 0.0000; first vegas 6.00 s" in said(judged)


def test_who_never_finishes_is_not_the_first(tmp_path: Path) -> None:
    def result(job: Job) -> Result:
        done = job.cc != KERNEL[0]
        return transfers(6.0 if done else 1.0, 0, 0, done)

    assert judge("satellite-start", tmp_path, result).status == "holds"


# ---------------------------------------------------------------- remembered


def second(took_s: float, retransmits: int = 0, complete: bool = True) -> Result:
    """The transfer that may remember, after one that is not judged."""
    main = {"name": "main", "start_s": 60.0, "end_s": 60 + took_s, "complete": complete, "retransmits": retransmits}
    return {"flows": [{"name": "first", "end_s": 99.0, "complete": False, "retransmits": 99}, main]}


@pytest.mark.parametrize(
    ("remembered", "not_remembered", "holds"),
    [
        (second(4.79), second(6.69, 999), True),
        (second(4.81), second(6.69), False),
        (second(4.79), second(6.71), False),
        (second(4.79, complete=False), second(6.69), False),
    ],
)
def test_thresholds_of_the_remembered(tmp_path: Path, remembered: Result, not_remembered: Result, holds: bool) -> None:
    """With one of the two buffers is enough to fail; other modules are slow."""

    def result(job: Job) -> Result:
        if job.cc != OURS:
            return second(50)
        if not job.name.endswith("=1]"):
            return second(4)
        return remembered if job.cc_params else not_remembered

    judged = judge("satellite-resume", tmp_path, result)
    assert held(judged) is holds
    assert "cubic, 1 BDP: 50.00 s, 0" in said(judged)


@pytest.mark.parametrize(
    ("remembered", "holds"),
    [(second(30.2, 10), True), (second(30.4, 10), False), (second(20, 11), False), (second(20, 0, False), False)],
)
def test_thresholds_of_the_fallen(tmp_path: Path, remembered: Result, holds: bool) -> None:
    """Not remembered it takes 30 s and sends 10 again."""

    def result(job: Job) -> Result:
        return remembered if job.cc_params else second(30, 10)

    assert held(judge("satellite-resume-fallen", tmp_path, result)) is holds


# ------------------------------------------------------------- loss, LEO, GEO


@pytest.mark.parametrize(("mbit", "queueing_ms", "holds"), [(14, 99, True), (13.9, 10, False), (19, 101, False)])
def test_thresholds_of_random_loss(tmp_path: Path, mbit: float, queueing_ms: float, holds: bool) -> None:
    """In the deeper buffer; the in-tree module does not count."""

    def result(job: Job) -> Result:
        ours_deep = job.cc == OURS and job.name.endswith("=1]")
        delayed(tmp_path, job, queueing_ms if ours_deep else 5)
        return {"flows": [flow("main", mbit if ours_deep else 15 if job.cc == OURS else 1)]}

    judged = judge("satellite-geo", tmp_path, result)
    assert (judged.status == "holds") is holds
    assert f"hybla_ext, 1 BDP: {mbit / 20:.2f}, {queueing_ms:.1f} ms" in said(judged)
    assert "hybla, 0.5 BDP: 0.05, 5.0 ms" in said(judged)


@pytest.mark.parametrize(("mbit", "queueing_ms", "holds"), [(95, 9, True), (94.9, 9, False), (120, 10, False)])
def test_thresholds_of_handovers(tmp_path: Path, mbit: float, queueing_ms: float, holds: bool) -> None:
    """The best has 100 Mbit/s, cubic waits 10 ms; steps of the path are no queueing."""

    def result(job: Job) -> Result:
        delayed(tmp_path, job, {OURS: queueing_ms, "cubic": 10, "bbr": 1}.get(job.cc, 50))
        return {"flows": [flow("main", {OURS: mbit, "bbr": 100, "hybla": 500}.get(job.cc, 80))]}

    judged = judge("satellite-leo", tmp_path, result)
    assert judged.verdicts["timestamps"].holds is holds
    assert f"hybla_ext: {queueing_ms:.1f}, cubic: 10.0, bbr: 1.0, illinois: 50.0" in said(judged)


# ---------------------------------------------------------------- asymmetric


@pytest.mark.parametrize(("mbit", "holds"), [(28.5, True), (28.4, False)])
@pytest.mark.parametrize("where", ["satellite-asym[", "satellite-asym@cubic[", "ack_filter=True]", "bdp=0.167,"])
def test_threshold_of_the_asymmetric_link(tmp_path: Path, where: str, mbit: float, holds: bool) -> None:
    """The best has 30 Mbit/s; what the upload has does not count."""

    def result(job: Job) -> Result:
        delayed(tmp_path, job, 25)
        write_table(tmp_path, job, "flows", {"id": [0, 1, 1, 1], "srtt_us": [9, 700_000, 800_000, 900_000]})
        rival = 30 if job.cc == ASYM_RIVALS[-1] else 20
        ours = mbit if where in job.name else 39
        return {"flows": [flow("main", ours if job.cc == OURS else rival), flow("upload", 2)]}

    judged = judge("satellite-asym", tmp_path, result)
    assert (judged.status == "holds") is holds
    assert "100 ms, own upload" in said(judged)
    assert "illinois 30.0 Mbit/s, p95 25 ms; upload 0.50 of its link, 800 ms" in said(judged)


# ------------------------------------------------- RTT independence, friends


SHARES = [
    *(("satellite-rtt", share, holds) for share, holds in ((0.81, True), (1.19, True), (0.79, False), (1.21, False))),
    *(
        ("satellite-rtt-fifo", share, holds)
        for share, holds in ((0.21, True), (1.19, True), (0.19, False), (1.21, False))
    ),
    *(
        ("satellite-rtt-deep", share, holds)
        for share, holds in ((0.21, True), (1.19, True), (0.19, False), (1.21, False))
    ),
]


@pytest.mark.parametrize(("name", "share", "holds"), SHARES)
@pytest.mark.parametrize(("percent", "leg_ms"), [(0, 187.5), (0, 287.5), (1, 87.5)])
def test_thresholds_of_shares(
    tmp_path: Path, name: str, share: float, holds: bool, percent: int, leg_ms: float
) -> None:
    """Mean of the seeds, at one point of twelve; the other module, which starves, does not count."""

    def result(job: Job) -> Result:
        leg = job.scenario.links["wireless"].forward
        there = (leg.loss.percent, leg.delay_ms) == (percent, leg_ms)
        ours = share + {1: -0.3, 2: 0.3, 3: -0.1, 4: 0.1}[job.seed] if there else 1.0
        return {"flows": [flow("main", RTT_FAIR_MBIT * (ours if job.cc == OURS else 0.1)), flow("wired0", 1)]}

    judged = judge(name, tmp_path, result)
    assert held(judged) is holds
    assert f"{round(25 + 2 * leg_ms)}: {share:.2f}" in said(judged)
    other = "hybla" if name == "satellite-rtt" else "reno"
    assert f"{other} 1 %: 25: 0.10, 50: 0.10, 100: 0.10, 200: 0.10, 400: 0.10, 600: 0.10" in said(judged)


def test_short_paths_are_only_not_to_take_more_behind_drop_tail(tmp_path: Path) -> None:
    """Below 200 ms twice Reno's may be more than fair."""

    def result(job: Job) -> Result:
        short = job.scenario.links["wireless"].forward.delay_ms < 87.5
        ours = 0.2 if short else 1.0
        return {"flows": [flow("main", RTT_FAIR_MBIT * (ours if job.cc == OURS else 0.3)), flow("wired0", 1)]}

    assert judge("satellite-rtt-fifo", tmp_path, result).status == "holds"


@pytest.mark.parametrize("leg_ms", [0, 287.5])
@pytest.mark.parametrize(("mbit", "holds"), [(3.3, True), (3.31, False)])
def test_threshold_of_friendliness(tmp_path: Path, leg_ms: float, mbit: float, holds: bool) -> None:
    """Reno has 3 Mbit/s in its place and leaves 16 to the others; bbr takes more and does not count."""

    def result(job: Job) -> Result:
        there = job.scenario.links["wireless"].forward.delay_ms == leg_ms
        main = {OURS: mbit if there else 3.0, "reno": 3.0}.get(job.cc, 17.0)
        spared = 12.0 if job.cc == OURS and there else 16.0
        others = [
            flow(f"{name}{i}", spared / 4, bytes_sent=1000, bytes_retrans=10 * (i + 1))
            for name in ("cubic", "reno")
            for i in (0, 1)
        ]
        return {"flows": [flow("main", main), *others]}

    judged = judge("satellite-friend", tmp_path, result)
    assert judged.verdicts["timestamps"].holds is holds
    rtt_ms = round(25 + 2 * leg_ms)
    assert f"hybla_ext {rtt_ms} ms: gain {mbit / 3:.2f}, harm 0.25, others 12.0 Mbit/s, lost 0.0150" in said(judged)
    assert "beside reno 16.0, 0.0150; alone 16.0, 0.0150" in said(judged)
