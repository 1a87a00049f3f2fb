# SPDX-License-Identifier: GPL-2.0
"""What a case is, and what every connection has to keep."""

import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from option.interop.flows import Flow, Outcome, transfer
from option.interop.middlebox import Every, Rule
from option.interop.net import Net, Setup
from option.interop.oracle import Rules, Verdict, check, connections, offered
from option.interop.wire import SACK, SYN

SLACK_S = 0.05  # a loss more or less at the end of a short transfer


class Lacking(Exception):
    """What this kernel does not have, and a case is about."""


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

    def tell(self, name: str) -> None:
        """The point of TAP, and what there is to say; in a machine, where tests/modules/selftests is in the path."""
        import tap

        tap.ok(not self.faults, name)
        for kind, lines in (("fault", self.faults), ("note", self.notes)):
            for line in "\n".join(lines).splitlines():
                print(f"# {kind}: {line}")
        sys.stdout.flush()


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


Pair = tuple[Outcome, Outcome]


def _timeouts(outcomes: Iterable[Outcome]) -> int:
    return sum(counters["TCPTimeouts"] for outcome in outcomes for counters in outcome.counters)


def compare(
    report: Report, what: str, first: Pair, worst: float = 1.2, more: Callable[[int], Pair] | None = None
) -> None:
    """The time against that of the same without the option; reported, and asserted loosely.

    A loss that only a timer can repair hits either, now and then: if the option
    looks worse, the medians of five runs count, and one more timeout is luck.
    """
    pairs = [first]

    def worse() -> bool:
        ours_s, plain_s = (statistics.median(o.took_s for o in side) for side in zip(*pairs, strict=True))
        ours, plain = (_timeouts(side) for side in zip(*pairs, strict=True))
        report.note(
            f"{what}: {ours_s:.3f} s, without {plain_s:.3f} s ({ours_s / plain_s:.3f}), "
            f"timeouts {ours} and {plain} in {len(pairs)}"
        )
        return ours_s > worst * plain_s + SLACK_S or ours > plain + (len(pairs) > 1)

    bad = worse()
    if bad and more:
        pairs += [more(k) for k in range(1, 5)]
        bad = worse()
    report.expect(not bad, f"{what}: worse than without the option")


def against_plain(
    report: Report, what: str, setup: Setup, flow: Flow = Flow(), expect: Expect = Expect(), lose_each: int = 100_000
) -> tuple[Outcome, tuple[Verdict, Verdict]]:
    """With the option and without, the same data lost on the way (0: none); the first, judged."""
    setup = replace(setup, forward=not lose_each)
    none = replace(NONE, rules=expect.rules)

    def one(on: bool, k: int) -> tuple[Outcome, tuple[Verdict, Verdict]]:
        rule = Every(lose_each + 1237 * k) if lose_each else None
        mine = replace(setup, seed=setup.seed + k)
        if on:
            return run_case(report, mine, flow, expect, rule)
        return run_case(report, replace(mine, client=0, server=0), flow, none, rule)

    ours, verdicts = one(True, 0)
    compare(report, what, (ours, one(False, 0)[0]), more=lambda k: (one(True, k)[0], one(False, k)[0]))
    return ours, verdicts


def sack_seen(outcome: Outcome) -> int:
    """Packets of the server with SACK blocks."""
    return sum(SACK in seg.kinds for seg in outcome.server if seg.out and not seg.flags & SYN)


__all__ = [
    "CASES",
    "NONE",
    "REFUSED",
    "Expect",
    "Lacking",
    "Report",
    "case",
    "compare",
    "connections",
    "judge",
    "network",
]
