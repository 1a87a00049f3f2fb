# SPDX-License-Identifier: GPL-2.0
"""A path that takes the option away, from the SYN or later: the connection goes back to SACK."""

import time
from dataclasses import replace

from option.interop.case import NONE, REFUSED, Expect, Report, case, compare, judge, network, sack_seen
from option.interop.flows import Flow, Outcome, transfer
from option.interop.middlebox import Stripper
from option.interop.net import Setup
from option.interop.oracle import Rules, offered
from option.interop.wire import Segment

SETUP = Setup(forward=False)
LOSE_EVERY = 67
SINCE_S = 0.3
STRIPPED = Expect(rules=Rules(stripped=True))


def _run(setup: Setup, kinds: set[str], version: int, since_s: float = 0) -> tuple[Outcome, Stripper]:
    rule = Stripper(kinds, time.monotonic_ns() + int(since_s * 1e9), LOSE_EVERY, time.monotonic_ns)
    with network(setup) as net:
        return transfer(net, Flow(version), rule), rule


def _plain(report: Report, version: int) -> Outcome:
    outcome, _ = _run(replace(SETUP, client=0, server=0), set(), version)
    judge(report, outcome, NONE)
    return outcome


def _in_handshake(report: Report, kind: str, version: int) -> None:
    outcome, rule = _run(SETUP, {kind}, version)
    report.expect(rule.stripped >= 1, "nothing was stripped")
    if kind == "syn":
        judge(report, outcome, REFUSED)
    else:
        _half_agreed(report, outcome)
    report.expect(sack_seen(outcome) > 0, "no SACK")
    compare(report, f"without the {kind}'s", (outcome, _plain(report, version)))


def _half_agreed(report: Report, outcome: Outcome) -> None:
    """The server believes that the option was agreed upon, the client does not."""
    report.expect(outcome.complete, "transfer incomplete")
    report.expect(offered(outcome.server, synack=True), "the server did not accept")
    estab = [c["TCPSCEstab"] for c in outcome.counters]
    report.expect(estab == [0, 1], f"TCPSCEstab {estab}")
    stopped = [c["TCPSCStripped"] for c in outcome.counters]
    report.expect(stopped == [0, 1], f"TCPSCStripped {stopped}")
    bad = [seg for seg in outcome.client if seg.out and seg.santacruz and seg.santacruz.length > 4]
    report.expect(not bad, f"the client uses it: {bad[:1]}")


def _later(report: Report, kinds: set[str], version: int, since_s: float = 0) -> None:
    outcome, rule = _run(SETUP, kinds, version, since_s)
    judge(report, outcome, STRIPPED)
    report.note(f"{rule.stripped} options taken away")
    report.expect(rule.stripped > 0, "nothing was stripped")
    stopped = [c["TCPSCStripped"] for c in outcome.counters]
    report.expect(max(stopped) == 1, f"TCPSCStripped {stopped}")
    report.note(f"TCPSCStripped {stopped}")
    late = [seg for seg in after(outcome.client, 0.5) + after(outcome.server, 0.5) if seg.out and seg.santacruz]
    report.expect(not late, f"still options at the end: {late[:1]}")
    report.expect(sack_seen(outcome) > 0, "no SACK afterwards")
    compare(report, "stripped", (outcome, _plain(report, version)))


def after(packets: list[Segment], share: float) -> list[Segment]:
    """The last part of a capture."""
    return packets[int(len(packets) * share) :]


for ip in (4, 6):

    @case(f"stripped from the SYN, IPv{ip}", group="stripping")
    def syn(report: Report, version: int = ip) -> None:
        _in_handshake(report, "syn", version)

    @case(f"stripped from the SYN-ACK, IPv{ip}", group="stripping")
    def synack(report: Report, version: int = ip) -> None:
        _in_handshake(report, "synack", version)

    @case(f"stripped from all the client sends after the SYN, IPv{ip}", group="stripping")
    def up(report: Report, version: int = ip) -> None:
        _later(report, {"up"}, version)

    @case(f"stripped from all the server sends after the SYN-ACK, IPv{ip}", group="stripping")
    def down(report: Report, version: int = ip) -> None:
        _later(report, {"down"}, version)

    @case(f"stripped from everything after {SINCE_S} s, IPv{ip}", group="stripping")
    def everything(report: Report, version: int = ip) -> None:
        _later(report, {"up", "down"}, version, SINCE_S)
