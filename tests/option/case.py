# SPDX-License-Identifier: GPL-2.0
"""What a case is, and what every connection has to keep."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from option.flows import Flow, Outcome, transfer
from option.middlebox import Every, Rule
from option.net import Net, Setup
from option.oracle import Rules, Verdict, check, connections, offered
from option.wire import SACK, SYN

SLACK_S = 0.05  # a loss more or less at the end of a short transfer


@dataclass
class Report:
    """What a case found."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expect(self, good: object, text: str) -> None:
        """Something that has to be so."""
        if not good:
            self.faults.append(text)

    def note(self, text: str) -> None:
        """Something to be told."""
        self.notes.append(text)


@dataclass(frozen=True)
class Case:
    """A line of TAP."""

    group: str
    name: str
    run: Callable[[Report], None]


CASES: list[Case] = []


def case(name: str, *, group: str) -> Callable[[Callable[[Report], None]], Callable[[Report], None]]:
    """Make a function a case."""

    def register(function: Callable[[Report], None]) -> Callable[[Report], None]:
        CASES.append(Case(group, name, function))
        return function

    return register


@contextmanager
def network(setup: Setup) -> Iterator[Net]:
    """A network for a while."""
    net = Net(setup)
    try:
        yield net
    finally:
        net.close()


@dataclass(frozen=True)
class Expect:
    """What the contract says about a connection."""

    offered: bool = True
    accepted: bool = True
    rules: Rules = field(default_factory=Rules)

    @property
    def agreed(self) -> bool:
        """Is the option in use?"""
        return self.offered and self.accepted


NONE = Expect(offered=False, accepted=False)
REFUSED = Expect(offered=True, accepted=False)


def judge(report: Report, outcome: Outcome, expect: Expect = Expect()) -> tuple[Verdict, Verdict]:
    """Everything that every connection has to keep; verdicts of the client's and the server's interface."""
    report.expect(outcome.complete, f"transfer incomplete or not the same bytes {outcome.error}")
    report.expect(offered(outcome.client, synack=False) == expect.offered, f"SYN: option not {expect.offered}")
    report.expect(offered(outcome.server, synack=True) == expect.agreed, f"SYN-ACK: option not {expect.agreed}")
    names = "client", "server"
    for name, counters in zip(names, outcome.counters, strict=True):
        count = counters["TCPSCEstab"]
        report.expect(count == expect.agreed, f"{name}: TCPSCEstab {count}")
        if not expect.rules.stripped:
            report.expect(not counters["TCPSCStripped"], f"{name}: TCPSCStripped {counters['TCPSCStripped']}")
        report.expect(not counters["TCPSCMalformed"], f"{name}: TCPSCMalformed {counters['TCPSCMalformed']}")
        report.expect(not counters["InCsumErrors"], f"{name}: checksums")
    rules = replace(expect.rules, agreed=expect.agreed)
    verdicts = check(outcome.client, rules), check(outcome.server, rules)
    for name, verdict in zip(names, verdicts, strict=True):
        if expect.agreed and not expect.rules.stripped:
            report.expect(verdict.echoes > 0, f"{name}: it echoed nothing")
        for fault in verdict.faults:
            report.expect(False, f"{name}: {fault}")
        if verdict.faults:
            report.note(f"{name}: {dict(verdict.kinds)}")
    return verdicts


def run_case(
    report: Report, setup: Setup, flow: Flow = Flow(), expect: Expect = Expect(), rule: Rule | None = None
) -> tuple[Outcome, tuple[Verdict, Verdict]]:
    """One connection over one network, judged."""
    with network(setup) as net:
        outcome = transfer(net, flow, rule)
    return outcome, judge(report, outcome, expect)


def compare(report: Report, what: str, ours: Outcome, plain: Outcome, worst: float = 1.2) -> None:
    """The time against that of the same without the option; reported, and asserted loosely."""
    ratio = ours.took_s / plain.took_s
    timeouts = [sum(c["TCPTimeouts"] for c in o.counters) for o in (ours, plain)]
    report.note(f"{what}: {ours.took_s:.3f} s, without {plain.took_s:.3f} s ({ratio:.3f}), timeouts {timeouts}")
    report.expect(
        ours.took_s <= worst * plain.took_s + SLACK_S, f"{what}: {ratio:.2f} times as long as without the option"
    )
    report.expect(timeouts[0] <= timeouts[1], f"{what}: {timeouts[0]} timeouts, without {timeouts[1]}")


def against_plain(
    report: Report, what: str, setup: Setup, flow: Flow = Flow(), expect: Expect = Expect(), lose_each: int = 100_000
) -> tuple[Outcome, tuple[Verdict, Verdict]]:
    """With the option and without, the same data lost on the way (0: none); the first, judged."""
    rules = [Every(lose_each) if lose_each else None for _ in range(2)]
    setup = replace(setup, forward=not lose_each)
    ours, verdicts = run_case(report, setup, flow, expect, rules[0])
    none = replace(NONE, rules=expect.rules)
    plain, _ = run_case(report, replace(setup, client=0, server=0), flow, none, rules[1])
    compare(report, what, ours, plain)
    return ours, verdicts


def sack_seen(outcome: Outcome) -> int:
    """Packets of the server with SACK blocks."""
    return sum(SACK in seg.kinds for seg in outcome.server if seg.out and not seg.flags & SYN)


__all__ = ["CASES", "NONE", "REFUSED", "Expect", "Report", "case", "compare", "connections", "judge", "network"]
