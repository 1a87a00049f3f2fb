# SPDX-License-Identifier: GPL-2.0
"""What the modules must do on the real stack: the first flight's acceptance figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import call_hetlab

pytestmark = pytest.mark.virtual
Run = Callable[..., list[dict[str, Any]]]


def by_label(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Results by congestion control, parameters included."""
    from hetlab.results import label

    return {label(r["cc"], r["cc_params"]): r for r in results}


def goodput(r: dict[str, Any]) -> float:
    """Goodput of the only flow, Mbit/s."""
    return float(r["flows"][0]["goodput_mbit"])


@pytest.fixture(scope="module")
def sc_basic(run_json: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    ccs = [f"santacruz:n_op={n}" for n in ("1.5", "3", "5")] + ["reno", "vegas"]
    ccs.append("santacruz:n_op=1.5,startup=0,init_cwnd=2,predict=0,sum_rule=1,pacing=0")
    args = [x for cc in ccs for x in ("--cc", cc)]
    return by_label(run_json("sc-basic", *args, "--out", tmp_path_factory.mktemp("basic")))


@pytest.mark.parametrize("n_op", ["1.5", "3", "5"])
def test_santacruz_holds_n_op_packets(sc_basic: dict[str, dict[str, Any]], n_op: str) -> None:
    r = sc_basic[f"santacruz:n_op={n_op}"]
    q, n = r["queue"], float(n_op)
    assert n - 1 <= q["steady_mean_pkts"] <= n + 1
    assert n - 1 <= q["p95_pkts"] <= n + 1
    assert q["drops"] == 0
    assert r["flows"][0]["retransmits"] == 0
    assert goodput(r) >= 1.38


@pytest.mark.parametrize(("n_op", "paper_ms"), [("1.5", 55.1), ("3", 60.6), ("5", 73.7)])
def test_santacruz_delay_is_the_papers(sc_basic: dict[str, dict[str, Any]], n_op: str, paper_ms: float) -> None:
    assert sc_basic[f"santacruz:n_op={n_op}"]["owd_ms"]["mean"] == pytest.approx(paper_ms, rel=0.1)


def test_santacruz_variance_is_far_below_reno(sc_basic: dict[str, dict[str, Any]]) -> None:
    reno = sc_basic["reno"]["owd_ms"]
    assert reno["mean"] == pytest.approx(99.4, rel=0.1)
    for n_op, times in (("1.5", 100), ("3", 100), ("5", 90)):
        assert sc_basic[f"santacruz:n_op={n_op}"]["owd_ms"]["variance"] < reno["variance"] / times


def test_paper_rules_by_parameters(sc_basic: dict[str, dict[str, Any]]) -> None:
    """Start-up ends at the second packet, so the ramp is linear: 1.42 x 948/1000 of payload in the paper."""
    r = next(v for k, v in sc_basic.items() if "startup=0" in k)
    assert goodput(r) == pytest.approx(1.42 * 0.948, rel=0.05)
    assert r["queue"]["drops"] == 0


def test_hybla_fills_a_clean_satellite_link(run_json: Run, tmp_path: Path) -> None:
    results = run_json("geo-clean", "--cc", "hybla_ext", "--set", "duration_s=10", "--out", tmp_path)
    from hetlab.results import series

    received = series(tmp_path / "geo-clean" / "hybla_ext" / "seed-1", "received")
    rate = [
        (t, (b1 - b0) * 8 / (t1 - t) / 1e6)
        for t, t1, b0, b1 in zip(
            received["t"], received["t"][10:], received["bytes_received"], received["bytes_received"][10:], strict=False
        )
    ]
    payload = 10 * 1448 / 1500
    assert next(t for t, mbit in rate if mbit >= 0.9 * payload) < 9
    flow = results[0]["flows"][0]
    assert flow["bytes_retrans"] <= 0.01 * flow["bytes_sent"]


def test_faster_recovery_beats_reno_on_a_lossy_satellite_link(run_json: Run, tmp_path: Path) -> None:
    ccs = ["westwood_fr", "westwood_gfr", "hybla_ext", "reno"]
    args = [x for cc in ccs for x in ("--cc", cc)]
    r = by_label(run_json("geo", *args, "--out", tmp_path))
    for cc in ccs[:3]:
        assert goodput(r[cc]) >= 3 * goodput(r["reno"]), cc


def test_santacruz_keeps_its_window_through_random_loss(run_json: Run, tmp_path: Path) -> None:
    args = ("--cc", "santacruz", "--cc", "reno", "--cc", "santacruz:discriminate=0", "--set", "measure.steady_from_s=3")
    r = run_json("sc-wireless", *args, "--out", tmp_path)
    ours, reno, blind = (next(x for x in r if (x["cc"], len(x["cc_params"])) == k) for k in KEYS)
    assert goodput(ours) > 1.1 * goodput(reno)
    assert goodput(ours) > 1.05 * goodput(blind)
    assert 8 <= ours["flows"][0]["cwnd_steady_mean_pkts"] <= 12


KEYS = (("santacruz", 1), ("reno", 0), ("santacruz", 2))


def test_rho_of_one_is_reno(run_json: Run, tmp_path: Path) -> None:
    """Below rtt0 the window's course is Reno's, to the segment."""
    from hetlab.results import series

    ccs = ("--cc", "hybla_ext:pacing=0,hoe=0,init_ssthresh=65536,rtt0_ms=500", "--cc", "reno")
    run_json("bulk", *ccs, "--set", "duration_s=30", "--out", tmp_path)
    (ours, reno) = (series(p, "flows") for p in sorted((tmp_path / "bulk").glob("*/seed-1")))
    assert ours["cwnd"] == reno["cwnd"]


def test_claims_of_the_first_table_hold(tmp_path: Path) -> None:
    done = call_hetlab("claims", "sc-t2", "sc-f9", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("sc-")]
    assert rows == [[name, "holds"] for name in CLAIMS]


CLAIMS = ("sc-t2-throughput", "sc-t2-delay", "sc-t2-variance", "sc-f9-queue", "sc-f9-startup")
