# SPDX-License-Identifier: GPL-2.0
"""What congestion control needs is in patches 1 to 3: claims about connections with the option hold with them."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from hetlab.build import kernel
from hetlab.claims import evaluate
from hetlab.claims.evidence import BY_OPTION, Evidence, plan
from hetlab.cli import campaigns
from hetlab.ported import kernel as ported
from option import series

option_series: Any = importlib.import_module("option_series")

pytestmark = pytest.mark.series
FIRST = 3
CONNECTIONS = [c for c in evaluate.select(list(option_series.CLAIMS)) if c.kind == "connections"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, evaluate.Judgement]]:
    """By id; runs without the option are of the kernel without the patch."""

    def built(console: Console, _series: str, patched: bool = False, **_other: object) -> kernel.Kernel:
        return series.build(FIRST) if patched else kernel.kernel(console)

    evidence = Evidence(tmp_path_factory.mktemp("runs"))
    planned = plan([need for c in CONNECTIONS for need in c.needs], evidence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ported, "kernel", built)
        campaign = campaigns.carry_out(planned, campaigns.virtual(None), evidence.out, evidence.add)
    assert not campaign.failed, campaign.failed
    yield {j.claim.id: j for j in evaluate.judge(CONNECTIONS, evidence)}


@pytest.mark.parametrize("name", [c.id for c in CONNECTIONS])
def test_holds_with_the_sample_alone(judged: dict[str, evaluate.Judgement], name: str) -> None:
    """By either source, or it does not for a cause that is known; one that only all six patches bring is none here."""
    assert BY_OPTION in judged[name].verdicts
    assert judged[name].status != "FAILS", judged[name].as_json()
