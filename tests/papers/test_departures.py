# SPDX-License-Identifier: GPL-2.0
"""tcp_santacruz with paper=1 and without: what the papers have, and what departs from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run
from hetlab.model.congestion import label
from hetlab.model.keys import from_plain
from hetlab.model.result import RunResult
from hetlab.results.store import run_dir, series

pytestmark = pytest.mark.virtual

OURS, PAPER = "santacruz", "santacruz@paper"


class Compared:
    """Runs of one scenario, by the label of their congestion control."""

    def __init__(self, run_json: Run, out: Path, scenario: str, *ccs: str, **sets: Any) -> None:
        args = [word for cc in ccs for word in ("--cc", cc)] + ["--trace"]
        args += [word for key, value in sets.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
        found = run_json(scenario, *args, "--out", out)
        self.result = {label(r["cc"], r["cc_params"]): r for r in found}
        self.runs = {cc: run_dir(out, from_plain(RunResult, r)) for cc, r in self.result.items()}

    def flow(self, cc: str, column: str) -> Any:
        """A column of the only flow, a value each 100 ms."""
        return np.array(series(self.runs[cc], "flows")[column])


@pytest.fixture(scope="module")
def bulk(run_json: Run, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """10 Mbit/s, 100 ms: a round trip a sample."""
    ccs = (OURS, PAPER, f"{OURS}:drain_s=2", f"{PAPER}:compete=0,drain_s=2")
    return Compared(run_json, tmp_path_factory.mktemp("bulk"), "bulk", *ccs, duration_s=12)


def test_initial_window(bulk: Compared) -> None:
    assert bulk.flow(PAPER, "cwnd")[0] == 2
    assert bulk.flow(OURS, "cwnd")[0] == 10


def test_slow_start_ends_with_half_of_the_operating_point(bulk: Compared) -> None:
    """A burst of slow start is longer than n_op / 2 = 1.5 packets at once: the pipe holds 83."""
    assert bulk.flow(PAPER, "ssthresh")[10] <= 16
    assert bulk.flow(OURS, "cwnd")[10] >= 40


def test_steps_of_one_packet(bulk: Compared) -> None:
    """One a round trip; a sample may see two."""
    steps = {cc: np.abs(np.diff(bulk.flow(cc, "cwnd")[5:])) for cc in (OURS, PAPER)}
    assert max(steps[PAPER]) <= 2
    assert max(steps[OURS]) > 2
    assert bulk.flow(PAPER, "cwnd")[-1] > 60, "it does grow"


def test_the_papers_know_no_drains_and_no_other_mode(bulk: Compared) -> None:
    """Not a byte differs by parameters of what the papers do not have."""
    same, drains = (PAPER, f"{PAPER}:compete=0,drain_s=2"), (OURS, f"{OURS}:drain_s=2")
    for column in ("cwnd", "bytes_sent"):
        assert np.array_equal(*(bulk.flow(cc, column) for cc in same))
        assert not np.array_equal(*(bulk.flow(cc, column) for cc in drains))


def test_no_competitive_mode_without_drains(run_json: Run, tmp_path: Path) -> None:
    """Nothing would end it: two CUBIC leave the same as with compete=0, not a byte more."""
    ccs = (f"{OURS}:drain_s=0", f"{OURS}:compete=0,drain_s=0", OURS)
    company = Compared(run_json, tmp_path, "real_networks-company@two", *ccs, duration_s=30, sweep="{}")
    sent = [[flow["goodput_mbit"] for flow in company.result[cc]["flows"]] for cc in ccs]
    assert sent[0] == sent[1] != sent[2]


def test_a_longer_path_is_a_queue_to_the_papers(run_json: Run, tmp_path: Path) -> None:
    """+30 ms forward at 8 s: 30 packets that no step shortens."""
    step = Compared(
        run_json,
        tmp_path,
        "real_networks-delay-step",
        OURS,
        PAPER,
        duration_s=25,
        sweep="{}",
        measure__steady_from_s=18,
    )
    mbit = {cc: r["flows"][0]["steady_goodput_mbit"] for cc, r in step.result.items()}
    assert mbit[OURS] > 2 * mbit[PAPER]


def test_random_losses(run_json: Run, tmp_path: Path) -> None:
    """One in 31 lost. To the paper of 1999 alone (discriminate=0) every loss is congestion, and halves the window."""
    paper, blind = f"{PAPER}:n_op=4", f"{PAPER}:discriminate=0,n_op=4"
    lossy = Compared(run_json, tmp_path, "santacruz-wireless", paper, blind, duration_s=30)
    judged = {cc: series(lossy.runs[cc], "trace-loss")["congestive"] for cc in (paper, blind)}
    assert np.mean(judged[paper]) < 0.25 and len(judged[paper]) > 50
    assert np.mean(judged[blind]) == 1
    for cc in (paper, blind):
        assert all(after(lossy.runs[cc], low=0.5, congestive=True)), "half"
    assert all(after(lossy.runs[paper], low=1, congestive=False)), "as it was"
    mbit = {cc: r["flows"][0]["goodput_mbit"] for cc, r in lossy.result.items()}
    assert mbit[paper] > 1.03 * mbit[blind]


def after(run: Path, low: float, congestive: bool) -> list[bool]:
    """Of losses so judged, with no other one soon after: is the window at the next interval this part, to a packet?"""
    losses, rounds = series(run, "trace-loss"), series(run, "trace")
    times = [*losses["t"], np.inf]
    found = []
    for i, was in enumerate(losses["congestive"]):
        then = next((k for k, t in enumerate(rounds["t"]) if t > times[i]), None)
        if then is None or bool(was) != congestive or losses["timeout"][i] or times[i + 1] < rounds["t"][then]:
            continue
        found.append(bool(abs(rounds["cwnd"][then] - max(int(losses["cwnd"][i] * low), 2)) <= 1))
    assert found
    return found
