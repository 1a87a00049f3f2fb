# SPDX-License-Identifier: GPL-2.0
"""What the modules must do on the real stack: claims of the papers, of real networks, and figures of our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Run, call_hetlab
from hetlab.claims import evaluate
from hetlab.claims.evidence import Evidence, plan
from hetlab.model.keys import from_plain
from hetlab.model.result import RunResult
from papers.faster_recovery import claims as fr

pytestmark = pytest.mark.virtual


def by_label(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Results by congestion control, parameters included."""
    from hetlab.model.congestion import label

    return {label(r["cc"], r["cc_params"]): r for r in results}


def goodput(r: dict[str, Any]) -> float:
    """Goodput of the only flow, Mbit/s."""
    return float(r["flows"][0]["goodput_mbit"])


# Slow ones say so; make claims has them
CHECKED = [c.id for c in evaluate.select([]) if not c.slow]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The claims that are checked, judged by one command: each run, each kernel, once."""
    out = tmp_path_factory.mktemp("claims")
    done = call_hetlab("claims", *CHECKED, "--json", "--out", out, timeout=3000)
    assert done.returncode in (0, 1), done.stderr
    told = {j["id"]: j for j in map(json.loads, done.stdout.splitlines())}
    assert sorted(told) == sorted(CHECKED), done.stderr
    return told


@pytest.mark.parametrize("name", CHECKED)
def test_claim(judged: dict[str, dict[str, Any]], name: str) -> None:
    """It holds, or does not and has a cause; a cause that is not needed any more is a fault."""
    told = judged[name]
    assert told["verdict"] in ("holds", "excepted"), json.dumps(told, indent=1, ensure_ascii=False)


def test_bandwidth_estimate_up_to_100_mbit(run_json: Run, tmp_path: Path) -> None:
    """faster_recovery-bwe without its runs at 1 Gbit/s."""
    needs = {key: need for key, need in fr.BWE.items() if key[1] <= 100}
    evidence = Evidence(tmp_path)
    plan(needs.values(), evidence)
    fast, slow = ([n.scenario.partition("[")[0] for (_s, mbit), n in needs.items() if mbit == at] for at in (10, 1))
    for names in ([*fast, "--set", f'sweep={{ "{fr.RATE}" = [10, 100] }}'], slow):
        for result in run_json(*names, "--cc", "westwood_fr", "--out", tmp_path):
            evidence.add(from_plain(RunResult, result))
    found = {key: fr.tracking(evidence, need) for key, need in needs.items()}
    assert len(found) == 20
    assert {key: value for key, value in found.items() if value[0] < fr.MOSTLY} == {}


def test_after_a_probe_the_window_is_no_burst(run_json: Run, tmp_path: Path) -> None:
    """Of 5343 packets at once the sender's own queue of 1000 would drop 4343, the bottleneck's none."""
    name = f"faster_recovery-bwe-fast@merged[{fr.RATE}=1000]"
    (r,) = run_json(name, "--cc", "westwood_fr", "--set", "duration_s=3", "--out", tmp_path)
    assert r["flows"][0]["retransmits"] == 0


def test_paper_rules_by_parameters(run_json: Run, tmp_path: Path) -> None:
    """Start-up ends at the second packet, so the ramp is linear: 1.42 x 948/1000 of payload in the paper."""
    cc = "santacruz@paper:n_op=1.5"
    (r,) = run_json("santacruz-basic", "--cc", cc, "--out", tmp_path)
    assert goodput(r) == pytest.approx(1.42 * 0.948, rel=0.05)
    assert r["queue"]["drops"] == 0


def test_routes_give_the_first_connection_its_window(run_json: Run, tmp_path: Path) -> None:
    """At most 64 packets, slow start to 32: Reno then overruns the queue of 17 by a packet a cycle."""
    from hetlab.results.store import series

    (r,) = run_json("santacruz-basic", "--cc", "reno", "--out", tmp_path)
    assert series(tmp_path / "santacruz-basic" / "reno" / "seed-1", "flows")["ssthresh"][1] == 32
    assert 1 <= r["queue"]["drops"] <= 10
    (r,) = run_json("santacruz-basic", "--cc", "reno", "--set", "route.s.cwnd_max_pkts=20", "--out", tmp_path)
    assert max(series(tmp_path / "santacruz-basic" / "reno" / "seed-1", "flows")["cwnd"]) == 20
    assert r["queue"]["drops"] == 0


def test_the_first_link_is_part_of_the_one_way_delay(run_json: Run, tmp_path: Path) -> None:
    """5 + 0.8 ms on the wire, 4.6 + 4.0 ms in the air."""
    (r,) = run_json("santacruz-wireless", "--cc", "vegas", "--set", "duration_s=3", "--out", tmp_path)
    assert r["owd_ms"]["min"] == pytest.approx(14.4, abs=0.05)


def test_hybla_fills_a_clean_satellite_link(run_json: Run, tmp_path: Path) -> None:
    results = run_json("geo-clean", "--cc", "hybla_ext", "--set", "duration_s=10", "--out", tmp_path)
    from hetlab.results.store import series

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


RECOVERY = 3  # TCP_CA_Recovery
SLOW_LINKS = {"0.064": "1000", "1": "100"}  # Mbit/s, and ms one way


@pytest.mark.parametrize("mbit", SLOW_LINKS)
def test_estimate_of_a_slow_link(run_json: Run, tmp_path: Path, mbit: str) -> None:
    """The first stretch, of one sample, is within two packets; in-tree westwood's filter rounds down, in jiffies."""
    from hetlab.results.store import series

    link = "link.bottleneck.forward."
    sets = [f"{link}rate_mbit={mbit}", f"{link}delay_ms={SLOW_LINKS[mbit]}", f"{link}queue_bdp=1.5", "duration_s=200"]
    args = [word for given in sets for word in ("--set", given)]
    run_json("bulk", "--cc", "westwood_fr", "--cc", "westwood", *args, "--out", tmp_path)
    pipe_pkts, chosen = 0.0, {}
    for cc in ("westwood_fr", "westwood"):
        flows = series(tmp_path / "bulk" / cc / "seed-1", "flows")
        pipe_pkts = float(mbit) * 1e6 / 8 / 1500 * flows["cc_minrtt"][-1] / 1e6
        chosen[cc] = {pkts for pkts in flows["ssthresh"] if pkts and pkts < 10_000}
        if cc == "westwood_fr":
            # What a recovery begins with, but in a probe, which has cut more: later in it the window may be cut again,
            # and after a probe ssthresh is where slow start returns to
            states, cwnd = [0, *flows["ca_state"]], [0, *flows["cwnd"]]
            begun = [i for i, state in enumerate(states[1:]) if state == RECOVERY != states[i] and cwnd[i] > pipe_pkts]
            chosen[cc] = {flows["ssthresh"][i] for i in begun}
            # Nor does a loss in a probe wait for the window that it holds (the handshake may, with 2 s)
            assert flows["total_rto"][-1] == flows["total_rto"][0]
    assert chosen["westwood_fr"] and all(pipe_pkts - 2 <= pkts <= pipe_pkts for pkts in chosen["westwood_fr"]), chosen
    assert min(chosen["westwood"]) < 0.6 * pipe_pkts, chosen


def test_santacruz_keeps_its_window_through_random_loss(run_json: Run, tmp_path: Path) -> None:
    args = ("--cc", "santacruz", "--cc", "reno", "--set", "measure.steady_from_s=3")
    ours, reno = sorted(run_json("santacruz-wireless", *args, "--out", tmp_path), key=lambda r: r["cc"] == "reno")
    assert goodput(ours) > 1.1 * goodput(reno)
    assert 8 <= ours["flows"][0]["cwnd_steady_mean_pkts"] <= 12


def test_random_loss_is_no_congestion(run_json: Run, tmp_path: Path) -> None:
    """One packet in 100 is lost at random, and the pipe has 133: a law that takes it for congestion has a tenth."""
    args = ("--cc", "santacruz", "--cc", "santacruz:discriminate=0", "--set", "sweep={}")
    ours, blind = sorted(run_json("real_networks-loss", *args, "--out", tmp_path), key=lambda r: len(r["cc_params"]))
    assert goodput(ours) > 5 * goodput(blind)
    assert 120 <= ours["flows"][0]["cwnd_steady_mean_pkts"] <= 150


def test_rho_of_one_is_reno(run_json: Run, tmp_path: Path) -> None:
    """Below rtt0 the window's course is Reno's, to the segment."""
    from hetlab.results.store import series

    ccs = ("--cc", "hybla_paper:pacing=0,hoe=0,init_ssthresh=65536,rtt0_ms=500", "--cc", "reno")
    run_json("bulk", *ccs, "--set", "duration_s=30", "--out", tmp_path)
    (ours, reno) = (series(p, "flows") for p in sorted((tmp_path / "bulk").glob("*/seed-1")))
    assert ours["cwnd"] == reno["cwnd"]
