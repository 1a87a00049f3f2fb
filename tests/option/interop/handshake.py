# SPDX-License-Identifier: GPL-2.0
"""SYN cookies, Fast Open, MPTCP: other uses of the handshake."""

import socket
from dataclasses import replace

from option.interop.case import (
    NONE,
    REFUSED,
    Expect,
    Report,
    case,
    judge,
    network,
    run_case,
    sack_seen,
)
from option.interop.flows import Flow, Outcome, Talk, data, transfer
from option.interop.middlebox import DropFirst
from option.interop.net import Link, Setup
from option.interop.wire import ACK, EXPERIMENT, FASTOPEN, MPTCP, SYN

LOSSY = Link(loss_percent=1)
TCP_FASTOPEN = 23
FASTOPEN_BOTH, FASTOPEN_NO_COOKIE = 0x3, 0x207
IPPROTO_MPTCP = 262
SYN_DATA = 700


@case("SYN cookies, IPv4", group="handshake")
def cookies_v4(report: Report) -> None:
    _cookies(report, 4)


@case("SYN cookies, IPv6", group="handshake")
def cookies_v6(report: Report) -> None:
    _cookies(report, 6)


def _cookies(report: Report, version: int) -> None:
    setup = Setup(up=LOSSY, down=LOSSY, server_sysctls={"ipv4.tcp_syncookies": 2})
    outcome, _ = run_case(report, setup, Flow(version), REFUSED)
    report.expect(outcome.counters[1]["SyncookiesRecv"] == 1, "no SYN cookie was used")
    report.expect(sack_seen(outcome) > 0, "no SACK")


def _listen_fastopen(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 16)


def _fastopen_setup(mode: int, forward: bool = True) -> Setup:
    return Setup(up=LOSSY, down=LOSSY, forward=forward, sysctls={"ipv4.tcp_fastopen": mode})


def _fastopen(report: Report, outcome: Outcome, taken: bool) -> None:
    syns = [seg for seg in outcome.client if seg.flags & SYN and seg.out]
    report.note(f"SYN options {sorted(syns[0].kinds)}, header {syns[0].header}, data {syns[0].payload}")
    report.expect(syns[0].payload == SYN_DATA, f"SYN with {syns[0].payload} bytes")
    acks = [seg for seg in outcome.client if seg.flags & SYN and seg.flags & ACK]
    got = bool(acks) and (acks[0].ack - syns[0].seq) % 2**32 == 1 + SYN_DATA
    report.expect(got == taken, f"data of the SYN taken: {got}")


def _fell_back(report: Report, outcome: Outcome, stripped: list[int]) -> None:
    """The second SYN-ACK has no option: the client does not use it, a server that began to stops."""
    report.expect(outcome.complete, f"transfer incomplete or not the same bytes {outcome.error}")
    has = [seg.santacruz is not None for seg in outcome.server if seg.flags & SYN and seg.out]
    report.expect(len(has) > 1 and has[0] and not any(has[1:]), f"SYN-ACKs with the option: {has}")
    report.expect(outcome.counters[0]["TCPSCEstab"] == 0, "the client uses it")
    report.expect([c["TCPSCStripped"] for c in outcome.counters] == stripped, "TCPSCStripped")


def _opened(report: Report, talk: Talk, taken: bool, kept: bool = True) -> None:
    """A connection with data in its SYN; is the option kept?"""
    whole = talk.run(lambda: talk.server is not None and len(talk.server.received) >= SYN_DATA)
    server = talk.server
    report.expect(whole and server is not None and server.received == data(SYN_DATA, 3), "data of the SYN")
    outcome = talk.finish(whole and talk.exchange(300_000, 200_000))
    _fastopen(report, outcome, taken)
    if not kept:
        _fell_back(report, outcome, [0, 1])
        return
    verdicts = judge(report, outcome)
    report.note(f"copies the client sent {dict(verdicts[0].copies)}")


def _flow(version: int) -> Flow:
    return Flow(version, listener=_listen_fastopen, first=data(SYN_DATA, 3))


@case("Fast Open with cookie, IPv4", group="handshake")
def fastopen_v4(report: Report) -> None:
    _with_cookie(report, 4)


@case("Fast Open with cookie, IPv6", group="handshake")
def fastopen_v6(report: Report) -> None:
    _with_cookie(report, 6)


def _with_cookie(report: Report, version: int) -> None:
    with network(_fastopen_setup(FASTOPEN_BOTH)) as net:
        first = Talk(net, _flow(version))
        came = first.run(lambda: first.server is not None and len(first.server.received) >= SYN_DATA)
        asked = first.finish(came and first.exchange(50_000, 50_000))
        judge(report, asked)
        syn = next(seg for seg in asked.client if seg.flags & SYN)
        report.expect(FASTOPEN in syn.kinds and EXPERIMENT in syn.kinds, f"first SYN: {sorted(syn.kinds)}")
        net.rebase()
        _opened(report, Talk(net, _flow(version)), True)


@case("Fast Open without cookie, IPv4", group="handshake")
def no_cookie_v4(report: Report) -> None:
    with network(_fastopen_setup(FASTOPEN_NO_COOKIE)) as net:
        _opened(report, Talk(net, _flow(4)), True)


@case("Fast Open without cookie, IPv6", group="handshake")
def no_cookie_v6(report: Report) -> None:
    with network(_fastopen_setup(FASTOPEN_NO_COOKIE)) as net:
        _opened(report, Talk(net, _flow(6)), True)


@case("Fast Open, SYN-ACK lost", group="handshake")
def fastopen_synack_lost(report: Report) -> None:
    with network(_fastopen_setup(FASTOPEN_NO_COOKIE, forward=False)) as net:
        _opened(report, Talk(net, _flow(4), DropFirst("synack")), True, kept=False)


@case("Fast Open, SYN with data lost", group="handshake")
def fastopen_syn_lost(report: Report) -> None:
    with network(_fastopen_setup(FASTOPEN_NO_COOKIE, forward=False)) as net:
        _opened(report, Talk(net, _flow(4), DropFirst("syn")), False)


@case("Fast Open, data of the SYN refused", group="handshake")
def fastopen_refused(report: Report) -> None:
    setup = replace(_fastopen_setup(FASTOPEN_NO_COOKIE), server_sysctls={"ipv4.tcp_fastopen": 0})
    with network(setup) as net:
        _opened(report, Talk(net, replace(_flow(4), listener=lambda sock: None)), False)


@case("SYN lost once: offered again", group="handshake")
def syn_lost(report: Report) -> None:
    run_case(report, Setup(forward=False), Flow(up=200_000, down=100_000), rule=DropFirst("syn"))


@case("SYN-ACK lost once: sent again without", group="handshake")
def synack_lost(report: Report) -> None:
    """A path that eats SYN-ACKs with the option connects at the first retry."""
    with network(Setup(forward=False)) as net:
        outcome = transfer(net, Flow(up=200_000, down=100_000), DropFirst("synack"))
    _fell_back(report, outcome, [0, 0])


@case("SYN lost twice: offered no more", group="handshake")
def syn_lost_twice(report: Report) -> None:
    with network(Setup(forward=False)) as net:
        outcome = transfer(net, Flow(up=200_000, down=100_000), DropFirst("syn", 2))
    report.expect(outcome.complete, "transfer incomplete")
    has = [seg.santacruz is not None for seg in outcome.client if seg.flags & SYN and seg.out]
    report.expect(has == [True, True, False], f"SYNs with the option: {has}")
    report.expect([c["TCPSCEstab"] for c in outcome.counters] == [0, 0], "agreed upon")


def _mptcp(report: Report, flow: Flow, setup: Setup, expect: Expect, both: bool) -> None:
    outcome, _ = run_case(report, setup, flow, expect)
    syn = next(seg for seg in outcome.client if seg.flags & SYN)
    answer = next(seg for seg in outcome.client if seg.flags & SYN and seg.flags & ACK)
    report.note(f"SYN options {sorted(syn.kinds)}, SYN-ACK {sorted(answer.kinds)}")
    report.expect((MPTCP in syn.kinds) == (flow.protocol == IPPROTO_MPTCP), "MPTCP in the SYN")
    report.expect((MPTCP in answer.kinds) == both, "MPTCP in the SYN-ACK")


MPTCP_SETUP = Setup(up=LOSSY, down=LOSSY)


@case("MPTCP on both ends, IPv4", group="handshake")
def mptcp_v4(report: Report) -> None:
    _mptcp(report, Flow(4, protocol=IPPROTO_MPTCP), MPTCP_SETUP, NONE, True)


@case("MPTCP on both ends, IPv6", group="handshake")
def mptcp_v6(report: Report) -> None:
    _mptcp(report, Flow(6, protocol=IPPROTO_MPTCP), MPTCP_SETUP, NONE, True)


@case("MPTCP client, server with mptcp.enabled 0: falls back to TCP", group="handshake")
def mptcp_disabled(report: Report) -> None:
    setup = replace(MPTCP_SETUP, server_sysctls={"mptcp.enabled": 0})
    _mptcp(report, Flow(4, protocol=IPPROTO_MPTCP, server_protocol=0), setup, NONE, False)


@case("MPTCP client, TCP server: falls back to TCP", group="handshake")
def mptcp_fallback(report: Report) -> None:
    _mptcp(report, Flow(4, protocol=IPPROTO_MPTCP, server_protocol=0), MPTCP_SETUP, NONE, False)


@case("TCP client, MPTCP server: refused", group="handshake")
def mptcp_server(report: Report) -> None:
    _mptcp(report, Flow(4, server_protocol=IPPROTO_MPTCP), MPTCP_SETUP, REFUSED, False)


@case("MPTCP enabled, TCP on both ends: option used", group="handshake")
def mptcp_enabled(report: Report) -> None:
    _mptcp(report, Flow(4), replace(MPTCP_SETUP, sysctls={"mptcp.enabled": 1}), Expect(), False)
