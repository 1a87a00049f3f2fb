# SPDX-License-Identifier: GPL-2.0
"""hetlab trace: numbers against known ones, conversion there and back, the same bytes twice."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hetlab.cli.app import app
from hetlab.errors import LabError
from hetlab.hosts import options
from hetlab.model import files, jobs, trace
from hetlab.model.trace import Trace
from hetlab.results.path_delay import capacity_series, own_delay_s, values_at

pytestmark = pytest.mark.fast


def call(*words: str | Path) -> str:
    done = CliRunner().invoke(app, ["trace", *map(str, words)], catch_exceptions=True)
    if isinstance(done.exception, LabError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def facts(*words: str | Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in call("show", *words, "--json").splitlines() if line.startswith("{")]
    return {row["kind"]: row for row in rows}


def test_show(tmp_path: Path) -> None:
    """10 s of 12 Mbit/s but for 2.5 s of nothing; a delay of 10 ms, and 30 ms in a tenth of the time."""
    (tmp_path / "x").write_text("".join(f"{ms}\n" for ms in range(1, 10_001) if not 4000 < ms < 6500))
    (tmp_path / "d").write_text("10\n" * 900 + "30\n" * 100)
    found = facts(tmp_path / "x", "--delay", tmp_path / "d")
    capacity, delay = found["opportunities"], found["delay"]
    assert (capacity["mean"], capacity["p50"], capacity["low"]) == pytest.approx((9.0, 12, 0), abs=0.01)
    assert (capacity["outages"], capacity["longest_gap_s"]) == (1, pytest.approx(2.5))
    assert (delay["mean"], delay["p50"], delay["high"]) == pytest.approx((12, 10, 30))
    assert "opportunities" in call("show", tmp_path / "x", "--picture", tmp_path / "x.svg")
    assert "<svg" in (tmp_path / "x.svg").read_text()
    with pytest.raises(LabError, match=r"must end in \.png, \.svg or \.pdf"):
        call("show", tmp_path / "x", "--picture", tmp_path / "x.txt")


def test_outages_of_a_rate(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("t_s,rate_mbit\n0,8\n2,0\n3.5,4\n5,0\n5.1,4\n")
    rate = facts(tmp_path / "r.csv")["rate"]
    assert (rate["outages"], rate["outage_s"], rate["longest_gap_s"]) == (1, 1.5, 1.5)
    assert rate["mean"] == pytest.approx((2 * 8 + 1.5 * 4 + 0.1 * 4) / 5.2)


def test_convert_there_and_back(tmp_path: Path) -> None:
    """A rate to opportunities carries as many bits in every second; CSV has the same delays."""
    (tmp_path / "r.csv").write_text("t_s,rate_mbit,delay_ms\n0,8,10\n2,0,12.5\n3,5.5,12.5\n5,8,10\n6,8,11\n")
    before = trace.read(tmp_path / "r.csv")
    call("convert", tmp_path / "r.csv", tmp_path / "m")
    after = trace.read(tmp_path / "m").capacity
    assert before.capacity and after and after.period_ns == before.capacity.period_ns
    for t_s in range(1, 8):
        assert abs(before.capacity.bits(t_s * 10**9) - after.bits(t_s * 10**9)) <= 12_000
    call("convert", tmp_path / "r.csv", tmp_path / "d", "--to", "delay")
    call("convert", tmp_path / "m", tmp_path / "back.csv", "--delay", tmp_path / "d", "--bin-ms", "1000")
    back = trace.read(tmp_path / "back.csv")
    assert facts(tmp_path / "back.csv")["rate"]["mean"] == pytest.approx(before.capacity.mean_mbit, rel=0.01)
    delay, was = back.of("delay"), before.of("delay")
    assert delay and was
    at = np.arange(0, 7, 0.01)
    assert (values_at(delay, at) == values_at(was, at)).all()


def test_make_gives_what_a_recipe_gives(tmp_path: Path) -> None:
    call("make", "starlink", tmp_path / "a", "--duration-s", "20", "--seed", "3", "--delay", tmp_path / "a.delay")
    call("make", "starlink", tmp_path / "b", "--duration-s", "20", "--seed", "3")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    read = [trace.read(tmp_path / "a"), trace.read(tmp_path / "a.delay", "delay")]
    made = files.load("starlink", ['link.satellite.forward.trace="starlink:seed=3,duration_s=20"'])[0].scenario
    again = Trace(tuple(t for one in read for t in one.tables))
    from hetlab.model import traces

    recipe = traces.of(made.link["satellite"].forward)
    assert recipe and recipe.digest == again.digest
    with pytest.raises(LabError, match="a cellular trace has no delay"):
        call("make", "cellular", tmp_path / "c", "--delay", tmp_path / "c.delay")


def test_results_know_the_capacity_and_the_delay() -> None:
    """The mean of the run's time, not of the file; a path's own delay follows the trace."""
    forward = 'link.satellite.forward.trace="starlink:seed=1,mean_mbit=50,duration_s=60"'
    (point,) = files.load("starlink", [forward, "duration_s=10"])
    (job,) = jobs.make([point], [jobs.parse_cc("cubic")], [1])
    played = job.scenario.traces["satellite.forward"]
    t, mbit = capacity_series(job.scenario, "satellite.forward", 0.1)
    assert len(t) == 100 and np.mean(mbit) == pytest.approx(played.capacity_mbit, rel=1e-3)
    assert played.capacity_mbit != played.mean_mbit
    delays = own_delay_s(job.scenario, "s", "d", np.array([0.0, 5.03]), np.array([1500, 1500]))
    assert 0.017 < delays[0] < 0.035
    assert delays[1] > 0.035, "20 to 50 ms more at a change"


def test_two_real_hosts_refuse_traces() -> None:
    (point,) = files.load("lte")
    (job,) = jobs.make([point], [jobs.parse_cc("cubic")], [1])
    two = options.options("hosts", "a", "b", None, None, "iperf3", "receiver", None)
    assert two
    with pytest.raises(LabError, match=r"link\.cell plays a trace or has rate_at_once, for which --netem has no qdisc"):
        options.fit(job, two)
