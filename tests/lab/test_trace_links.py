# SPDX-License-Identifier: GPL-2.0
"""Links that follow tables, packet by packet against exact models, and what the kernel refuses."""

import filecmp
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Hetlab, Run
from hetlab.model import traces
from hetlab.model.trace import Table
from hetlab.paths import TOP
from hetlab.results.store import series

pytestmark = pytest.mark.virtual

SCENARIO = """
title = "UDP into a link of a trace"
hosts = ["s", "d"]
routers = ["r"]
duration_s = {duration}
[link.access]
ends = ["s", "r"]
[link.narrow]
ends = ["r", "d"]
forward = {{ {forward} }}
reverse = {{}}
[flow.main]
src = "s"
dst = "d"
proto = "udp"
rate_mbit = {rate}
packet_bytes = {size}
{more}
"""
OPPORTUNITY_BYTES = 1500
CLOCK_S = 2e-6
Model = Callable[[Any], list[float]]


def udp(
    directory: Path, run_json: Run, forward: str, rate: float, size: int = 1500, duration: float = 10, more: str = ""
) -> tuple[dict[str, Any], Any, Any]:
    """Run the scenario; when each packet came to the queue, and when it arrived (NaN: never)."""
    file = directory / "udp.toml"
    file.write_text(SCENARIO.format(forward=forward, rate=rate, size=size, duration=duration, more=more))
    (result,) = run_json(file, "--out", directory / "out")
    owd = series(directory / "out" / "udp" / result["cc"] / "seed-1", "owd-s-d")
    sent = np.array(owd["t"])
    return result, sent, sent + np.array(owd["owd_ms"]) / 1e3


def opportunities(found: Table, until_s: float) -> list[float]:
    """Times of all opportunities until then."""
    once = [t for t, n in zip(found.t_ns, found.value, strict=True) for _ in range(n)]
    turns = range(int(until_s * 1e9 // found.period_ns) + 1)
    return sorted((turn * found.period_ns + t) / 1e9 for turn in turns for t in once)


def mahimahi(arrivals: Any, size: int, every: list[float], pkts: float, octets: float) -> list[float]:
    """Departure of each packet, NaN if dropped: mm-link's queue, which lets an opportunity begin several packets."""
    left = [float("nan")] * len(arrivals)
    waiting: deque[int] = deque()
    transit, rest, at = -1, 0, 0
    for i, now in [*enumerate(arrivals), (-1, float("inf"))]:
        while at < len(every) and every[at] <= now:
            room = OPPORTUNITY_BYTES
            while room and (transit >= 0 or waiting):
                if transit < 0:
                    transit, rest = waiting.popleft(), size
                part = min(room, rest)
                room, rest = room - part, rest - part
                if not rest:
                    left[transit], transit = every[at], -1
            at += 1
        if i >= 0 and len(waiting) < pkts and (len(waiting) + 1) * size <= octets:
            waiting.append(i)
    return left


def agree(arrived: Any, model: Any, end_s: float, within_s: float = 10e-6) -> None:
    """The same packets arrive, each at its time; those that are under way at the end of the run do not count."""
    model = np.array(model)
    inside = ~(model > end_s - 0.2)
    differ = np.isnan(arrived[inside]) != np.isnan(model[inside])
    assert np.sum(differ) <= 2 + len(model) // 1000, "not the same packets are dropped"
    both = ~np.isnan(arrived) & ~np.isnan(model) & inside
    assert np.sum(both) > 1000
    late = np.abs(arrived[both] - model[both])
    assert np.max(late) <= within_s, f"{np.sum(late > within_s)} of {len(late)} packets, at most {np.max(late):g} s"


def test_each_departure_is_an_opportunity(tmp_path: Path, run_json: Run) -> None:
    """A saturating flow gets all of them, as many and when the trace says; period 7 s, until 63 s."""
    recipe = "cellular:mean_mbit=2,duration_s=7,sigma=0.3"
    forward = f'trace = "{recipe}", delay_ms = 25, queue_pkts = 60'
    result, _sent, arrived = udp(tmp_path, run_json, forward, 9, duration=63)
    capacity = traces.load(recipe).capacity
    assert capacity
    left = np.sort(arrived[~np.isnan(arrived)]) - 0.025
    every = np.array([t for t in opportunities(capacity, 64) if left[0] - 1e-5 < t < 62.9])
    assert len(every) > 9000
    assert len(left[left < 62.9]) == len(every)
    assert np.max(np.abs(left[: len(every)] - every)) < 10e-6
    assert result["queue"]["capacity_mbit"] == pytest.approx(capacity.bits(63 * 10**9) / 63e6, rel=1e-6)
    assert result["queue"]["max_pkts"] == 60


@pytest.mark.parametrize(
    ("size", "rate", "limit", "pkts", "octets"),
    [
        (700, 4, "queue_pkts = 25", 25, float("inf")),
        (400, 2.02, "queue_pkts = 500", 500, float("inf")),
        (1000, 3, "queue_bytes = 15400", float("inf"), 15_400),
    ],
)
def test_bytes_of_opportunities(
    tmp_path: Path, run_json: Run, size: int, rate: float, limit: str, pkts: float, octets: float
) -> None:
    """Several packets in one, one over several; what nothing waits for is lost; limits in packets and bytes."""
    recipe = "cellular:mean_mbit=2,duration_s=7,sigma=0.3"
    result, sent, arrived = udp(tmp_path, run_json, f'trace = "{recipe}", delay_ms = 25, {limit}', rate, size)
    capacity = traces.load(recipe).capacity
    assert capacity
    model = np.array(mahimahi(sent, size, opportunities(capacity, 12), pkts, octets)) + 0.025
    agree(arrived, model, 10)
    assert result["queue"]["drops"] == pytest.approx(np.sum(np.isnan(model)), abs=10)


def fluid(arrivals: Any, size: int, steps: list[tuple[float, float]], pkts: int) -> list[float]:
    """Departures from a drop-tail queue whose rate (Mbit/s) is that of the last step, even for who waits."""
    times = [t for t, _mbit in steps]
    area = np.concatenate(([0], np.cumsum(np.diff(times) * np.array([mbit for _t, mbit in steps[:-1]]) * 1e6)))

    def carried(t: float) -> float:
        k = bisect_right(times, t) - 1
        return float(area[k] + (t - times[k]) * steps[k][1] * 1e6)

    def when(bits: float) -> float:
        k = int(np.searchsorted(area, bits - 1e-6, side="left")) - 1
        k = max(min(k, len(steps) - 1), 0)
        return float(times[k] + (bits - area[k]) / (steps[k][1] * 1e6)) if steps[k][1] else float("inf")

    left: list[float] = []
    under_way: deque[float] = deque()
    done = 0.0
    for now in arrivals:
        while under_way and under_way[0] <= now + CLOCK_S / 4:
            under_way.popleft()
        if len(under_way) > pkts:
            left.append(float("nan"))
            continue
        done = max(done, carried(now)) + size * 8
        under_way.append(when(done))
        left.append(under_way[-1])
    return left


def test_packets_that_wait_feel_a_new_rate(tmp_path: Path, run_json: Run) -> None:
    """By events, one of them to 0, which holds packets; netem keeps their departures, and has no rate of 0."""
    changes = [(2.0, 0.5), (3.0, 0), (4.5, 3), (6.0, 1.7)]
    more = "".join(
        f'[[event]]\nat_s = {at}\nlink = "narrow"\nway = "forward"\nrate_mbit = {mbit}\n' for at, mbit in changes
    )
    forward = "rate_mbit = 2, rate_at_once = true, delay_ms = 25, queue_pkts = 20"
    _result, sent, arrived = udp(tmp_path, run_json, forward, 2.2113, 1000, more=more)
    steps = [(0.0, 2.0), *((at + 5e-6, mbit) for at, mbit in changes)]
    agree(arrived, np.array(fluid(sent, 1000, steps, 20)) + 0.025, 10, 20e-6)


def test_a_table_of_rates(tmp_path: Path, run_json: Run) -> None:
    """From a CSV, with an outage that holds packets; it repeats each 2.5 s."""
    values = [(0.0, 3.0), (0.7, 0.0), (1.0, 1.1), (2.0, 2.3)]
    file = tmp_path / "rate.csv"
    file.write_text("t_s,rate_mbit\n" + "".join(f"{t},{mbit}\n" for t, mbit in values) + "2.25,2.3\n")
    _result, sent, arrived = udp(
        tmp_path, run_json, 'trace = "rate.csv", delay_ms = 25, queue_pkts = 30', 2.1137, 700, 62
    )
    steps = [(2.5 * turn + t, mbit) for turn in range(30) for t, mbit in values]
    agree(arrived, np.array(fluid(sent, 700, steps, 30)) + 0.025, 62)


def test_delay_in_order_and_loss(tmp_path: Path, run_json: Run) -> None:
    """A packet never overtakes another one; from 3 s on all are lost, from 4 s on 30 %."""
    (tmp_path / "path.csv").write_text(
        "t_s,delay_ms,loss_percent\n0,20,0\n1,80,0\n2,30.5,0\n3,30.5,100\n4,5,30\n6,5,0\n"
    )
    result, sent, arrived = udp(tmp_path, run_json, 'trace = "path.csv"', 2, 500, 7.9)
    delay = np.array([20, 80, 30.5, 30.5, 5, 5, 5])[np.minimum(sent, 6).astype(int)] / 1e3
    lost = np.isnan(arrived)
    due = np.maximum.accumulate(np.where(lost, 0, sent + delay))  # what is lost holds up nobody
    assert np.max(np.abs(arrived - due)[~lost]) < CLOCK_S
    assert not lost[sent < 3 - 1e-4].any() and lost[(sent > 3 + 1e-4) & (sent < 4 - 1e-4)].all()
    assert not lost[sent > 6 + 1e-4].any()
    some = lost[(sent > 4 + 1e-4) & (sent < 6 - 1e-4)]
    assert abs(np.mean(some) - 0.3) < 4 * np.sqrt(0.21 / len(some))
    assert 0 <= result["queue"]["loss_model_drops"] - np.sum(lost) < 10  # a few packets of the kernel's own, before


AQM = """
base = "bulk"
title = "an AQM on a link of a trace"
remove = ["link.bottleneck.forward.rate_mbit", "link.bottleneck.forward.queue_bdp"]
duration_s = 20
[link.bottleneck]
forward = {{ trace = "cellular:mean_mbit=8,duration_s=20", queue_pkts = 400, aqm = "{aqm}" }}
reverse = {{ rate_mbit = 10, delay_ms = 50 }}
"""


def test_an_aqm_sees_the_whole_wait(tmp_path: Path, run_json: Run) -> None:
    """codel keeps the queue of a trace short, where drop-tail lets it fill; two runs have the same bytes."""
    mean = {}
    for aqm in ("fifo", "codel", "fq_codel", "pie", "red"):
        file = tmp_path / f"{aqm}.toml"
        file.write_text(AQM.format(aqm=aqm))
        (result,) = run_json(file, "--cc", "cubic", "--out", tmp_path / aqm)
        mean[aqm] = result["queueing_ms"]["mean"]
        assert result["flows"][0]["goodput_mbit"] > 0.25 * result["queue"]["capacity_mbit"], aqm
        assert result["queue"]["drops"] > 0
    assert all(mean[aqm] < 0.5 * mean["fifo"] for aqm in ("codel", "fq_codel", "pie", "red")), mean


def test_same_seed_same_bytes(tmp_path: Path, run_json: Run) -> None:
    """With losses of a table, whose random numbers are the run's."""
    (tmp_path / "own.csv").write_text("t_s,rate_mbit,delay_ms,loss_percent\n0,8,20,1\n1,4,30,2\n")
    file = tmp_path / "own.toml"
    file.write_text(
        AQM.format(aqm="fifo")
        .replace("cellular:mean_mbit=8,duration_s=20", "own.csv")
        .replace('"]', '", "link.bottleneck.forward.delay_ms"]', 1)
    )
    for name in ("a", "b"):
        run_json(file, "--cc", "bbr", "--set", "duration_s=10", "--out", tmp_path / name)
    (one,), (other,) = ([p for p in (tmp_path / n).rglob("seed-1")] for n in ("a", "b"))
    names = sorted(p.name for p in one.iterdir() if p.name != "run.json")
    assert "capacity.parquet" in names
    _same, different, errors = filecmp.cmpfiles(one, other, names, shallow=False)
    assert not different and not errors


def test_measuring_moves_no_packet(tmp_path: Path, run_json: Run) -> None:
    """Packets that leave at whole milliseconds, as samples are taken, come when they came, however many those are.

    To the nanosecond, until the end, when a socket is closed under packets that still arrive.
    """
    seen = []
    for queue_ms, sample_ms in ((10, 100), (100, 100), (25, 20)):
        out = tmp_path / f"{queue_ms}-{sample_ms}"
        more = (f"measure.queue_ms={queue_ms}", f"measure.sample_ms={sample_ms}", "duration_s=5")
        run_json("lte", "--cc", "reno", *(word for key in more for word in ("--set", key)), "--out", out)
        owd = series(next(out.rglob("seed-1")), "owd-s-d")
        sent, delay_ms = np.array(owd["t"]), np.array(owd["owd_ms"])
        seen.append((sent, np.where(sent + delay_ms / 1e3 < 5, delay_ms, np.nan)))
    for sent, delay_ms in seen[1:]:
        assert np.count_nonzero(np.isfinite(delay_ms)) > 1000
        assert np.array_equal(sent, seen[0][0])
        assert np.array_equal(delay_ms, seen[0][1], equal_nan=True)


def test_what_the_kernel_refuses(hetlab: Hetlab) -> None:
    """A caller that sends any bytes gets errors; the machine and its links go on."""
    done = hetlab("exec", "--", "python3", TOP / "tests" / "lab" / "replay_guest.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all refused" in done.stdout


def test_faults_of_hetreplay(hetlab: Hetlab) -> None:
    """Each is named; of dualpi2, which this kernel lacks, in the words that a link's advice looks for."""
    faults = {
        "make kind=dualpi2 dev=lo handle=10:": "hetreplay: make dualpi2 lo: No such file or directory",
        "make kind=dualpi2 dev=lo target_us=0": "target_us",
        "change kind=dualpi2 dev=lo": "change: no such command of dualpi2: make, show",
        "make kind=blue dev=lo": "kind=blue: one of replay, dualpi2",
        "make dev=lo parent=7": "parent=7: a class, such as 1:1",
        "show dev=lo": "show replay lo: No such file or directory",
    }
    for line, said in faults.items():
        done = hetlab("exec", "--", "sh", "-c", f"echo '{line}' | $HETLAB_BIN/hetreplay")
        assert done.returncode != 0 and said in done.stdout + done.stderr, (line, done.stdout, done.stderr)


def test_a_mininet_script(hetlab: Hetlab, tmp_path: Path) -> None:
    """HetLink plays a file or a recipe; while the way back has a rate of 0 nothing comes back, and nothing is lost."""
    (tmp_path / "each.ms").write_text("1\n")
    for words in ([], [str(tmp_path / "each.ms")]):
        done = hetlab("exec", "--", "python3", TOP / "tools" / "mininet" / "trace_link.py", *words)
        assert done.returncode == 0, done.stderr
        received = [int(n) for n in re.findall(r"packets transmitted, (\d+) received", done.stdout)]
        assert received[0] == 200 and received[1] == 0 and received[2] == 20
    mean_ms = float(re.findall(r"= [\d.]+/([\d.]+)/", done.stdout)[0])
    assert mean_ms == pytest.approx(40 + 98 * 8 / 2e3 + 0.5, abs=0.6), "an opportunity each millisecond"
