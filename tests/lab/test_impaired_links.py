# SPDX-License-Identifier: GPL-2.0
"""Policers, step marking, erased ECN, black holes, order, changes that end, clocks apart, starts: on the kernel."""

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.utils import RawPcapReader

from commands import Hetlab, Run
from hetlab.results.store import series

pytestmark = pytest.mark.virtual
CLOCK_MS = 2e-3
CE, ECT0 = 3, 2

PATH = """
title = "a router between two hosts"
hosts = ["s", "d"]
routers = ["r"]
duration_s = {duration_s}
[link.access]
ends = ["s", "r"]
[link.narrow]
ends = ["r", "d"]
forward = {{ {forward} }}
reverse = {{ delay_ms = 10 }}
[flow.main]
src = "s"
dst = "d"
{flow}
[measure]
bottleneck = "narrow.forward"
pcap = true
{more}
"""
UDP = 'proto = "udp"\npacket_bytes = 1000\nrate_mbit = '


def one(tmp_path: Path, run_json: Run, forward: str, flow: str = "", more: str = "", **told: Any) -> tuple[Any, Path]:
    """Result and directory of a run of the path with such a link."""
    cc, args = told.get("cc", "cubic"), told.get("args", ())
    path = tmp_path / "path.toml"
    text = PATH.format(forward=forward, flow=flow, more=more, duration_s=told.get("duration_s", 10))
    for old, new in told.get("instead", {}).items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    out = tmp_path / "out"
    (result,) = run_json(path, "--cc", cc, *args, "--out", out)
    (directory,) = {p.parent for p in out.rglob("result.json") if p.parent.parent.name == cc}
    return result, directory


def delays(directory: Path) -> tuple[Any, Any]:
    """Departure (s) and one-way delay (ms, NaN: lost) of every packet."""
    owd = series(directory, "owd-s-d")
    return np.array(owd["t"]), np.array(owd["owd_ms"])


def packets(directory: Path, end: str) -> Iterator[tuple[float, int, int]]:
    """Time (s), IP identification or TSval, and ECN field of data packets as they left (tx) or arrived (rx)."""
    for data, meta in RawPcapReader(str(directory / f"s-d.{end}.pcap")):
        if meta.wirelen > 500:
            v6 = data[14] >> 4 == 6
            ident = struct.unpack_from("!I", data, 14 + 40 + 24)[0] if v6 else struct.unpack_from("!H", data, 18)[0]
            yield meta.sec + meta.usec * 1e-9, ident, data[15] >> (4 if v6 else 0) & 3


# ------------------------------------------------------------------- policer


def bucket(arrivals: Any, mbit: float, burst: int, size: int) -> Any:
    """Exact token bucket that is full at first: whether each packet passes."""
    tokens, before, passed = float(burst), float(arrivals[0]), []
    for t in arrivals:
        tokens, before = min(burst, tokens + (t - before) * mbit * 1e6 / 8), t
        passed.append(tokens >= size)
        tokens -= size * passed[-1]
    return np.array(passed)


@pytest.mark.parametrize(
    ("mbit", "burst", "pauses"), [(8, 20_000, ""), (3.3, 1500, ""), (4, 250_000, "\non_s=1\noff_s=1")]
)
def test_a_policer_is_an_exact_bucket_without_a_queue(
    tmp_path: Path, run_json: Run, mbit: float, burst: int, pauses: str
) -> None:
    forward = f"delay_ms = 20, police_mbit = {mbit}, police_burst_bytes = {burst}"
    result, directory = one(tmp_path, run_json, forward, UDP + "16.13" + pauses)
    t, owd = delays(directory)
    model = bucket(t, mbit, burst, 1000)
    wrong = np.sum(np.isnan(owd) == model)
    assert wrong <= 2 + len(t) // 2000, "not the same packets are dropped"
    assert np.nanmax(np.abs(owd - 20)) <= CLOCK_MS, "a packet waited"
    assert result["queue"]["filter_drops"] == np.sum(np.isnan(owd)) > len(t) / 4
    if not pauses:
        carried = result["flows"][0]["goodput_mbit"] - burst * 8 / 10 / 1e6
        assert carried == pytest.approx(mbit, rel=0.01)


def test_a_policer_behind_a_queue_by_default(tmp_path: Path, run_json: Run) -> None:
    """Its burst is 100 ms of its rate; a rate below its own it lets alone, TCP gets along with it."""
    for rate_mbit, drops in ((20, True), (4, False)):
        forward = f"rate_mbit = {rate_mbit}, delay_ms = 10, queue_pkts = 50, police_mbit = 5"
        result, _directory = one(tmp_path / str(rate_mbit), run_json_in(tmp_path, run_json, rate_mbit), forward)
        assert bool(result["queue"]["filter_drops"]) == drops
        assert 0.5 * min(5, rate_mbit) < result["flows"][0]["goodput_mbit"] < min(5, rate_mbit)


def run_json_in(tmp_path: Path, run_json: Run, name: object) -> Run:
    """The same, once its directory is there."""
    (tmp_path / str(name)).mkdir()
    return run_json


# ------------------------------------------------------------------ ECN, step


STEPS = {
    "codel": 'aqm = "codel"',
    "fq_codel": 'aqm = "fq_codel"',
    "fifo": 'aqm = "codel", aqm_options = { target = "10s" }',
}


@pytest.mark.parametrize("aqm", list(STEPS))
def test_marks_happen_at_the_step(tmp_path: Path, run_json: Run, aqm: str) -> None:
    """The shaper takes one packet out before its time: it decides up to 1.2 ms, a packet's time, earlier."""
    forward = f"rate_mbit = 10, delay_ms = 10, queue_pkts = 80, {STEPS[aqm]}, mark_above_ms = 3"
    result, directory = one(tmp_path, run_json, forward, more='[sysctl]\n"net.ipv4.tcp_ecn" = 1')
    sent = {ident: t for t, ident, _ecn in packets(directory, "tx")}
    got = [
        ((t - sent[ident]) * 1e3 - 10 - 1.2, ecn == CE) for t, ident, ecn in packets(directory, "rx") if ident in sent
    ]
    waited, marked = (np.array(v) for v in zip(*got, strict=True))
    assert np.sum(marked) == pytest.approx(result["queue"]["marks"], abs=3)
    assert 100 < np.sum(marked) < len(marked) - 100
    assert not np.any(marked & (waited < 3 - CLOCK_MS))
    assert np.all(marked | (waited <= 3 + 1.2 + CLOCK_MS))
    assert result["queue"]["drops"] == 0


@pytest.mark.parametrize("ipv6", ["false", "true"])
def test_ecn_that_is_erased_on_the_way(tmp_path: Path, run_json: Run, ipv6: str) -> None:
    """The AQM marks in each case; the receiver sees what is left, and TCP's checksums hold."""
    seen, marks = {}, {}
    for bleach in ("none", "ce", "all"):
        forward = f"rate_mbit = 10, delay_ms = 10, queue_pkts = 90, {STEPS['fifo']}, mark_above_ms = 2"
        forward += f', ecn_bleach = "{bleach}"'
        (tmp_path / bleach).mkdir()
        more = '[sysctl]\n"net.ipv4.tcp_ecn" = 1'
        result, directory = one(
            tmp_path / bleach, run_json, forward, more=more, duration_s=3, args=("--set", f"ipv6={ipv6}")
        )
        assert result["flows"][0]["goodput_mbit"] > 7
        seen[bleach] = Counter(ecn for _t, _ident, ecn in packets(directory, "rx"))
        marks[bleach] = result["queue"]["marks"]
        assert {ecn for _t, _ident, ecn in packets(directory, "tx")} <= {ECT0, 0}
    assert seen["none"][CE] > 50 and seen["none"][ECT0] > 500
    assert seen["ce"].keys() <= {ECT0, 0} and seen["ce"][ECT0] > 500
    assert seen["all"].keys() == {0}
    assert marks["ce"] > 10 * marks["none"] > 500 and marks["all"] > 10 * marks["none"]


# --------------------------------------------------------------- black hole


def test_a_black_hole_until_mtu_probing(tmp_path: Path, run_json: Run) -> None:
    """Nothing but small packets arrives; no ICMP tells the sender, only probing (RFC 4821) finds out."""
    got = {}
    for probing in (0, 1):
        (tmp_path / str(probing)).mkdir()
        more = f'[sysctl]\n"net.ipv4.tcp_mtu_probing" = {probing}'
        forward = "rate_mbit = 10, delay_ms = 10, queue_pkts = 80, blackhole_above_bytes = 1400"
        got[probing], _directory = one(tmp_path / str(probing), run_json, forward, more=more, duration_s=15)
    assert got[0]["flows"][0]["goodput_mbit"] == 0 < got[0]["flows"][0]["timeouts"]
    assert got[0]["queue"]["filter_drops"] > 5 and got[0]["queue"]["drops"] == 0
    assert got[1]["flows"][0]["goodput_mbit"] > 1


def test_a_black_hole_has_an_edge(tmp_path: Path, run_json: Run) -> None:
    for limit, arrive in ((1000, True), (999, False)):
        (tmp_path / str(limit)).mkdir()
        forward = f"delay_ms = 10, blackhole_above_bytes = {limit}"
        _result, directory = one(tmp_path / str(limit), run_json, forward, UDP + "1", duration_s=1)
        assert np.all(np.isnan(delays(directory)[1]) != arrive)


# -------------------------------------------------------------------- order


def test_every_fifth_packet_overtakes(tmp_path: Path, run_json: Run) -> None:
    forward = "rate_mbit = 100, delay_ms = 20, reorder_percent = 100, reorder_gap_pkts = 5"
    _result, directory = one(tmp_path, run_json, forward, UDP + "8", duration_s=2)
    _t, owd = delays(directory)
    first = np.flatnonzero(owd < 1)
    assert len(first) == pytest.approx(len(owd) / 5, abs=2)
    assert np.all(np.diff(first) == 5)
    assert np.all(np.abs(np.delete(owd, first) - 20.08) <= CLOCK_MS)


# ------------------------------------------------------------ changes that end

CHANGE = {
    "jitter": "jitter_ms = 5",
    "slots": "slot_ms = 8",
    "bursts": 'loss = { model = "gemodel", percent = 5, burst_pkts = 4 }',
    "errors": 'loss = { model = "ber", ber = 1e-5 }',
    "order": "reorder_percent = 20\nreorder_gap_pkts = 2",
    "copies": "duplicate_percent = 30",
    "delay": "delay_ms = 50",
    "rate": "rate_mbit = 10",
}
BEGIN_S = {name: 1 + 2 * i for i, name in enumerate(CHANGE)}
EVENTS = "".join(
    f'[[event]]\nat_s = {BEGIN_S[name]}\nduration_s = 1\nlink = "LINK"\nway = "forward"\n{change}\n'
    for name, change in CHANGE.items()
)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory, run_json: Run) -> dict[str, Any]:
    """Departures, delays, arrivals: all changes one after the other, at a router's link and at the host's own."""
    base = tmp_path_factory.mktemp("changes")
    text = PATH.format(
        forward="rate_mbit = 20, delay_ms = 20, queue_pkts = 100",
        flow=UDP + "8",
        duration_s=1 + 2 * len(CHANGE),
        more=EVENTS,
    ).replace('ends = ["s", "r"]', 'ends = ["s", "r"]\nforward = { rate_mbit = 20, delay_ms = 20 }')
    for link in ("narrow", "access"):
        (base / f"{link}.toml").write_text(text.replace("LINK", link))
    run_json(base / "narrow.toml", base / "access.toml", "--cc", "cubic", "--out", base)
    found = {link: base / link / "cubic" / "seed-1" for link in ("narrow", "access")}
    return {link: (*delays(of), [(t, i) for t, i, _ecn in packets(of, "rx")]) for link, of in found.items()}


# A host's own rate comes before the point where its packets are seen, where what varies follows the queue
QUIET_MS = {"narrow": 40.8, "access": 40.4}
CASES = [(name, link) for link in QUIET_MS for name in CHANGE if (name, link) != ("rate", "access")]


@pytest.mark.parametrize(("name", "link"), CASES)
def test_a_change_lasts_for_its_duration(changed: dict[str, Any], name: str, link: str) -> None:
    """Half a second before it, while it lasts, half a second after it; not within 40 ms of its begin and end."""
    t, owd, arrivals = changed[link]
    into = t + (0.0204 if link == "narrow" else 0) - BEGIN_S[name]
    outside = ((into > -0.5) & (into < -0.04)) | ((into > 1.04) & (into < 1.5))
    inside = (into > 0.04) & (into < 0.96)
    quiet = QUIET_MS[link]
    assert np.all(np.abs(owd[outside] - quiet) <= CLOCK_MS)
    assert np.sum(outside) > 900
    seen, gone = owd[inside], np.isnan(owd[inside])
    begin = arrivals[0][0] - owd[0] / 1e3 - t[0] + BEGIN_S[name]
    within = Counter(ident for at, ident in arrivals if -0.5 < at - begin < 1.5)
    copies = sum(within.values()) - len(within)
    lengths = np.diff(np.flatnonzero(np.diff(np.concatenate(([0], gone, [0])))))[::2]
    effects = {
        "jitter": np.ptp(seen) > 8 and np.min(seen) >= quiet - 5.01,
        "slots": np.mean(np.diff(t[inside] * 1e3 + seen) < 0.5) > 0.7,
        "bursts": np.sum(gone) > 50 and np.mean(lengths) > 2,
        "errors": 50 < np.sum(gone) < 150 and np.mean(lengths) < 1.5,
        "order": 110 < np.sum(seen < quiet - 15) < 200,
        "copies": 200 < copies < 400,
        "delay": np.all(np.abs(seen - quiet - 30) <= CLOCK_MS),
        "rate": np.all(np.abs(seen - quiet - 0.4) <= CLOCK_MS),
    }
    assert effects[name]
    assert (copies > 0) == (name == "copies")
    assert np.any(gone) == (name in ("bursts", "errors"))


# -------------------------------------------------------------------- clocks


def echoes(directory: Path) -> list[tuple[float, bytes]]:
    """Time and TCP options of what the receiver sent."""
    found = []
    for data, meta in RawPcapReader(str(directory / "d-s.tx.pcap")):
        at = 54 if data[14] >> 4 == 6 else 34
        found.append((meta.sec + meta.usec * 1e-9, data[at + 20 : at + (data[at + 12] >> 4) * 4]))
    return found


# What arrives at a host with another clock must not be delayed there
AT_S = {'ends = ["s", "r"]': 'ends = ["r", "d"]', 'ends = ["r", "d"]\nforward': 'ends = ["s", "r"]\nforward'}
CLOCKS = """
[flow.back]
src = "d"
dst = "s"
start_s = 1
pace_mbit = 0.3
"""


@pytest.mark.parametrize("ipv6", ["false", "true"])
def test_clocks_apart_by_a_constant(tmp_path: Path, run_json: Run, ipv6: str) -> None:
    """Of the same packets at the same times the timestamps differ by the offset, to the tick; nothing else does."""
    options, results = {}, {}
    for offset_s in (0.0001, 5.0, -7200.0, 999_999.25):
        (tmp_path / str(offset_s)).mkdir()
        args = ("--set", f"clock.d.offset_s={offset_s}", "--set", f"ipv6={ipv6}", "--patched")
        more = CLOCKS + '[sysctl]\n"net.ipv4.tcp_santacruz" = 2'
        forward = "rate_mbit = 10, delay_ms = 10, queue_pkts = 30"
        results[offset_s], directory = one(
            tmp_path / str(offset_s),
            run_json,
            forward,
            more=more,
            cc="santacruz",
            args=args,
            instead=AT_S,
            duration_s=3,
        )
        options[offset_s] = echoes(directory)
    true = options.pop(0.0001)
    assert len(true) > 200
    stamps = arrivals = 0
    for offset_s, told in options.items():
        assert [t for t, _o in told] == [t for t, _o in true], "the host noticed its clock"
        assert results[offset_s]["flows"] == results[0.0001]["flows"]
        for (_t, now), (_then, was) in zip(told, true, strict=True):
            if now[:4] == b"\x01\x01\x08\x0a":
                stamps += 1
                assert ahead(now[4:8], was[4:8]) - round(offset_s * 1000) % 2**32 in (0, -1, 2**32 - 1)
            at = was.find(b"SC")
            if at > 0 and was[at - 1] >= 13:
                arrivals += 1
                assert ahead(now[at + 7 : at + 11], was[at + 7 : at + 11]) == round((offset_s - 0.0001) * 1e6) % 2**32
    assert stamps > 100
    assert arrivals > 100


@pytest.mark.parametrize("ipv6", ["false", "true"])
def test_a_clock_that_stands(tmp_path: Path, run_json: Run, ipv6: str) -> None:
    """One timestamp in all that it sends on a connection; both ways data arrive as ever."""
    args = ("--set", "clock.d.stands=true", "--set", f"ipv6={ipv6}")
    forward = "rate_mbit = 10, delay_ms = 10, queue_pkts = 30"
    result, directory = one(tmp_path, run_json, forward, more=CLOCKS, args=args, instead=AT_S, duration_s=3)
    said = [now[4:8] for _t, now in echoes(directory) if now[:4] == b"\x01\x01\x08\x0a"]
    assert len(said) > 200 and len(set(said)) == 2
    main, back = (flow["goodput_mbit"] for flow in result["flows"])
    assert main > 8 and back > 0.25


def ahead(later: bytes, earlier: bytes) -> int:
    """Difference of two counters of 32 bits."""
    return int((int.from_bytes(later) - int.from_bytes(earlier)) % 2**32)


# -------------------------------------------------------------------- starts


def test_starts_moved_by_the_seed(tmp_path: Path, run_json: Run) -> None:
    """The result tells when a flow began, which is when its first packet left; a drop-tail contest varies."""
    flow = UDP + "8\nstart_jitter_s = 0.5"
    path = tmp_path / "starts.toml"
    forward = "rate_mbit = 10, delay_ms = 10, queue_pkts = 20"
    path.write_text(PATH.format(forward=forward, flow=flow, more=RIVAL, duration_s=8))
    runs = run_json(path, "--cc", "cubic", "--seeds", "3", "--out", tmp_path)
    again = run_json(path, "--cc", "cubic", "--seed", "2", "--out", tmp_path / "again")
    assert [r["flows"] for r in runs if r["seed"] == 2] == [again[0]["flows"]]
    starts = [r["flows"][0]["start_s"] for r in runs]
    assert len(set(starts)) == 3 and all(0 < start < 0.5 for start in starts)
    for r in runs:
        t, _owd = delays(tmp_path / "starts" / "cubic" / f"seed-{r['seed']}")
        assert t[0] == pytest.approx(r["flows"][0]["start_s"], abs=1e-3)
        assert r["scenario_resolved"]["flows"][0]["start_s"] == 0
    assert len({r["queue"]["drops"] for r in runs}) > 1


RIVAL = """
[flow.rival]
src = "s"
dst = "d"
start_s = 1
"""

# ------------------------------------------------------------------- Mininet

SCRIPT = """
from hetlab.emulation.link import HetLink
from hetlab.emulation.topo import HetHost
from mininet.net import Mininet

net = Mininet(link=HetLink, controller=None)
h1, h2 = (net.addHost(name, cls=HetHost) for name in ("h1", "h2"))
link = net.addLink(h1, h2, delay_ms=5, forward={{"delay_ms": 5, {key}}})
h1.cmd("ip address add 10.9.0.1/24 dev " + link.intf1.name)
h2.cmd("ip address add 10.9.0.2/24 dev " + link.intf2.name)
def ping(size):
    print(size, h1.cmd(f"ping -q -i 0.01 -c 20 -s {{size}} -W 1 10.9.0.2 | grep -o '[0-9]* received'").strip())
ping(100)
ping(1300)
link.change(reverse=False, loss={{"model": "random", "percent": 100}})
ping(10)
net.stop()
"""


@pytest.mark.parametrize(
    ("key", "small", "large"), [('"blackhole_above_bytes": 1000', 20, 0), ('"police_mbit": 0.2', 20, 5)]
)
def test_mininet_scripts_have_the_same_keys(tmp_path: Path, hetlab: Hetlab, key: str, small: int, large: int) -> None:
    """A policer of 200 kbit/s lets 2500 bytes pass at once, then 250 bytes in 10 ms."""
    script = tmp_path / "net.py"
    script.write_text(SCRIPT.format(key=key))
    done = hetlab("exec", "--", "python3", script)
    assert done.returncode == 0, done.stderr
    got = {int(words[0]): int(words[1]) for words in map(str.split, done.stdout.splitlines())}
    assert got == {100: small, 1300: large, 10: 0}
