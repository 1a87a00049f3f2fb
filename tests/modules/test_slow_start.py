# SPDX-License-Identifier: GPL-2.0
"""Slow start whose end is measured: what a short queue drops; a rate that the user has set stays."""

from pathlib import Path

import pytest

from commands import Run

pytestmark = pytest.mark.virtual
WAY = "link.bottleneck.{way}.{key}={value}"
PACE_MBIT = 20


@pytest.mark.parametrize("cc", ["westwood_fr", "westwood_gfr"])
def test_a_rate_that_the_user_has_set_stays(run_json: Run, tmp_path: Path, cc: str) -> None:
    """On 50 Mbit/s with losses, in whose recoveries nothing else is spaced; no queue (fq) holds SO_MAX_PACING_RATE."""
    sets = [
        word for way in ("forward", "reverse") for word in ("--set", WAY.format(way=way, key="rate_mbit", value=50))
    ]
    sets += ["--set", "link.bottleneck.forward.loss={model='random',percent=0.5}"]
    sets += ["--set", f"flow.main.pace_mbit={PACE_MBIT}", "--set", "sweep={}", "--set", "duration_s=12"]
    [found] = run_json("any_link-alone", "--cc", cc, "--seed", "1", *sets, "--out", tmp_path)
    assert 0.8 * PACE_MBIT < found["flows"][0]["steady_goodput_mbit"] <= PACE_MBIT


@pytest.mark.parametrize("cc", ["hybla_ext", "westwood_fr"])
def test_a_measured_slow_start_overshoots_less(run_json: Run, tmp_path: Path, cc: str) -> None:
    """300 Mbit/s, 80 ms, 8 ms of queue: reno drops 310 and has 69 Mbit/s; before the end was measured 1516 and 880.

    No train of the first ten packets' ACKs takes 1 ms there. any_link-fast-start is the same at 1 Gbit/s.
    """
    ways = {"forward": {"queue_pkts": 200}, "reverse": {}}
    sets = ["--set", "sweep={}", "--set", "duration_s=4", "--set", "measure.steady_from_s=0"]
    for way, more in ways.items():
        for key, value in {"rate_mbit": 300, "delay_ms": 40, **more}.items():
            sets += ["--set", WAY.format(way=way, key=key, value=value)]
    runs = run_json("any_link-alone", "--cc", cc, "--cc", "reno", "--seed", "1", *sets, "--out", tmp_path)
    found = {run["cc"]: run for run in runs}
    assert found[cc]["queue"]["drops"] <= found["reno"]["queue"]["drops"] / 2
    assert found[cc]["flows"][0]["goodput_mbit"] >= 2 * found["reno"]["flows"][0]["goodput_mbit"]
