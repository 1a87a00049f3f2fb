# SPDX-License-Identifier: GPL-2.0
"""Links that change, clocks that drift, jitter in order, slots, offload: as asked for, on the kernel."""

import filecmp
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.utils import RawPcapReader

from hetlab.results.store import series

pytestmark = pytest.mark.virtual
Run = Callable[..., list[dict[str, Any]]]
MS = 1e-3
CLOCK_MS = 2e-3

UDP = """
title = "UDP, 1000 bytes each millisecond"
hosts = ["s", "d"]
routers = ["r"]
duration_s = 4
[link.access]
ends = ["s", "r"]
[link.narrow]
ends = ["r", "d"]
forward = {{ rate_mbit = 10, delay_ms = 20, queue_pkts = 100{extra} }}
[flow.main]
src = "s"
dst = "d"
proto = "udp"
rate_mbit = 8
packet_bytes = 1000
"""

EVENTS = """
[[event]]
at_s = 1
every_s = 1
link = "narrow"
way = "forward"
delay_ms = [50, 20]
[[event]]
at_s = 1.5
link = "narrow"
rate_mbit = 20
[[event]]
at_s = 3.25
link = "narrow"
loss_percent = 100
[[event]]
at_s = 3.5
link = "narrow"
loss_percent = 0
"""


def udp(directory: Path, **extras: str) -> list[Path]:
    """Scenario files by name, with these properties of the link and this text behind."""
    found = []
    for name, extra in extras.items():
        inline, _, tail = extra.partition("\n")
        path = directory / f"{name}.toml"
        path.write_text(UDP.format(extra=inline) + tail)
        found.append(path)
    return found


def delays(directory: Path, name: str) -> tuple[Any, Any]:
    """Departure (s) and one-way delay (ms, NaN: lost) of every packet."""
    owd = series(directory / name / "cubic" / "seed-1", "owd-s-d")
    return np.array(owd["t"]), np.array(owd["owd_ms"])


def test_events_take_place_on_time(tmp_path: Path, run_json: Run) -> None:
    run_json(*udp(tmp_path, steps="\n" + EVENTS), "--cc", "cubic", "--out", tmp_path / "out")
    t, owd = delays(tmp_path / "out", "steps")
    delay = np.where((t // 1) % 2 == 1, 50.0, 20.0) + np.where(t < 1.5, 0.8, 0.4)
    delay[(t >= 3.25) & (t < 3.5)] = np.nan
    edges = np.array([1, 1.5, 2, 3, 3.25, 3.5])
    apart = np.abs(t[:, None] - edges).min(axis=1) > 2 * MS
    assert np.sum(~apart) < 30
    assert np.array_equal(np.isnan(owd[apart]), np.isnan(delay[apart]))
    assert np.nanmax(np.abs(owd[apart] - delay[apart])) <= CLOCK_MS
    assert np.allclose(np.diff(t), MS, atol=1e-7), "an event held up the sender"


def test_jitter_in_order_and_slots(tmp_path: Path, run_json: Run) -> None:
    extras = {
        "order": ", jitter_ms = 5, jitter_in_order = true",
        "plain": ", jitter_ms = 5",
        "slots": ", slot_ms = 8",
        "few": ", slot_ms = 2, slot_pkts = 3",
    }
    run_json(*udp(tmp_path, **extras), "--cc", "cubic", "--out", tmp_path / "out")
    gaps, owd = {}, {}
    for name in extras:
        t, owd[name] = delays(tmp_path / "out", name)
        assert not np.any(np.isnan(owd[name]))
        gaps[name] = np.diff(t * 1e3 + owd[name])
    assert np.min(gaps["order"]) >= 0
    assert np.mean(gaps["plain"] < 0) > 0.2
    for name in ("order", "plain"):
        assert 15.8 - CLOCK_MS <= owd[name].min() < 19
        assert 24 < owd[name].max() <= 25.8 + CLOCK_MS
    slots = gaps["slots"][gaps["slots"] > 0.1]
    assert np.allclose(slots, 8, atol=CLOCK_MS)
    assert len(slots) == pytest.approx(4000 / 8, abs=3)
    assert np.min(gaps["few"]) > -CLOCK_MS
    assert max(len(burst) for burst in np.split(gaps["few"], np.flatnonzero(gaps["few"] > 0.1))) <= 3


CLOCKS = """
title = "a host with another clock; it opens a connection when it is well off"
hosts = ["s", "d"]
routers = ["r"]
duration_s = 80
[link.access]
ends = ["s", "r"]
forward = { rate_mbit = 10, delay_ms = 5, queue_pkts = 100 }
[link.exit]
ends = ["r", "d"]
[flow.main]
src = "s"
dst = "d"
pace_mbit = 0.3
[flow.back]
src = "d"
dst = "s"
start_s = 20
pace_mbit = 0.3
[measure]
pcap = true
[sweep]
"clock.d.skew_ppm" = [-1000, 200]
"""
MAIN, BACK = 5001, 5002
TCP_AT = {4: 34, 6: 54}  # after Ethernet and IP


def sent(pcap: Path, sport: int, dport: int) -> Iterator[tuple[float, bytes]]:
    """Time (s) and TCP options of a connection's packets; a port of 0 is any."""
    for data, meta in RawPcapReader(str(pcap)):
        at = TCP_AT[data[14] >> 4]
        ports = struct.unpack_from("!HH", data, at)
        if sport in (0, ports[0]) and dport in (0, ports[1]):
            # the file says microseconds or nanoseconds, scapy passes both on as they are
            yield meta.sec + meta.usec * 1e-9, data[at + 20 : at + (data[at + 12] >> 4) * 4]


def wrong_checksums(pcap: Path) -> tuple[int, int]:
    """IPv4 packets with a wrong TCP checksum, and how many could be checked."""
    wrong = checked = 0
    for data, meta in RawPcapReader(str(pcap)):
        if meta.wirelen == len(data):
            segment = data[34 : 14 + int.from_bytes(data[16:18])]
            pseudo = data[26:34] + struct.pack("!HH", 6, len(segment)) + segment + b"\0" * (len(segment) % 2)
            checked += 1
            wrong += sum(struct.unpack(f"!{len(pseudo) // 2}H", pseudo)) % 0xFFFF != 0
    return wrong, checked


def rate_ppm(points: list[tuple[float, int]], tick_s: float) -> float:
    """How much faster a clock runs than the capture's."""
    t, ticks = (np.array(v, float) for v in zip(*points, strict=True))
    return float(np.polyfit(t - t[0], (ticks - ticks[0]) * tick_s, 1)[0] - 1) * 1e6


def timestamps(pcap: Path, dport: int) -> list[tuple[float, int]]:
    """Time and TSval of packets in the kernel's usual layout; the connection's end is left out."""
    packets = sent(pcap, 0, dport)
    found = [(t, struct.unpack_from("!I", o, 4)[0]) for t, o in packets if o[:4] == b"\x01\x01\x08\x0a"]
    return [(t, value) for t, value in found if t < found[0][0] + 59.9]


@pytest.mark.parametrize("ipv6", ["false", "true"])
def test_a_clock_that_drifts(tmp_path: Path, run_json: Run, ipv6: str) -> None:
    """The host itself notices nothing: an echo off by a tick would reset the connection it opens at 20 s."""
    path = tmp_path / "clocks.toml"
    path.write_text(CLOCKS)
    runs = run_json(path, "--cc", "reno", "--set", f"ipv6={ipv6}", "--out", tmp_path)
    for r in runs:
        assert [f["retransmits"] for f in r["flows"]] == [0, 0], "a packet was dropped: wrong checksum?"
        assert all(f["goodput_mbit"] > 0.25 for f in r["flows"])
        ppm = r["scenario_resolved"]["clock"]["d"]
        directory = tmp_path / f"clocks_clock.d.skew_ppm={ppm:g}_" / "reno" / "seed-1"
        points = timestamps(directory / "d-s.tx.pcap", BACK)
        assert len(points) > 1000
        assert rate_ppm(points, 1e-3) == pytest.approx(ppm, abs=2)


def test_a_drifting_clock_in_the_option(tmp_path: Path, run_json: Run) -> None:
    """Arrival times in echoes, with a window of holes and without one."""
    path = tmp_path / "clocks.toml"
    path.write_text(CLOCKS + '[sysctl]\n"net.ipv4.tcp_santacruz" = 2\n')
    args = ["--set", "sweep={}", "--set", "clock.d.skew_ppm=200", "--set", "duration_s=60", "--patched"]
    args += ["--set", 'link.access.forward.loss={ model = "random", percent = 5 }', "--set", "flow.main.pace_mbit=1"]
    run_json(path, "--cc", "santacruz", *args, "--out", tmp_path)
    pcap = tmp_path / "clocks" / "santacruz" / "seed-1" / "d-s.tx.pcap"
    wrong, checked = wrong_checksums(pcap)
    assert wrong == 0 < checked
    for length in (b"\x0d", b"\x10"):
        echo = re.compile(b"\xfe" + length + b"SC.{5}(.{4})", re.DOTALL)
        hits = [(t, echo.search(options)) for t, options in sent(pcap, MAIN, 0)]
        points = [(t, int.from_bytes(hit[1])) for t, hit in hits if hit]
        assert len(points) > 100
        assert rate_ppm(least_late(points), 1e-6) == pytest.approx(200, abs=2)


def least_late(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """An ACK may have waited: the one of every five seconds whose echo is the latest."""
    begin = points[0][0]
    bins = [[p for p in points if 5 * i <= p[0] - begin < 5 * i + 5] for i in range(11)]
    return [max(some, key=lambda p: p[1] - p[0] * 1e6) for some in bins]


BACKWARDS = ("--set", "flow.back.src=d", "--set", "flow.back.dst=s", "--set", "flow.back.pace_mbit=0.05")


def test_offload_merges_at_the_hosts_alone(tmp_path: Path, run_json: Run) -> None:
    """Single packets on the wire, fewer ACKs; at 100 Mbit/s a packet of the stack has about eight segments."""
    args = ["--cc", "reno", "--set", "duration_s=1", "--set", "measure.pcap=true", *BACKWARDS]
    args += ["--set", "link.bottleneck.forward.rate_mbit=100"]
    acks = {}
    for way in ("true", "false"):
        sets = [x for link in ("access", "exit") for x in ("--set", f"link.{link}.offload={way}")]
        (r,) = run_json("real_networks-noise@offload", *args, *sets, "--out", tmp_path / way)
        directory = tmp_path / way / "real_networks-noise@offload" / "reno" / "seed-1"
        missing = np.isnan(series(directory, "owd-s-d")["owd_ms"])
        assert np.sum(missing) == r["queue"]["drops"] < len(missing) / 10
        acks[way] = sum(1 for _ in sent(directory / "d-s.tx.pcap", MAIN, 0))
    assert 500 < acks["true"] < 0.7 * acks["false"]


def test_changes_and_skew_repeat(tmp_path: Path, run_json: Run) -> None:
    """The same bytes whichever run comes first."""
    (steps,) = udp(tmp_path, steps=', loss = { model = "random", percent = 3 }\n' + EVENTS)
    clocks = tmp_path / "clocks.toml"
    short = {"duration_s = 80": "duration_s = 4", "start_s = 20": "start_s = 1", "[-1000, 200]": "[200]"}
    text = CLOCKS.replace("pcap = true", "")
    for old, new in short.items():
        text = text.replace(old, new)
    clocks.write_text(text)
    for name, order in (("a", (steps, clocks)), ("b", (clocks, steps))):
        run_json(*order, "--cc", "cubic", "--machines", "1", "--out", tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.*") if p.name != "run.json")
    files = [p for p in files if (tmp_path / "a" / p).is_file()]
    assert len(files) >= 10
    _same, different, errors = filecmp.cmpfiles(tmp_path / "a", tmp_path / "b", map(str, files), shallow=False)
    assert not different and not errors
