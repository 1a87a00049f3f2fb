# SPDX-License-Identifier: GPL-2.0
"""Numbers that go round: sequence numbers, timestamps, the option's microseconds."""

import itertools
import socket
import struct
import time
from dataclasses import replace

from option.interop.case import Report, case, judge, network, run_case
from option.interop.flows import Flow, Prepare, Talk, transfer
from option.interop.middlebox import Holes
from option.interop.net import Link, Setup
from option.interop.oracle import Rules, check
from option.interop.wire import SYN, TSTAMP, WRAP, distance

LOSSY = Link(loss_percent=1)
SETUP = Setup(up=LOSSY, down=LOSSY)
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, TCP_TIMESTAMP = 19, 20, 21, 24
SEND_QUEUE = 2
REPAIR_ON, REPAIR_OFF = 1, -1  # and no window probe
APART_US = 10_000  # closer than this by chance: one time in 6,000
BEFORE_BYTES = 300_000
SEGMENT = 1448
STEP = 1 << 30
BRINK_MS = 250


def _begin_at(seq: int) -> Prepare:
    """Choose the initial sequence number of an active open."""

    def prepare(sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, REPAIR_ON)
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
        sock.setsockopt(socket.IPPROTO_TCP, TCP_QUEUE_SEQ, struct.pack("=I", seq))
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, REPAIR_OFF)

    return prepare


def _sequence(report: Report, version: int) -> None:
    flow = Flow(version, client=_begin_at(WRAP - BEFORE_BYTES))
    outcome, verdicts = run_case(report, SETUP, flow)
    syn = next(seg for seg in outcome.client if seg.flags & SYN)
    report.expect(syn.seq == WRAP - BEFORE_BYTES, f"initial sequence number {syn.seq}")
    report.expect(verdicts[0].copies[2] > 0, "nothing was retransmitted")


@case("sequence numbers wrap, IPv4", group="wraps")
def sequence_v4(report: Report) -> None:
    _sequence(report, 4)


@case("sequence numbers wrap, IPv6", group="wraps")
def sequence_v6(report: Report) -> None:
    _sequence(report, 6)


@case("sequence numbers wrap within a hole", group="wraps")
def sequence_in_hole(report: Report) -> None:
    """Each fourth segment around the wrap is lost, by position: random losses need not be there."""
    flow = Flow(client=_begin_at(WRAP - 50_000), up=200_000, down=50_000)
    rule = Holes(lambda at: 30_000 < at < 70_000 and at // SEGMENT % 4 == 0)
    outcome, _ = run_case(report, Setup(forward=False), flow, rule=rule)
    over = [s for s in outcome.server if s.out and s.santacruz and s.santacruz.window and s.ack > WRAP // 2]
    far = [s for s in over if s.santacruz and s.ack + len(s.santacruz.window) * 8 * s.santacruz.gran > WRAP]
    report.note(f"{len(far)} ACK windows over the wrap")
    report.expect(far, "no ACK window over the wrap")


def _timestamp(sock: socket.socket) -> int:
    return int(struct.unpack("=I", sock.getsockopt(socket.IPPROTO_TCP, TCP_TIMESTAMP, 4))[0])


def _advance(sock: socket.socket, ticks: int) -> None:
    value = (_timestamp(sock) + ticks) % WRAP & ~1
    sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, REPAIR_ON)
    sock.setsockopt(socket.IPPROTO_TCP, TCP_TIMESTAMP, struct.pack("=I", value))
    sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, REPAIR_OFF)


def _to_the_brink(talk: Talk, ticks: int) -> bool:
    """Turn the RFC 7323 clocks of both ends forward, in steps that PAWS takes."""
    assert talk.server is not None
    for end in (talk.client, talk.server):
        while (left := WRAP - ticks - _timestamp(end.sock)) > 0:
            _advance(end.sock, min(left, STEP))
            if not talk.exchange(3000, 3000):
                return False
    return True


def _rfc7323(report: Report, version: int) -> None:
    with network(SETUP) as net:
        talk = Talk(net, Flow(version))
        good = talk.exchange(3000, 3000) and _to_the_brink(talk, BRINK_MS)
        net.take()
        outcome = talk.finish(good and talk.exchange(1_500_000, 500_000))
    report.expect(outcome.complete, "transfer incomplete")
    values = [int.from_bytes(s.kinds[TSTAMP][:4]) for s in outcome.client if s.out and TSTAMP in s.kinds]
    report.expect(values and max(values) > WRAP - BRINK_MS and min(values) < 1 << 20, "the timestamp has not wrapped")
    report.expect([c["TCPSCEstab"] for c in outcome.counters] == [1, 1], "option not agreed upon")
    echoes = sum(seg.santacruz is not None and seg.santacruz.ack_copy > 0 for seg in outcome.client)
    report.expect(echoes > 300, f"{echoes} echoes")


@case("RFC 7323 timestamps wrap, IPv4", group="wraps")
def timestamps_v4(report: Report) -> None:
    _rfc7323(report, 4)


@case("RFC 7323 timestamps wrap, IPv6", group="wraps")
def timestamps_v6(report: Report) -> None:
    _rfc7323(report, 6)


def _option_clock(report: Report, turns: int, cc: str) -> None:
    """Idle until just before the option's clock wraps; then a transfer across it."""
    with network(SETUP) as net:
        talk = Talk(net, Flow(cc=cc))
        good = talk.exchange(300_000, 100_000)
        before = net.take()
        seen = [
            (s.santacruz.rcv_us, s.time_ns) for s in before[0] if not s.out and s.santacruz and s.santacruz.ack_copy
        ]
        clock_us = (seen[-1][0] + (time.monotonic_ns() - seen[-1][1]) // 1000) % WRAP
        talk.wait((turns * WRAP - clock_us) / 1e6 - 0.3)
        outcome = talk.finish(good and talk.exchange(1_500_000, 500_000))
    outcome = replace(outcome, client=before[0] + outcome.client, server=before[1] + outcome.server)
    judge(report, outcome)
    echoes = [s.santacruz.rcv_us for s in outcome.client if not s.out and s.santacruz and s.santacruz.ack_copy]
    wraps = sum(b < a and distance(b, a) >= 0 for a, b in itertools.pairwise(echoes))
    report.note(f"from {echoes[0]} us to {echoes[-1]} us, {wraps} wraps seen")
    report.expect(wraps >= 1, "the option's clock has not wrapped")
    ignored = [c["TCPSCIgnored"] for c in outcome.counters]
    report.note(f"TCPSCIgnored {ignored}")
    report.expect(ignored == [0, 0], f"TCPSCIgnored {ignored}")


@case("clocks of connections tell nothing of each other, nor of the uptime", group="wraps")
def secret_clocks(report: Report) -> None:
    """Two hosts, four connections: what each end's clock is ahead of the machine's."""
    ahead_us = [0]
    with network(Setup()) as net:
        for version in (4, 6, 4, 6):
            outcome = transfer(net, Flow(version, up=20_000, down=20_000))
            net.rebase()
            clocks = [check(side, Rules()).clock_us for side in (outcome.client, outcome.server)]
            ahead_us += [us for us in clocks if us is not None]
    apart_us = [abs(distance(a, b)) for a, b in itertools.combinations(ahead_us, 2)]
    report.note(f"the option's clocks are ahead by {ahead_us[1:]} us")
    report.expect(len(ahead_us) == 9 and min(apart_us) > APART_US, f"clocks {min(apart_us)} us apart")


@case("the option's clock wraps in mid-transfer", group="wraps")
def option_clock(report: Report) -> None:
    _option_clock(report, 1, "reno")


@case("the option's clock wraps in mid-transfer, santacruz", group="wraps")
def option_clock_santacruz(report: Report) -> None:
    _option_clock(report, 1, "santacruz")


@case("idle for more than a turn of the option's clock", group="wraps")
def option_clock_twice(report: Report) -> None:
    _option_clock(report, 2, "reno")
