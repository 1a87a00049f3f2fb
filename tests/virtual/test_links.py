# SPDX-License-Identifier: GPL-2.0
"""The emulation itself, before anything is believed of it: queue, delay, loss, repetition."""

import filecmp
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hetlab.results.store import series

pytestmark = pytest.mark.virtual
Run = Callable[..., list[dict[str, Any]]]

UDP = """
title = "UDP into a drop-tail queue"
hosts = ["s", "d"]
routers = ["r"]
duration_s = 20
[link.access]
ends = ["s", "r"]
[link.narrow]
ends = ["r", "d"]
forward = {{ rate_mbit = 2, delay_ms = 25, queue_pkts = 10{extra} }}
[flow.main]
src = "s"
dst = "d"
proto = "udp"
rate_mbit = {rate}
packet_bytes = 1000
on_s = {on}
off_s = {off}
"""
SERVICE_S = 1000 * 8 / 2e6
CLOCK_S = 2e-6


def udp(tmp_path: Path, run_json: Run, rate: float, on: float = 0, off: float = 0, extra: str = "") -> Any:
    """Run the scenario; departure times and delays (NaN: lost) of all packets."""
    scenario = tmp_path / "udp.toml"
    scenario.write_text(UDP.format(rate=rate, on=on, off=off, extra=extra))
    (result,) = run_json(scenario, "--out", tmp_path / "out")
    owd = series(tmp_path / "out" / "udp" / result["cc"] / "seed-1", "owd-s-d")
    return result, np.array(owd["t"]), np.array(owd["owd_ms"]) / 1e3


def fifo(arrivals: Any, queue: int) -> Any:
    """Exact drop-tail FIFO: delay in queue and service of each packet, NaN if dropped."""
    free_at = 0.0
    waiting: list[float] = []
    delay: list[float] = []
    for t in arrivals:
        waiting = [d for d in waiting if d > t + CLOCK_S / 4]
        if len(waiting) > queue:
            delay.append(math.nan)
            continue
        free_at = max(free_at, t) + SERVICE_S
        waiting.append(free_at)
        delay.append(free_at - t)
    return np.array(delay)


@pytest.mark.parametrize(("rate", "on", "off"), [(1.94, 0, 0), (2.6613, 0, 0), (7.93, 0.0513, 0.1487)])
def test_queue_is_an_exact_fifo(tmp_path: Path, run_json: Run, rate: float, on: float, off: float) -> None:
    result, sent, delay = udp(tmp_path, run_json, rate, on, off)
    model = fifo(sent, 10) + 0.025
    dropped, model_dropped = np.isnan(delay), np.isnan(model)
    # an arrival at the very instant of a departure may count either way
    assert np.sum(dropped != model_dropped) <= 2 + len(sent) // 1000, "not the same packets are dropped"
    both = ~dropped & ~model_dropped
    assert np.max(np.abs(delay[both] - model[both])) <= CLOCK_S
    assert result["queue"]["drops"] == np.sum(dropped)
    assert result["queue"]["max_pkts"] <= 10


def test_random_loss_has_its_rate_and_leaves_the_rest_alone(tmp_path: Path, run_json: Run) -> None:
    extra = ', loss = { model = "random", percent = 5 }'
    result, _sent, delay = udp(tmp_path, run_json, 1.6, extra=extra)
    lost = np.mean(np.isnan(delay))
    n = len(delay)
    assert abs(lost - 0.05) < 4 * math.sqrt(0.05 * 0.95 / n)
    assert np.sum(np.isnan(delay)) == result["queue"]["loss_model_drops"]
    assert np.nanmax(np.abs(delay - (0.025 + SERVICE_S))) <= CLOCK_S


def test_loss_bursts_have_their_length(tmp_path: Path, run_json: Run) -> None:
    extra = ', loss = { model = "gemodel", percent = 1, burst_pkts = 3 }'
    _result, _sent, delay = udp(tmp_path, run_json, 1.6, extra=extra)
    lost = np.isnan(delay).astype(int)
    begins = int(np.sum((lost[1:] == 1) & (lost[:-1] == 0)))
    assert begins > 15
    assert 2 < np.sum(lost) / begins < 4.2


BURSTS = """
base = "faster_recovery-random"
title = "UDP over the lossy link of faster_recovery-random: 400,000 packets"
duration_s = 20
[link.bottleneck]
forward = {{ delay_ms = 1 }}
[link.exit]
forward = {{ loss = {{ burst_pkts = {mean} }} }}
[flow.main]
proto = "udp"
rate_mbit = 40
packet_bytes = 250
count = 1
[measure]
owd = true
[sweep]
"link.exit.forward.loss.percent" = [0.1]
"""
CHI2_6_BOUND = 22.5  # six degrees of freedom, exceeded once in 1000


def bursts(tmp_path: Path, run_json: Run, mean: float) -> tuple[Any, int]:
    """Lengths of all runs of lost packets, and how many packets were not in one."""
    scenario = tmp_path / "bursts.toml"
    scenario.write_text(BURSTS.format(mean=mean))
    (result,) = run_json(scenario, "--cc", "reno", "--out", tmp_path / f"{mean}")
    (directory,) = (tmp_path / f"{mean}").glob("*/reno/seed-1")
    lost = np.isnan(series(directory, "owd-s-d")["owd_ms"])
    assert result["queue"]["drops"] == 0 < np.sum(lost) == result["queue"]["loss_model_drops"]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], lost, [False])).astype(int)))
    return np.diff(edges)[::2], int(np.sum(~lost))


def misfit(lengths: Any) -> float:
    """Chi-square of lengths 1 to 6 and above against the geometric distribution with mean 3."""
    p = 1 / 3 * (2 / 3) ** np.arange(6)
    expected = np.append(p, 1 - p.sum()) * len(lengths)
    seen = np.bincount(np.minimum(lengths, 7), minlength=8)[1:]
    return float(np.sum((seen - expected) ** 2 / expected))


def test_loss_bursts_of_the_faster_recovery_paper(tmp_path: Path, run_json: Run) -> None:
    """Events with probability 1e-3 outside of a burst, lengths geometric with mean 3; not so if the mean is 2."""
    lengths, arrived = bursts(tmp_path, run_json, 3)
    assert arrived > 395_000
    assert len(lengths) == pytest.approx(1e-3 * arrived, abs=4 * math.sqrt(1e-3 * arrived))
    assert np.mean(lengths) == pytest.approx(3, abs=4 * math.sqrt(6 / len(lengths)))
    assert misfit(lengths) < CHI2_6_BOUND
    assert misfit(bursts(tmp_path, run_json, 2)[0]) > CHI2_6_BOUND


def test_memory_of_tcp_limits_no_flow(tmp_path: Path, run_json: Run) -> None:
    """10,000 packets on the way, merged on arrival; by default the kernel closes the window to 64 after 0.9 s."""
    sweep = 'sweep={ "link.bottleneck.forward.rate_mbit" = [1000] }'
    run_json(
        "faster_recovery-bwe-fast@merged", "--cc", "cubic", "--set", sweep, "--set", "duration_s=2", "--out", tmp_path
    )
    (directory,) = tmp_path.glob("*/cubic/seed-1")
    flow = series(directory, "flows")
    assert flow["rwnd_limited_us"][-1] == flow["sndbuf_limited_us"][-1] == 0
    assert flow["unacked"][-1] > 9000


def test_round_trip_of_an_empty_path(run_json: Run, tmp_path: Path) -> None:
    """40 + 40 ms, data 0.8 + 5.333 + 0.8 ms; a SYN (60 bytes) and its answer measure the least."""
    (r,) = run_json("santacruz-basic", "--cc", "reno", "--set", "duration_s=3", "--out", tmp_path)
    wire = 60 * 8 / 1e3 * (1 / 10 + 1 / 1.5 + 1 / 10) * 2
    assert r["flows"][0]["rtt_min_ms"] == pytest.approx(80 + wire, abs=0.02)
    assert r["owd_ms"]["min"] > 46.9


def test_directions_are_apart(run_json: Run, tmp_path: Path) -> None:
    (r,) = run_json("santacruz-asym", "--cc", "reno", "--set", "duration_s=2", "--out", tmp_path)
    ways = r["scenario_resolved"]["links"]["bottleneck"]
    assert (ways["forward"]["rate_mbit"], ways["reverse"]["rate_mbit"]) == (24, 0.416)


@pytest.mark.parametrize("aqm", ["red", "fq_codel", "codel", "pie", "fq", "cake"])
def test_aqm_carries_the_rate(run_json: Run, tmp_path: Path, aqm: str) -> None:
    args = ("--set", f"link.bottleneck.forward.aqm={aqm}", "--set", "duration_s=20")
    (r,) = run_json("bulk", "--cc", "cubic", *args, "--out", tmp_path)
    payload = 10 * 1448 / 1500
    assert 0.6 * payload < r["flows"][0]["steady_goodput_mbit"] < 1.02 * payload


def test_an_ack_filter_makes_room_for_acks(run_json: Run, tmp_path: Path) -> None:
    """ACKs of 10 Mbit/s are 174 kbit/s, the way back has 50: they wait for seconds, or the filter thins them."""
    got = {}
    for wanted in ("true", "false"):
        reverse = f"link.bottleneck.reverse={{rate_mbit=0.05,delay_ms=50,aqm='cake',ack_filter={wanted}}}"
        (r,) = run_json("bulk", "--cc", "reno", "--set", reverse, "--set", "duration_s=10", "--out", tmp_path)
        got[wanted] = r["flows"][0]
    assert got["true"]["srtt_ms"] < 200
    assert got["false"]["srtt_ms"] > 1000
    assert got["true"]["steady_goodput_mbit"] > 1.5 * got["false"]["steady_goodput_mbit"]


def test_red_lets_a_lone_flow_recover(run_json: Run, tmp_path: Path) -> None:
    """Without the lab's patch RED never notices an empty queue below a shaper and drops for minutes."""
    args = ("--set", "link.bottleneck.forward.aqm=red", "--set", "link.bottleneck.forward.delay_ms=12")
    (r,) = run_json("bulk", "--cc", "westwood", *args, "--out", tmp_path)
    assert r["flows"][0]["steady_goodput_mbit"] > 5


def test_ipv6_and_several_flows(run_json: Run, tmp_path: Path) -> None:
    args = ("--set", "ipv6=true", "--set", "flow.main.count=4", "--set", "duration_s=20")
    (r,) = run_json("bulk", "--cc", "reno", *args, "--out", tmp_path)
    assert len(r["flows"]) == 4
    assert sum(f["goodput_mbit"] for f in r["flows"]) > 8.5
    assert 0.25 <= r["jain"] <= 1
    assert r["owd_ms"]["packets"] > 1000


def files(directory: Path) -> list[Path]:
    """What must repeat: everything but the wall-clock time."""
    return sorted(p.relative_to(directory) for p in directory.rglob("*") if p.is_file() and p.name != "run.json")


def test_same_seed_same_bytes_in_any_order(run_json: Run, tmp_path: Path) -> None:
    """Random loss and the random phases of bbr; one at a time, and side by side in another order."""
    args = ("--set", "duration_s=20")
    ccs = ("westwood_fr", "bbr", "hybla_ext")
    run_json("geo", *args, *(x for c in ccs for x in ("--cc", c)), "--machines", "1", "--out", tmp_path / "a")
    run_json("geo", *args, *(x for c in reversed(ccs) for x in ("--cc", c)), "--machines", "2", "--out", tmp_path / "b")
    names = files(tmp_path / "a")
    assert len(names) >= 12
    assert names == files(tmp_path / "b")
    _same, different, errors = filecmp.cmpfiles(tmp_path / "a", tmp_path / "b", map(str, names), shallow=False)
    assert not different and not errors


def test_another_seed_another_run(run_json: Run, tmp_path: Path) -> None:
    runs = run_json("geo", "--cc", "reno", "--set", "duration_s=60", "--seeds", "2", "--out", tmp_path)
    a, b = sorted(runs, key=lambda r: int(r["seed"]))
    assert (a["seed"], b["seed"]) == (1, 2)
    assert a["queue"]["loss_model_drops"] != b["queue"]["loss_model_drops"] or a["owd_ms"] != b["owd_ms"]
