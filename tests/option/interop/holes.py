# SPDX-License-Identifier: GPL-2.0
"""A 4 MB window full of holes: what one ACK can say about it, and how it is repaired."""

import random
import socket
from collections.abc import Callable
from dataclasses import replace

from option.interop.case import NONE, Expect, Report, case, judge, network
from option.interop.flows import Flow, Outcome, Talk
from option.interop.middlebox import Holes
from option.interop.net import Link, Setup
from option.interop.oracle import Rules, Verdict
from option.interop.wire import SYN, distance

# So much until Linux 6.1 opens its window to WINDOW_BYTES (6.12: 0.2 MB). With less the data goes out in several
# windows, each with its losses, and what is measured is how soon the congestion window is down to one segment.
WARM_BYTES = 3_000_000
WINDOW_BYTES, REST_BYTES = 4 << 20, 300_000
SEGMENT = 1440
BUFFERS: dict[str, str | int] = {
    "ipv4.tcp_rmem": f"4096 {16 << 20} {64 << 20}",
    "ipv4.tcp_wmem": f"4096 {16 << 20} {64 << 20}",
    "ipv4.tcp_slow_start_after_idle": 0,
}
PATH = Link(delay_ms=40, rate_mbit=400, limit=20000)
SETUP = Setup(up=PATH, down=PATH, forward=False, sysctls=BUFFERS, route="initcwnd 3000")


GRO_NS = "/sys/class/net/s0/gro_flush_timeout"
MERGE = f"ethtool -K s0 gro on; unshare -m sh -c 'mount -t sysfs none /sys; echo 300000 >{GRO_NS}'"


def _window(
    setup: Setup, lost: Callable[[int], bool], merge: bool = False, warm: int = WARM_BYTES, window: int = WINDOW_BYTES
) -> Outcome:
    """One window of data, sent at once, of which some segments are lost; the server may merge what comes (GRO)."""

    def inside(at: int) -> bool:
        return warm <= at < warm + window and lost((at - warm) // SEGMENT)

    with network(setup) as net:
        if merge:
            net.server.run(MERGE)
        talk = Talk(net, Flow(), Holes(inside))
        good = talk.exchange(warm, 1000)
        talk.wait(1)
        good = good and talk.exchange(window, 1000) and talk.exchange(REST_BYTES, REST_BYTES)
        return talk.finish(good)


def _most_in_flight(outcome: Outcome) -> int:
    """Bytes that the client had sent beyond the last ACK, at most."""
    sent, acked, most = 0, 0, 0
    base = outcome.client[0].seq
    for seg in outcome.client:
        if seg.out:
            sent = max(sent, distance(seg.seq + seg.payload, base))
        elif not seg.flags & SYN:
            acked = max(acked, distance(seg.ack, base))
        most = max(most, sent - acked)
    return most


def _said(report: Report, outcome: Outcome, verdict: Verdict) -> None:
    counters = outcome.counters[0]
    report.note(
        f"{outcome.took_s:.3f} s, {counters['RetransSegs']} retransmitted, {counters['TCPTimeouts']} timeouts, "
        f"TCPLostRetransmit {counters['TCPLostRetransmit']}, spurious {counters['TCPSCSpurious']}"
    )
    lengths, coarse = dict(sorted(verdict.lengths.items())), dict(sorted(verdict.granularities.items()))
    report.note(f"option lengths {lengths}, SACK blocks {verdict.blocks}, granularities {coarse}")


def _holes(report: Report, lost: Callable[[], Callable[[int], bool]], grows: bool, merge: bool = False) -> None:
    ours = _window(SETUP, lost(), merge)
    verdicts = judge(report, ours)
    flight = _most_in_flight(ours)
    report.expect(flight > 0.9 * WINDOW_BYTES, f"only {flight} bytes in flight: not one window of {WINDOW_BYTES}")
    _said(report, ours, verdicts[1])
    merged = verdicts[1].segments / verdicts[1].packets
    report.expect(not merge or merged > 2, f"{merged:.1f} segments in a packet")
    plain = _window(replace(SETUP, client=0, server=0), lost(), merge)
    _said(report, plain, judge(report, plain, NONE)[1])
    report.expect(ours.took_s <= 1.25 * plain.took_s, f"{ours.took_s:.3f} s, with SACK {plain.took_s:.3f} s")
    timeouts = [o.counters[0]["TCPTimeouts"] for o in (ours, plain)]
    report.expect(timeouts[0] <= timeouts[1], f"timeouts {timeouts}")
    again = [o.counters[0]["RetransSegs"] for o in (ours, plain)]
    report.expect(again[0] <= 1.2 * again[1] + 10, f"{again[0]} segments retransmitted, with SACK {again[1]}")
    if grows:
        report.expect(max(verdicts[1].granularities) > 5 * SEGMENT, "the granularity does not grow")
    report.expect(verdicts[1].bits > 0, "no ACK window")


@case("4 MB: every other segment lost", group="holes")
def every_other(report: Report) -> None:
    _holes(report, lambda: lambda i: bool(i % 2), False)


@case("100 segments: every other one lost", group="holes")
def every_other_in_reach(report: Report) -> None:
    """In reach of a fine window ACKs are compressed, and each stands for more runs than a receiver looks at."""

    def run(client: int) -> Outcome:
        both = replace(SETUP, client=client, server=client)
        return _window(both, lambda i: bool(i % 2), window=100 * SEGMENT)

    ours, plain = run(1), run(0)
    _said(report, ours, judge(report, ours)[1])
    _said(report, plain, judge(report, plain, NONE)[1])
    again = [o.counters[0]["RetransSegs"] for o in (ours, plain)]
    report.expect(again[0] <= 1.2 * again[1], f"{again[0]} segments retransmitted, with SACK {again[1]}")


@case("4 MB: 30 % lost at random", group="holes")
def random_30(report: Report) -> None:
    def lost() -> Callable[[int], bool]:
        draw = random.Random(7)
        dice = [draw.random() < 0.3 for _ in range(WINDOW_BYTES // SEGMENT + 2)]
        return lambda i: dice[i]

    _holes(report, lost, False)


@case("4 MB: half lost at random, a window that begins small", group="holes")
def random_half(report: Report) -> None:
    """In many windows: either sender is soon down to one segment, and timers decide."""

    def run(client: int) -> Outcome:
        draw = random.Random(1)
        dice = [draw.random() < 0.5 for _ in range(WINDOW_BYTES // SEGMENT + 2)]
        sysctls = BUFFERS | {"ipv4.tcp_rmem": f"4096 {1 << 17} {64 << 20}"}
        return _window(replace(SETUP, client=client, server=client, sysctls=sysctls), lambda i: dice[i], warm=200_000)

    ours, plain = run(1), run(0)
    _said(report, ours, judge(report, ours)[1])
    _said(report, plain, judge(report, plain, NONE)[1])
    report.expect(ours.took_s <= 1.1 * plain.took_s, f"{ours.took_s:.3f} s, with SACK {plain.took_s:.3f} s")


@case("4 MB: 60 of each 120 lost", group="holes")
def bursts(report: Report) -> None:
    _holes(report, lambda: lambda i: i % 120 < 60, True)


@case("4 MB: all but the last lost", group="holes")
def all_but_last(report: Report) -> None:
    last = WINDOW_BYTES // SEGMENT - 4
    _holes(report, lambda: lambda i: i < last, False)


@case("4 MB: only the first lost", group="holes")
def first_only(report: Report) -> None:
    _holes(report, lambda: lambda i: i == 0, False)


@case("4 MB: every tenth lost, GRO: one of the segments that come together is named", group="holes")
def merged_tenth(report: Report) -> None:
    _holes(report, lambda: lambda i: i % 10 == 0, False, merge=True)


@case("4 MB: 60 of each 120 lost, GRO", group="holes")
def merged_bursts(report: Report) -> None:
    _holes(report, lambda: lambda i: i % 120 < 60, False, merge=True)


@case("receive buffer taken away while it is full of holes", group="holes")
def pruned(report: Report) -> None:
    """Data out of order is thrown away again: bits may then be less than what had arrived."""
    with network(SETUP) as net:
        talk = Talk(net, Flow(), Holes(lambda at: at >= WARM_BYTES and at // SEGMENT % 40 == 0))
        good = talk.exchange(WARM_BYTES, 1000)
        talk.wait(1)
        talk.loop.after(0.09, lambda: _shrink(talk))
        outcome = talk.finish(good and talk.exchange(WINDOW_BYTES, 1000) and talk.exchange(REST_BYTES, REST_BYTES))
    _said(report, outcome, judge(report, outcome, Expect(rules=Rules(pruned=True)))[1])
    names = ("PruneCalled", "RcvPruned", "OfoPruned", "TCPRcvCollapsed", "TCPOFODrop", "TCPRcvQDrop")
    report.note(str({name: outcome.counters[1][name] for name in names}))
    report.expect(outcome.counters[1]["OfoPruned"], "nothing was thrown away")


def _shrink(talk: Talk) -> None:
    assert talk.server is not None
    talk.server.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 60_000)
