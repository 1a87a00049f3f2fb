# SPDX-License-Identifier: GPL-2.0
"""tcp_santacruz: a path that gets longer while slow start runs, with losses of the link: not down to a few packets."""

from pathlib import Path
from typing import Any

import pytest

from commands import Run

pytestmark = pytest.mark.virtual

SCENARIO = """
base = "real_networks-common"
title = "A path that gets longer in slow start, and a link that loses packets"
duration_s = {duration_s}
[link.access]
forward = {{ rate_mbit = 10000 }}
[link.bottleneck]
forward = {{ rate_mbit = {rate_mbit}, delay_ms = {delay_ms}, loss = {{ model = "random", percent = {percent} }} }}
reverse = {{ rate_mbit = {rate_mbit}, delay_ms = {delay_ms} }}
[link.exit]
forward = {{ rate_mbit = 10000 }}
[[event]]
at_s = {at_s}
link = "bottleneck"
way = "{way}"
delay_ms = {later_ms}
[measure]
steady_from_s = {steady_from_s}
"""
# Of the link from ten seconds after the change on it was 0.16 and 0.15 (docs/santacruz.md); BBR has 0.65 and 0.49
FORTH = {"rate_mbit": 150, "delay_ms": 150, "percent": 1.5, "at_s": 2.2, "way": "forward", "later_ms": 195}
BACK = {"rate_mbit": 150, "delay_ms": 200, "percent": 1, "at_s": 2.3, "way": "reverse", "later_ms": 400}


@pytest.mark.parametrize(("link", "least"), [(FORTH, 0.5), (BACK, 0.3)], ids=["forth", "back"])
def test_the_link_is_used(run_json: Run, tmp_path: Path, link: dict[str, Any], least: float) -> None:
    """The delay does not answer what is taken out, so it is the path's; the mean wait follows a longer way back."""
    settled_s = link["at_s"] + 10
    (tmp_path / "longer.toml").write_text(SCENARIO.format(**link, duration_s=settled_s + 5, steady_from_s=settled_s))
    [found] = run_json(tmp_path / "longer.toml", "--cc", "santacruz", "--seed", "2", "--out", tmp_path)
    assert found["flows"][0]["goodput_mbit"] >= least * link["rate_mbit"]
