# SPDX-License-Identifier: GPL-2.0
"""Room in the header and in the packet: MD5, AO, path MTU, window scaling."""

import errno
import os
import socket
import struct
from dataclasses import replace

from option.interop.case import NONE, Expect, Lacking, Report, against_plain, case, judge, network, run_case
from option.interop.flows import Flow, Prepare, Talk
from option.interop.net import CLIENT, FAMILY, SERVER, Link, Net, Setup
from option.interop.oracle import Rules
from option.interop.wire import AO, MD5, SYN, WSCALE

LOSSY = Link(loss_percent=1)
TCP_MD5SIG, TCP_AO_ADD_KEY = 14, 38
KEY = b"santacruz"
MD5_WINDOW = 5


def _sockaddr(version: int, host: str) -> bytes:
    raw = socket.inet_pton(FAMILY[version], host)
    head = struct.pack("=HH", FAMILY[version], 0)
    return (head + (raw if version == 4 else bytes(4) + raw)).ljust(128, b"\0")


def _md5(version: int, peer: str) -> Prepare:
    """struct tcp_md5sig: the same key for the peer on both ends."""
    option = _sockaddr(version, peer) + struct.pack("=BBHi80s", 0, 0, len(KEY), 0, KEY)
    return lambda sock: sock.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, option)


def _ao(version: int, peer: str) -> Prepare:
    """struct tcp_ao_add."""
    prefix = 32 if version == 4 else 128
    flags = struct.pack("=iIHBBBBBB", 0, 3, 0, prefix, 100, 100, 0, 0, len(KEY))
    option = _sockaddr(version, peer) + b"hmac(sha1)".ljust(64, b"\0") + flags + KEY.ljust(80, b"\0")
    # a listener has no current key
    passive = option[:192] + struct.pack("=iI", 0, 0) + option[200:]
    chosen = passive if peer == CLIENT[version] else option
    return lambda sock: sock.setsockopt(socket.IPPROTO_TCP, TCP_AO_ADD_KEY, chosen)


def _keyed(version: int, key: "type[None] | object") -> Flow:
    make = _md5 if key == MD5 else _ao
    return Flow(version, client=make(version, SERVER[version]), listener=make(version, CLIENT[version]))


def _signed(report: Report, version: int) -> None:
    outcome, verdicts = against_plain(report, "MD5", Setup(), _keyed(version, MD5))
    report.expect(all(MD5 in seg.kinds for seg in outcome.client if seg.out), "packets without MD5")
    for verdict in verdicts:
        windows = {length - 15 for length in verdict.lengths if length > 15}
        report.note(f"option lengths {dict(sorted(verdict.lengths.items()))}, longest packet {verdict.longest}")
        report.expect(windows and max(windows) <= MD5_WINDOW, f"ACK windows of {windows} bytes beside MD5")


@case("MD5, IPv4", group="headers")
def md5_v4(report: Report) -> None:
    _signed(report, 4)


@case("MD5, IPv6", group="headers")
def md5_v6(report: Report) -> None:
    _signed(report, 6)


@case("MD5, both ways at once", group="headers")
def md5_together(report: Report) -> None:
    setup = Setup(up=LOSSY, down=LOSSY)
    run_case(report, setup, replace(_keyed(4, MD5), together=True, up=600_000, down=600_000))


@case("TCP-AO, IPv4: not offered", group="headers")
def ao_v4(report: Report) -> None:
    _authenticated(report, 4)


@case("TCP-AO, IPv6: not offered", group="headers")
def ao_v6(report: Report) -> None:
    _authenticated(report, 6)


def _need_ao(version: int) -> None:
    """Raise what a case without TCP-AO is skipped for; a kernel that has it, and refuses, is no reason."""
    with socket.socket(FAMILY[version], socket.SOCK_STREAM) as sock:
        try:
            _ao(version, SERVER[version])(sock)
        except OSError as error:
            if error.errno != errno.ENOPROTOOPT:
                raise
            raise Lacking(f"Linux {os.uname().release} has no TCP-AO (it came with 6.7)") from error


def _authenticated(report: Report, version: int) -> None:
    _need_ao(version)
    outcome, _ = run_case(report, Setup(up=LOSSY, down=LOSSY), _keyed(version, AO), NONE)
    report.expect(all(AO in seg.kinds for seg in outcome.client if seg.out), "packets without AO")


def _mtu(report: Report, mtu: int, version: int, together: bool = False) -> None:
    flow = Flow(version, up=800_000, down=800_000, together=together)
    _, verdicts = against_plain(report, f"MTU {mtu}", Setup(mtu=mtu), flow, Expect(rules=Rules(mtu=mtu)))
    if not together:
        longest = [verdict.longest for verdict in verdicts]
        report.expect(longest == [mtu, mtu], f"longest packets {longest}")


MTUS = [(576, 4), (1280, 4), (1280, 6), (9000, 4), (9000, 6)]
for size, ip in MTUS:

    @case(f"MTU {size}, IPv{ip}", group="headers")
    def one_way(report: Report, size: int = size, version: int = ip) -> None:
        _mtu(report, size, version)

    @case(f"MTU {size}, IPv{ip}, both ways at once", group="headers")
    def both_ways(report: Report, size: int = size, version: int = ip) -> None:
        _mtu(report, size, version, True)


def _shrink(net: Net, mtu: int) -> None:
    net.router.run(f"ip link set r1 mtu {mtu}")
    net.server.run(f"ip link set s0 mtu {mtu}")


def _pmtu(report: Report, version: int) -> None:
    """The path gets narrower between two transfers and in the middle of one."""
    with network(Setup(up=LOSSY, down=LOSSY)) as net:
        talk = Talk(net, Flow(version))
        good = talk.exchange(300_000, 300_000)
        talk.loop.after(0.1, lambda: _shrink(net, 1400))
        good = good and talk.exchange(1_000_000, 300_000)
        _shrink(net, 1280)
        good = good and talk.exchange(500_000, 500_000)
        outcome = talk.finish(good)
    verdicts = judge(report, outcome)
    late = [seg for seg in outcome.server if not seg.out and seg.payload][-50:]
    longest = max(seg.ip_len for seg in late)
    # soon after data has come in, 8 bytes stay free for an echo
    report.expect(longest in (1272, 1280), f"longest at last {longest}")
    big = [seg for seg in outcome.client[-len(outcome.client) // 4 :] if seg.out and seg.ip_len > 1280]
    report.expect(not big, f"longer than the path at last: {big[:1]}")
    report.note(f"longest {verdicts[0].longest}, retransmitted {outcome.counters[0]['RetransSegs']}")


@case("path MTU gets smaller in mid-flow, IPv4", group="headers")
def pmtu_v4(report: Report) -> None:
    _pmtu(report, 4)


@case("path MTU gets smaller in mid-flow, IPv6", group="headers")
def pmtu_v6(report: Report) -> None:
    _pmtu(report, 6)


@case("MTU probing", group="headers")
def probing(report: Report) -> None:
    run_case(report, Setup(sysctls={"ipv4.tcp_mtu_probing": 2, "ipv4.tcp_base_mss": 512}))


@case("no timestamps: 18 bytes of ACK window", group="headers")
def no_timestamps(report: Report) -> None:
    lossy = Link(loss_percent=5)
    _, verdicts = run_case(report, Setup(up=lossy, down=lossy, sysctls={"ipv4.tcp_timestamps": 0}))
    report.note(f"option lengths {dict(sorted(verdicts[1].lengths.items()))}")
    report.expect(verdicts[1].longest == 1500, f"longest {verdicts[1].longest}")


@case("no SACK: no option", group="headers")
def no_sack(report: Report) -> None:
    run_case(report, Setup(up=LOSSY, down=LOSSY, sysctls={"ipv4.tcp_sack": 0}), expect=NONE)


def _scaled(report: Report, sysctls: dict[str, str | int], prepare: Prepare, scale: int | None) -> None:
    outcome, _ = against_plain(report, f"scale {scale}", Setup(sysctls=sysctls), Flow(client=prepare, listener=prepare))
    found = {seg.kinds.get(WSCALE) for seg in outcome.client if seg.flags & SYN}
    report.expect(found == {None if scale is None else bytes([scale])}, f"window scale {found}")


@case("no window scaling", group="headers")
def scale_off(report: Report) -> None:
    _scaled(report, {"ipv4.tcp_window_scaling": 0}, lambda sock: None, None)


@case("window scale 0", group="headers")
def scale_zero(report: Report) -> None:
    def small(sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 30_000)

    _scaled(report, {}, small, 0)


@case("window scale 14", group="headers")
def scale_most(report: Report) -> None:
    _scaled(report, {"ipv4.tcp_rmem": f"4096 131072 {1 << 30}"}, lambda sock: None, 14)
