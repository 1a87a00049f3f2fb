# SPDX-License-Identifier: GPL-2.0
"""What applications do: both ways at once, questions and answers, small writes, changes in mid-flow."""

import contextlib
import socket
import time
from dataclasses import replace
from pathlib import Path

from option.interop.case import NONE, Expect, Report, against_plain, case, compare, judge, network, run_case
from option.interop.flows import Flow, Outcome, Talk, data
from option.interop.net import Link, Setup
from option.interop.oracle import Rules

LOSSY = Link(loss_percent=1)
SETUP = Setup(up=LOSSY, down=LOSSY)
MODPROBE = Path("/proc/sys/kernel/modprobe")
SLOW_MODPROBE = Path("/run/slow-modprobe")
BUSY_S = 0.03
QUESTION, ANSWER, ROUNDS = 300, 4000, 60


@case("both ways at once, losses both ways, IPv4", group="traffic")
def together_v4(report: Report) -> None:
    _together(report, 4)


@case("both ways at once, losses both ways, IPv6", group="traffic")
def together_v6(report: Report) -> None:
    _together(report, 6)


def _together(report: Report, version: int) -> None:
    flow = Flow(version, up=1_500_000, down=1_500_000, together=True)
    _, verdicts = against_plain(report, "both ways", Setup(), flow, lose_each=70_000)
    lengths = verdicts[0].lengths
    report.note(f"option lengths {dict(sorted(lengths.items()))}, longest packet {verdicts[0].longest}")


@case("both ways at once, 3 % random loss, santacruz", group="traffic")
def together_santacruz(report: Report) -> None:
    lossy = Link(loss_percent=3)
    flow = Flow(cc="santacruz", together=True, up=1_000_000, down=1_000_000)
    run_case(report, Setup(2, 2, up=lossy, down=lossy), flow)


@case("reordering", group="traffic")
def reordering(report: Report) -> None:
    with network(Setup()) as net:
        net.router.run("tc qdisc replace dev r1 root netem delay 10ms reorder 95% 25% limit 2000")
        talk = Talk(net, Flow())
        outcome = talk.finish(talk.exchange(1_500_000, 500_000))
    judge(report, outcome)
    names = ("RetransSegs", "TCPSACKReorder", "TCPSCSpurious", "TCPFullUndo", "TCPTimeouts")
    report.note(str({name: outcome.counters[0][name] for name in names}))


@case("duplication", group="traffic")
def duplication(report: Report) -> None:
    with network(Setup()) as net:
        net.router.run("tc qdisc replace dev r1 root netem delay 10ms duplicate 5% limit 2000")
        talk = Talk(net, Flow())
        outcome = talk.finish(talk.exchange(1_000_000, 300_000))
    judge(report, outcome)


def _rounds(setup: Setup) -> Outcome:
    with network(setup) as net:
        talk = Talk(net, Flow())
        good = all(talk.exchange(QUESTION, ANSWER) for _ in range(ROUNDS))
        return talk.finish(good)


@case("duplication, both ways at once: room for D-SACK beside data", group="traffic")
def duplication_both_ways(report: Report) -> None:
    with network(Setup()) as net:
        for interface in ("r0", "r1"):
            net.router.run(f"tc qdisc replace dev {interface} root netem delay 10ms duplicate 5% limit 2000")
        talk = Talk(net, Flow(together=True))
        outcome = talk.finish(talk.exchange(1_000_000, 1_000_000))
    verdicts = judge(report, outcome)
    for name, verdict in zip(("client", "server"), verdicts, strict=True):
        report.expect(verdict.blocks > 10, f"{name}: {verdict.blocks} D-SACKs")
        report.expect(verdict.longest == 1500, f"{name}: longest packet {verdict.longest}")


@case("questions and answers", group="traffic")
def questions(report: Report) -> None:
    ours, plain = _rounds(SETUP), _rounds(replace(SETUP, client=0, server=0))
    judge(report, ours)
    judge(report, plain, NONE)
    compare(report, "questions", (ours, plain), 2)


def _no_delay(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@case("many small writes, TCP_NODELAY", group="traffic")
def small_writes(report: Report) -> None:
    flow = Flow(client=_no_delay, accepted=_no_delay, chunk=90, up=60_000, down=60_000)
    outcome, _ = run_case(report, SETUP, flow)
    report.note(f"{outcome.counters[0]['OutSegs']} segments")


@case("many small writes, Nagle, both ways at once", group="traffic")
def small_writes_nagle(report: Report) -> None:
    run_case(report, SETUP, Flow(chunk=90, up=60_000, down=60_000, together=True))


@case("sparse small writes with losses", group="traffic")
def sparse(report: Report) -> None:
    lossy = Link(loss_percent=10)
    with network(Setup(up=lossy, down=lossy)) as net:
        talk = Talk(net, Flow(client=_no_delay, accepted=_no_delay))
        good = True
        for _ in range(60):
            good = good and talk.exchange(100, 100, together=True)
            talk.wait(0.05)
        outcome = talk.finish(good)
    judge(report, outcome)


def _change(report: Report, setup: Setup, names: list[str], expect: Expect) -> None:
    """Change the congestion control of both ends between and within transfers."""
    with network(setup) as net:
        talk = Talk(net, Flow(cc=names[0]))
        good = talk.exchange(200_000, 200_000)
        for name in names[1:]:
            talk.loop.after(0.05, lambda name=name: _choose(talk, name))  # type: ignore[misc]
            good = good and talk.exchange(400_000, 200_000)
        outcome = talk.finish(good)
    judge(report, outcome, expect)


def _choose(talk: Talk, name: str) -> None:
    assert talk.server is not None
    for end in (talk.client, talk.server):
        end.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


@case("from santacruz to others and back: keeps the option", group="traffic")
def change_from(report: Report) -> None:
    _change(report, replace(SETUP, client=2, server=2), ["santacruz", "cubic", "santacruz", "bbr", "reno"], Expect())


@case("from reno to santacruz and back: no option", group="traffic")
def change_to(report: Report) -> None:
    _change(report, replace(SETUP, client=2, server=2), ["reno", "santacruz", "cubic", "santacruz"], NONE)


@case("from reno to santacruz and back, offered by sysctl: keeps the option", group="traffic")
def change_with_option(report: Report) -> None:
    _change(report, SETUP, ["reno", "santacruz", "vegas", "santacruz"], Expect())


class SlowModprobe:
    """Asking for an unknown congestion control holds the socket's lock while modprobe runs: make that long."""

    def __enter__(self) -> None:
        SLOW_MODPROBE.write_text(f"#!/bin/sh\nsleep {BUSY_S}\n", encoding="ascii")
        SLOW_MODPROBE.chmod(0o755)
        self.before = MODPROBE.read_text(encoding="ascii")
        MODPROBE.write_text(str(SLOW_MODPROBE), encoding="ascii")

    def __exit__(self, *_: object) -> None:
        MODPROBE.write_text(self.before, encoding="ascii")


def _hold(sock: socket.socket) -> float:
    """Keep the socket locked for a while; how long."""
    begun = time.monotonic()
    with contextlib.suppress(FileNotFoundError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"no-such-cc")
    return time.monotonic() - begun


def _busy(report: Report, offloads: str, link: Link) -> None:
    with SlowModprobe(), network(Setup(offloads=offloads, up=link, down=link)) as net:
        talk = Talk(net, Flow())
        good = talk.exchange(100_000, 1000)
        assert talk.server is not None
        server = talk.server.sock
        held: list[float] = []
        for i in range(6):
            talk.loop.after(0.02 + 0.05 * i, lambda: held.append(_hold(server)))
        talk.client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        outcome = talk.finish(good and talk.exchange(3_000_000, 300_000))
    judge(report, outcome, Expect(rules=Rules(queued=True)))
    names = ("TCPBacklogCoalesce", "TCPBacklogDrop", "TCPTimeouts")
    report.note(f"held {[round(h, 3) for h in held]} s, {dict((n, outcome.counters[1][n]) for n in names)}")
    report.expect(held and min(held) >= BUSY_S, "the socket was not held")


@case("receiver busy: the arrival counts, not the processing", group="traffic")
def busy(report: Report) -> None:
    _busy(report, SETUP.offloads, Link())


@case("receiver busy, with losses", group="traffic")
def busy_lossy(report: Report) -> None:
    _busy(report, SETUP.offloads, LOSSY)


@case("receiver busy, writes of all lengths: the last segment of what waits as one packet", group="traffic")
def busy_lengths(report: Report) -> None:
    """Segments that wait become one packet: the last one is named, whatever the lengths of those before."""
    with SlowModprobe(), network(Setup(up=Link(rate_mbit=20))) as net:
        talk = Talk(net, Flow(client=_no_delay))
        good = talk.exchange(100_000, 1000)
        for turn in range(8):
            good = good and _pieces_while_busy(talk, [data(200 + 389 * (i + turn) % 1200, i) for i in range(40)])
        outcome = talk.finish(good)
    judge(report, outcome, Expect(rules=Rules(queued=True)))
    joined, ignored = outcome.counters[1]["TCPBacklogCoalesce"], outcome.counters[0]["TCPSCIgnored"]
    report.note(f"TCPBacklogCoalesce {joined}, TCPSCIgnored {ignored}")
    report.expect(joined, "nothing waited as one packet")
    report.expect(not ignored, f"TCPSCIgnored {ignored}: segments named that were never sent")


def _pieces_while_busy(talk: Talk, pieces: list[bytes]) -> bool:
    """Send each as a segment of its own; the server is held when the first ones have come."""
    assert talk.server is not None
    server, whole = talk.server, b"".join(pieces)
    before = len(server.received)
    for piece in pieces:
        talk.client.sock.send(piece, socket.MSG_EOR)
    held: list[float] = []
    talk.loop.after(0.012, lambda: held.append(_hold(server.sock)))
    whole_came = talk.run(lambda: len(server.received) >= before + len(whole))
    return whole_came and server.received[before:] == whole and min(held) >= BUSY_S


@case("receiver busy, GRO", group="traffic")
def busy_gro(report: Report) -> None:
    _busy(report, "tso on gso on gro on tx on rx on", Link(rate_mbit=None, delay_ms=10))


@case("a receiver that does not read: window closes and opens", group="traffic")
def slow_reader(report: Report) -> None:
    """Zero window probes and updates."""
    with network(Setup(up=LOSSY, down=LOSSY, server_sysctls={"ipv4.tcp_rmem": "4096 65536 65536"})) as net:
        talk = Talk(net, Flow())
        good = talk.exchange(20_000, 1000)
        assert talk.server is not None
        talk.client.feed(data(400_000, 1))
        talk.loop.watch(talk.server.sock, 0, lambda _: None)
        talk.wait(5)
        talk.server.feed(b"x")
        good = good and talk.run(lambda: talk.server is not None and len(talk.server.received) >= 420_000)
        outcome = talk.finish(good)
    judge(report, outcome)
    report.note(f"zero window probes {outcome.counters[0]['TCPWinProbe']}")
