# SPDX-License-Identifier: GPL-2.0
"""westwood_fr and westwood_gfr space the packets of a slow start; what a user has set stays."""

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
