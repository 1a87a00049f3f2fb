# SPDX-License-Identifier: GPL-2.0
"""Workloads: what is offered follows the distributions, times are exact, a player stalls where the link is too thin."""

import filecmp
import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run
from hetlab.errors import LabError
from hetlab.hosts.traffic import Iperf3
from hetlab.model import distribution, files, resolve
from hetlab.model.flow import Flow
from hetlab.model.keys import as_plain
from hetlab.model.scenario import Experiment
from hetlab.results import workloads
from hetlab.results.store import series

BASE = """
base = "bulk"
title = "try"
{top}
[flow.main]
{flow}
{rest}
"""
RTT_S = 0.1
# IP and TCP headers with timestamps, IPv4
HEADERS, SYN = 52, 60
OURS = ("santacruz", "westwood_fr", "westwood_gfr", "hybla_ext")


def scenario(tmp_path: Path, flow: str, top: str = "", rest: str = "") -> Path:
    path = tmp_path / "try.toml"
    path.write_text(BASE.format(flow=flow, top=top, rest=rest))
    return path


def resolved(tmp_path: Path, flow: str, top: str = "", rest: str = "") -> Experiment:
    (point,) = files.load(str(scenario(tmp_path, flow, top, rest)))
    return resolve.resolve(point)


def made(tmp_path: Path, flow: str) -> Flow:
    return resolved(tmp_path, flow).flows[0]


# --------------------------------------------------------------------- model


@pytest.mark.fast
@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ('workload = "gopher"', ["flow.main.workload", "'gopher'", "'requests'", "'connections'"]),
        ('workload = "requests"', ["workload='requests': size_bytes is required"]),
        ("size_bytes = 1000", ["size_bytes needs a workload: one of requests, web"]),
        ('workload = "video"\nsize_bytes = 1', ["size_bytes does not apply to workload='video': it has ladder_mbit"]),
        ('workload = "requests"\nsize_bytes = 0', ["size_bytes='0'", "value 0", "1..1e+12"]),
        ('workload = "requests"\nsize_bytes = "cauchy:1"', ["size_bytes='cauchy:1'", "exp:MEAN[:MAX]"]),
        ('workload = "requests"\nsize_bytes = "pareto:9"', ["size_bytes='pareto:9'", "pareto:MEAN:SHAPE"]),
        ('workload = "requests"\nsize_bytes = "pareto:9:1"', ["shape 1: allowed range is 1.01..100"]),
        ('workload = "requests"\nsize_bytes = "exp:x"', ["'x' is not a number"]),
        ('workload = "requests"\nsize_bytes = [5, -1]', ["size_bytes='list:5/-1'", "value -1"]),
        ('workload = "web"\nsize_bytes = 1\nobjects = 0', ["objects='0'", "1..10000"]),
        ('workload = "onoff"\nbusy_s = 1', ["workload='onoff': idle_s is required"]),
        ('workload = "video"\nladder_mbit = [2, 1]', ["ladder_mbit=[2", "each rate must be above the one before"]),
        ('workload = "video"\nbuffer_s = 5', ["buffer_s=5: less than two segments of 4 s"]),
        ('workload = "video"\nsegment_s = 0.01', ["segment_s", "0.1..60"]),
        ('workload = "replay"\nwrites = [[0, 10]]', ["writes.0: bytes=10", "24..1e+12"]),
        ('workload = "replay"\nwrites = [[1, 100], [0.5, 100]]', ["writes.1: t_s=0.5", "1..1000000, in order"]),
        ('workload = "connections"\nsize_bytes = 1', ["needs arrivals_s or load_percent, one of them"]),
        ('workload = "requests"\nsize_bytes = 1\nbytes = 9', ["bytes does not apply to a workload: transfers does"]),
        ('workload = "web"\nproto = "udp"\nsize_bytes = 1\nobjects = 1', ["workload='web' needs proto = 'tcp'"]),
        ('workload = "requests"\nsize_bytes = "file:none.txt"', ["flow.main.size_bytes", "none.txt", "No such file"]),
    ],
)
def test_faults_are_named(tmp_path: Path, flow: str, words: Sequence[str]) -> None:
    with pytest.raises(LabError) as found:
        resolved(tmp_path, flow)
    assert all(word in str(found.value) for word in words), found.value


@pytest.mark.fast
def test_files_are_read_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("1000\n20000\n")
    (tmp_path / "writes.csv").write_text("0, 1000\n1.5,20000\n")
    assert made(tmp_path, 'workload = "requests"\nsize_bytes = "file:sizes.txt"').size_bytes == "list:1000/20000"
    assert made(tmp_path, 'workload = "replay"\nwrites = "file:writes.csv"').writes == "0:1000/1.5:20000"


@pytest.mark.fast
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["writes.csv", "is empty"]),
        ("0,100\nx,100\n", ["writes.csv, line 2", "'x,100' is not t_s,bytes"]),
        ("1,100\n0,100\n", ["writes.1: t_s=0", "in order"]),
        ("0,100\n" * 20_000, ["119999 characters in 20000 lines", "at most 100000"]),
    ],
)
def test_faults_of_files_name_the_line(tmp_path: Path, text: str, words: Sequence[str]) -> None:
    (tmp_path / "writes.csv").write_text(text)
    with pytest.raises(LabError) as found:
        resolved(tmp_path, 'workload = "replay"\nwrites = "file:writes.csv"')
    assert all(word in str(found.value) for word in words), found.value


DRAWS: dict[str, Any] = {
    "const:7": lambda rng: 7.0,
    "uniform:5:10": lambda rng: rng.uniform(5, 10),
    "list:1/2/6": lambda rng: rng.choice((1.0, 2.0, 6.0)),
    "exp:1000": lambda rng: rng.expovariate(1 / 1000),
    "exp:1000:1500": lambda rng: min(rng.expovariate(1 / 1000), 1500),
    "pareto:1000:4": lambda rng: 750 * rng.paretovariate(4),
    "pareto:1000:1.2:50000": lambda rng: min(1000 / 6 * rng.paretovariate(1.2), 50000),
    "pareto:1000:2:100": lambda rng: 100.0,
    "lognormal:1000:0.7": lambda rng: rng.lognormvariate(math.log(1000), 0.7),
    "lognormal:10000:2.1:10000000": lambda rng: min(rng.lognormvariate(math.log(10_000), 2.1), 1e7),
}


@pytest.mark.fast
@pytest.mark.parametrize("text", DRAWS)
def test_means_are_those_of_draws(text: str) -> None:
    rng = random.Random(1)
    draws = np.array([DRAWS[text](rng) for _ in range(200_000)])
    four_sigma = 4 * float(np.std(draws)) / math.sqrt(len(draws))
    assert distribution.parse("x", text, 0, 1e12).mean == pytest.approx(np.mean(draws), abs=max(four_sigma, 1e-6))


@pytest.mark.fast
def test_load_counts_the_payload_against_the_narrowest_link(tmp_path: Path) -> None:
    flow = 'workload = "connections"\nsize_bytes = "exp:20000"\nload_percent = 60'
    assert made(tmp_path, flow).arrivals_s == f"exp:{20_000 * 8 / 6e6:.9g}"
    shared = resolved(tmp_path, f"{flow}\ncount = 2")
    assert {f.arrivals_s for f in shared.flows} == {f"exp:{20_000 * 8 / 3e6:.9g}"}


@pytest.mark.fast
def test_bulk_flows_are_told_and_reported_as_before(tmp_path: Path) -> None:
    flow = made(tmp_path, "")
    assert flow.given("sender", 5) == {"proto": "tcp"} and flow.given("receiver", 5) == {"proto": "tcp"}
    assert not {"workload", "size_bytes", "transfers"} & set(as_plain(flow))


@pytest.mark.fast
def test_what_flowgen_is_told(tmp_path: Path) -> None:
    flow = made(tmp_path, 'workload = "video"\nladder_mbit = [1, 2.5]\nsegment_s = 2\ntransfers = 9')
    words = {"proto": "tcp", "workload": "video", "seed": "5", "ladder": "1/2.5", "segment": "2", "limit": "9"}
    assert flow.given("sender", 5) == words
    assert flow.given("receiver", 5) == {"proto": "tcp", "workload": "video"}


@pytest.mark.fast
def test_iperf3_makes_no_workloads(tmp_path: Path) -> None:
    flow = made(tmp_path, 'workload = "requests"\nsize_bytes = 1000')
    assert "workload" in Iperf3.refusal(flow) and "flowgen" in Iperf3.refusal(flow)


# ------------------------------------------------------------------- metrics


def records(times: Sequence[float | None], kind: str = "response", **more: Any) -> list[dict[str, Any]]:
    """Items that begin at 0, 1, 2 ... s; how long each took, None: for ever."""
    begun = [
        {"type": "item", "id": 0, "t": float(i), "kind": kind, "conn": 0, "n": i, "bytes": 10_000 * i, **more}
        for i in range(len(times))
    ]
    done = [{"type": "done", "id": 0, "t": i + t, "conn": 0, "n": i} for i, t in enumerate(times) if t is not None]
    return [*begun, *done]


PLAIN = Flow(src="s", dst="d", id=0, name="main", port=5001, duration_s=60, workload="requests", size_bytes="1")
FILM = replace(PLAIN, workload="video", size_bytes=None, segment_s=1.0)


@pytest.mark.fast
def test_statistics_of_completion() -> None:
    result = workloads.completion(workloads.judged(records([0.1, 0.2, 0.3, None]), PLAIN))
    assert result is not None
    assert (result.n, result.done, result.bytes) == (4, 3, 30_000)
    assert (result.mean_s, result.p50_s, result.max_s) == (0.2, 0.2, 0.3)
    assert (result.small_p95_s, result.large_p95_s) == (0.1, None)
    assert result.medium_p95_s == pytest.approx(0.295)
    assert workloads.completion([]) is None


@pytest.mark.fast
def test_a_page_is_complete_with_its_last_object() -> None:
    page = {"type": "page", "id": 0, "t": 0.5, "n": 0, "objects": 2}
    flow = replace(PLAIN, workload="web", objects="2")
    (whole,) = workloads.judged([page, *records([2.0, 0.1], "object", page=0)], flow)
    assert (whole.time_s, whole.bytes) == (1.5, 10_000)
    (part,) = workloads.judged([page, *records([2.0, None], "object", page=0)], flow)
    assert part.time_s is None
    (unasked,) = workloads.judged([page, *records([2.0], "object", page=0)], flow)
    assert unasked.time_s is None


@pytest.mark.fast
def test_stalls_of_a_player() -> None:
    """Segments of 1 s at 0.5, 2.0 and 2.5 s: play stands still from 1.5 to 2.0 s, and again from 4.0 s on."""
    got = workloads.items(records([0.5, 1.0, 0.5, None], "segment", rate_mbit=2), FILM)
    found = workloads.video(got, FILM)
    assert (found.startup_s, found.stalls, found.stalled_s) == (0.5, 2, 0.5 + 60 - 4)
    assert (found.rate_mbit, found.switches) == (2, 0)
    complete = workloads.video(got[:3], FILM)
    assert (complete.stalls, complete.stalled_s) == (1, 0.5)


# ------------------------------------------------------------- virtual time


def items(out: Path, result: dict[str, Any], seed: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    """Columns of items.parquet of a run."""
    found = series(out / result["scenario"] / result["cc"] / f"seed-{seed}", "items")
    return {name: np.array(values) for name, values in found.items()}


def crossing_s(payload: int) -> float:
    """From leaving one host until all of a packet is at the other: 100, 10, 100 Mbit/s and 50 ms."""
    return RTT_S / 2 + (payload + HEADERS) * 8 * (1 / 100e6 + 1 / 10e6 + 1 / 100e6)


@pytest.mark.virtual
def test_times_of_requests_and_pages_are_exact(tmp_path: Path, run_json: Run) -> None:
    """One packet takes a crossing. A page of 12 objects over 6 connections has two rounds after the handshake."""
    flow = 'workload = "requests"\nsize_bytes = 1000\nthink_s = 1\ntransfers = 5'
    web = '[flow.web]\nsrc = "s"\ndst = "d"\nstart_s = 9\nworkload = "web"\n'
    web += "objects = 12\nsize_bytes = 1000\ntransfers = 1"
    (result,) = run_json(scenario(tmp_path, flow, "duration_s = 12", web), "--cc", "reno", "--out", tmp_path / "out")
    requests, page = (found["completion"] for found in result["flows"])
    assert (requests["kind"], requests["n"], requests["done"]) == ("response", 5, 5)
    assert requests["p50_s"] == pytest.approx(crossing_s(1000), abs=5e-6)
    begun = items(tmp_path / "out", result)["t"][:5]
    # Until the next response: a crossing, the request (350 bytes) back, 1 s to think
    assert np.diff(begun) == pytest.approx(crossing_s(1000) + crossing_s(350) + 1, abs=25e-6)
    assert (page["kind"], page["n"], page["done"]) == ("page", 1, 1)
    # The sixth connection: its SYN and the ACK and object of each wait for those of five others
    handshake_s = 2 * crossing_s(SYN - HEADERS) + 5 * SYN * 8 / 10e6
    queued_s = 5 * (1000 + 2 * HEADERS - SYN) * 8 / 10e6
    rounds_s = crossing_s(1000) + queued_s + crossing_s(350) + crossing_s(1000)
    assert page["p50_s"] == pytest.approx(handshake_s + rounds_s, abs=50e-6)


@pytest.mark.virtual
@pytest.mark.parametrize(
    ("mbit", "abr", "stalls"), [(0.25, "buffer", True), (8, "buffer", False), (8, "throughput", False)]
)
def test_a_player_stalls_where_the_link_is_too_thin(
    tmp_path: Path, run_json: Run, mbit: float, abr: str, stalls: bool
) -> None:
    """0.25 Mbit/s carry less than the lowest rate, 0.3; 8 Mbit/s more than the highest, 4.3."""
    flow = f'workload = "video"\nabr = "{abr}"\nbuffer_s = 30'
    narrow = f"[link.bottleneck]\nforward = {{ rate_mbit = {mbit}, queue_bdp = 5 }}"
    (result,) = run_json(
        scenario(tmp_path, flow, "duration_s = 90", narrow), "--cc", "cubic", "--out", tmp_path / "out"
    )
    film = result["flows"][0]["video"]
    assert (film["stalls"] > 0) == stalls and (film["stalled_s"] > 5) == stalls
    got = items(tmp_path / "out", result)
    whole = got["time_s"] != np.array(None)
    if stalls:
        assert set(got["rate_mbit"]) == {0.3}
        # Each takes its bytes with their headers, and a round trip for the request
        each_s = 0.3e6 * 4 * 1500 / 1448 / 0.25e6 + RTT_S
        assert result["flows"][0]["completion"]["done"] == int(90 / each_s)
    else:
        assert got["rate_mbit"][whole][-1] == 4.3 and got["rate_mbit"][0] == 0.3
        # The buffer is full: a segment each 4 s
        assert np.diff(got["t"])[-4:] == pytest.approx(4, abs=1e-3)


@pytest.mark.virtual
def test_offered_load_and_arrivals_of_connections(tmp_path: Path, run_json: Run) -> None:
    """Load within 2 %, gaps exponential (Kolmogorov and Smirnov, 1 %), the same for another congestion control."""
    flow = 'workload = "connections"\nsize_bytes = 5000\nload_percent = 60'
    path = scenario(tmp_path, flow, "duration_s = 65", "[measure]\nowd = false")
    offered = []
    for cc in ("cubic", "hybla_ext"):
        (result,) = run_json(path, "--cc", cc, "--out", tmp_path / "out")
        got = items(tmp_path / "out", result)
        offered.append((got["t"], got["bytes"]))
        counted = result["flows"][0]
        assert counted["connections"] == counted["completion"]["n"] == len(got["t"]) and counted["failed"] == 0
        assert counted["completion"]["done"] >= len(got["t"]) - 60
    t, octets = offered[0]
    assert octets.sum() * 8 / 65 == pytest.approx(6e6, rel=0.02)
    gaps = np.sort(np.diff(t))
    mean = 5000 * 8 / 6e6
    share = np.arange(1, len(gaps) + 1) / len(gaps)
    assert np.abs(share - (1 - np.exp(-gaps / mean))).max() < 1.63 / math.sqrt(len(gaps))
    # A program that is woken while a packet is being handled begins a microsecond later
    assert np.allclose(t, offered[1][0], rtol=0, atol=2e-6) and np.array_equal(octets, offered[1][1])


MIXED = """
[flow.web]
src = "s"
dst = "d"
workload = "web"
objects = "uniform:1:10"
size_bytes = "exp:20000"
think_s = "exp:0.5"
[flow.short]
src = "s"
dst = "d"
workload = "connections"
size_bytes = "pareto:20000:1.5:1000000"
arrivals_s = "exp:0.2"
[flow.film]
src = "s"
dst = "d"
workload = "video"
segment_s = 1
buffer_s = 10
[flow.burst]
src = "s"
dst = "d"
workload = "onoff"
busy_s = "exp:0.5"
idle_s = "exp:0.5"
[flow.calls]
src = "s"
dst = "d"
proto = "udp"
workload = "messages"
period_s = 0.033
size_bytes = "lognormal:2000:0.3"
key_every = 30
"""


@pytest.mark.virtual
def test_same_seed_same_bytes(tmp_path: Path, run_json: Run) -> None:
    """All workloads together, twice; another seed draws other sizes."""
    flow = 'workload = "requests"\nsize_bytes = "exp:20000"\nthink_s = "exp:0.5"'
    path = scenario(tmp_path, flow, "duration_s = 12\nseeds = [1, 2]", MIXED)
    for name in ("a", "b"):
        results = run_json(path, "--cc", "santacruz", "--out", tmp_path / name)
        assert all(found["completion"]["done"] for result in results for found in result["flows"])
    first, second = (tmp_path / name / "try" / "santacruz" / "seed-1" for name in ("a", "b"))
    names = [p.name for p in first.iterdir()]
    same, differ, faulty = filecmp.cmpfiles(first, second, names, shallow=False)
    assert set(differ) <= {"run.json"} and not faulty and {"items.parquet", "result.json"} <= set(same)
    sizes = [items(tmp_path / "a", results[0], seed)["bytes"][:5].tolist() for seed in (1, 2)]
    assert sizes[0] != sizes[1]


@pytest.mark.virtual
def test_messages_over_udp_are_lost_with_any_packet(tmp_path: Path, run_json: Run) -> None:
    """Frames of three packets, 5 % of which are lost: 0.95^3 arrive, each a crossing and two packets late."""
    flow = 'proto = "udp"\nworkload = "messages"\nperiod_s = 0.02\nsize_bytes = 2900\npacket_bytes = 1000'
    lossy = '[link.bottleneck]\nforward = { loss = { model = "random", percent = 5 } }'
    (result,) = run_json(scenario(tmp_path, flow, "", lossy), "--cc", "reno", "--out", tmp_path / "out")
    found = result["flows"][0]["completion"]
    assert found["n"] == 3000
    assert found["done"] / found["n"] == pytest.approx(0.95**3, abs=4 * math.sqrt(0.857 * 0.143 / 3000))
    last = 2900 - 2 * (1000 - 28) + 28
    first_s = 1000 * 8 / 100e6 + (2 * 1000 + last) * 8 / 10e6 + last * 8 / 100e6
    assert found["p50_s"] == pytest.approx(RTT_S / 2 + first_s, abs=30e-6)
    assert found["max_s"] == pytest.approx(found["p50_s"], abs=30e-6)


# -------------------------------------------- our modules, when the application limits


@pytest.mark.virtual
@pytest.mark.parametrize("cc", OURS)
def test_no_growth_of_a_window_that_is_not_used(tmp_path: Path, run_json: Run, cc: str) -> None:
    """RFC 9293, section 3.8.6.1 of RFC 7661: 2 of 10 Mbit/s for 30 s; 20 packets are on their way."""
    (result,) = run_json("app-limited", "--cc", cc, "--out", tmp_path)
    samples = series(tmp_path / "app-limited" / cc / "seed-1", "flows")
    t, window = np.array(samples["t"]), np.array(samples["cwnd"])
    assert np.array(samples["unacked"])[t > 2].max() < 30 < window[-1]
    assert window[t > 2].max() <= window[t > 2][0]
    assert result["flows"][0]["completion"]["done"] >= 2995


@pytest.mark.virtual
def test_no_burst_after_idle(tmp_path: Path, run_json: Run) -> None:
    """After 1 s no more than three timeouts leave of the window, after 10 s the initial window (RFC 2861, RFC 6928)."""
    ccs = [word for cc in ("reno", *OURS) for word in ("--cc", cc)]
    for result in run_json("after-idle", *ccs, "--set", "duration_s=40", "--out", tmp_path):
        directory = next(p for p in tmp_path.glob(f"*/{result['cc']}/seed-1") if named(p) == result["scenario"])
        left = np.array(series(directory, "owd-s-d")["t"])
        samples = series(directory, "flows")
        t, window = np.array(samples["t"]), np.array(samples["cwnd"])
        begun = np.array(series(directory, "items")["t"])[1:]
        assert len(begun) >= 2
        for at in begun:
            burst = int(((left >= at - 1e-4) & (left < at + 0.01)).sum())
            before = int(window[t < at][-1])
            idle_1s = "think_s=1]" in result["scenario"]
            assert 0 < burst <= max(10, before / 8 + 1 if idle_1s else 0), (result["scenario"], result["cc"], at)


def named(directory: Path) -> str:
    """Scenario of a run's directory."""
    found: str = json.loads((directory / "result.json").read_text())["scenario"]
    return found
