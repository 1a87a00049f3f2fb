# SPDX-License-Identifier: GPL-2.0
"""Flows of QUIC stacks: ends, goodput and delay, the same bytes twice, and beside TCP in one queue."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Hetlab, Run
from hetlab.model.flow import QUIC_CCS, Flows
from hetlab.model.keys import ModelError

pytestmark = pytest.mark.quic

EACH = [(stack, cc) for stack, ccs in QUIC_CCS.items() for cc in ccs]
RATE_MBIT, OWN_MS = 10, 20
LONGEST_MS = OWN_MS + 52 * 1500 * 8 / RATE_MBIT / 1e3 + 5  # behind a full queue of 50 packets


def options(stack: str, cc: str, *more: str) -> list[str]:
    """Of ``hetlab run quic``: this stack."""
    return [word for text in (f"flow.quic.stack={stack}", f"flow.quic.cc={cc}", *more) for word in ("--set", text)]


def quic(result: dict[str, Any]) -> dict[str, Any]:
    """The result of its QUIC flow."""
    (found,) = [flow for flow in result["flows"] if flow["proto"] == "quic"]
    return dict(found)


@pytest.mark.parametrize(("stack", "cc"), EACH)
def test_a_file_arrives_alone(run_json: Run, stack: str, cc: str) -> None:
    """5 MB over 10 Mbit/s take 4.1 s, and little more; delays are those of the link and its queue."""
    (result,) = run_json("quic@alone", *options(stack, cc, "duration_s=20"))
    flow = quic(result)
    assert flow["complete"] and flow["cc"] == cc
    assert 4.1 < flow["end_s"] < 6
    assert flow["goodput_mbit"] == pytest.approx(5 * 8 / flow["end_s"], rel=0.02)
    assert 2 * OWN_MS < flow["rtt_min_ms"] < 2 * OWN_MS + 5
    assert OWN_MS < result["owd_ms"]["min"] < result["owd_ms"]["p99"] < LONGEST_MS
    assert result["owd_ms"]["packets"] > 1000


@pytest.mark.parametrize("stack", QUIC_CCS)
def test_beside_tcp(run_json: Run, stack: str) -> None:
    """Both fill the queue, which drops packets, not bundles of them, and none starves."""
    (result,) = run_json("quic", *options(stack, QUIC_CCS[stack][0], "duration_s=15"))
    rates = [flow["goodput_mbit"] for flow in result["flows"]]
    assert 9 < sum(rates) < 9.8
    assert min(rates) > 1
    assert result["queue"]["drops"] > 5
    assert result["queue"]["max_pkts"] <= 50
    assert result["owd_ms"]["p99"] < LONGEST_MS, "packets of many segments count once"


@pytest.mark.parametrize("stack", QUIC_CCS)
def test_same_bytes_twice(hetlab: Hetlab, tmp_path: Path, stack: str) -> None:
    """Keys, packet numbers and connection identifiers come from the seeded generator of the machine."""
    found = []
    for name in ("once", "again"):
        words = options(stack, QUIC_CCS[stack][0], "duration_s=5")
        done = hetlab("run", "quic", *words, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / name).rglob("result.json")
        found.append(path.read_text())
    assert found[0] == found[1]
    assert quic(json.loads(found[0]))["goodput_mbit"] > 1


@pytest.mark.fast
@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"proto": "quic"}, "stack = one of quic-go, quinn, aioquic"),
        ({"stack": "quinn"}, "for quic flows"),
        ({"proto": "quic", "stack": "quic-go", "cc": "cubic"}, "cc='cubic': quic-go has reno"),
        ({"proto": "quic", "stack": "quinn", "cc": "santacruz"}, "quinn has cubic, reno, bbr"),
        ({"proto": "quic", "stack": "quinn", "rate_share": 0.5}, "rate_share is for udp"),
    ],
)
def test_a_flow_that_cannot_be(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ModelError, match=why):
        Flows(src="s", dst="d", **keys).check()
