# SPDX-License-Identifier: GPL-2.0
"""santacruz_paper.h against equations 1 to 4 and figure 1 of the papers, in exact fractions."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import call
from hetlab.paths import BUILD

pytestmark = pytest.mark.build

Three = tuple[int, int, int]
Q8 = 256
WORD = 2**32
HOLD, RAISE, LOWER = range(3)
N_MAX = 2**31 - 1


@pytest.fixture(scope="module")
def program() -> Path:
    """The header behind stdin and stdout, undefined behaviour trapped."""
    target = BUILD / "user" / "gcc-sanitize" / "santacruz_paper_replay"
    done = call("make", "-C", "tests/estimators", f"O={BUILD / 'user'}", target)
    assert done.returncode == 0, done.stderr
    return target


@dataclass(frozen=True)
class Left:
    """What a call left behind."""

    answer: int
    n_q8: int
    pkts_ns: int
    sum_us: int
    count: int
    mode: int
    startup: int
    over: int


def replay(program: Path, lines: Iterable[str]) -> list[Left]:
    """All calls of one connection."""
    done = subprocess.run([program], input="\n".join(lines), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Left(*map(int, line.split())) for line in done.stdout.splitlines()]


@dataclass
class Paper:
    """Section 3.1 of 1999 as it is written: clocks that do not wrap, fractions instead of fixed point."""

    last: tuple[int, int] | None = None
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    relative: list[int] = field(default_factory=list)
    service: Fraction = Fraction(0)
    n: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)

    def packet(self, sent_us: int, arrived_us: int, received: int) -> None:
        """D = R - S for this packet and the one before it (1)."""
        if self.last:
            self.relative.append((arrived_us - self.last[1]) - (sent_us - self.last[0]))
        self.last = (sent_us, arrived_us)
        self.arrivals.append((arrived_us, received))

    def average(self) -> Fraction:
        """Average of pktS = R / packets received over the interval (3)."""
        if self.arrivals:
            (first, before), (latest, after) = self.arrivals[0], self.arrivals[-1]
            if latest > first and after > before:
                return Fraction(latest - first, after - before)
        return self.service

    def window_over(self) -> None:
        """Queue n = sum of D since the session began / average of pktS (2, 4); to Q8 and whole nanoseconds."""
        if not self.arrivals:
            return
        self.service = self.average()
        self.n = sum(self.relative) / self.service if self.service else Fraction(0)
        self.slack = Fraction(2, Q8) + (abs(self.n) / (self.service * 1000) * 2 if self.service else 0)
        self.arrivals = []


@dataclass(frozen=True)
class Interval:
    """Packets of a window: gaps at the sender, changes of the forward delay, packets that each ACK covers."""

    packets: list[Three]


intervals = st.lists(
    st.builds(
        Interval,
        st.lists(st.tuples(st.integers(0, 100_000), st.integers(-50_000, 50_000), st.integers(1, 3)), max_size=12),
    ),
    max_size=12,
)
starts = st.tuples(st.integers(0, WORD - 1), st.integers(0, WORD - 1), st.integers(0, WORD - 1))


def calls_of(rounds: list[Interval], start: Three, rule: Three) -> tuple[list[str], Paper]:
    """The calls of a connection, and the paper's view of it after each interval that had packets."""
    sent_us, arrived_us, received = start
    lines, paper = [], Paper()
    for one in rounds:
        for gap_us, slower_us, packets in one.packets:
            sent_us, arrived_us, received = sent_us + gap_us, arrived_us + gap_us + slower_us, received + packets
            paper.packet(sent_us, arrived_us, received)
            lines.append(f"S {sent_us % WORD} {arrived_us % WORD} {received % WORD}")
        paper.window_over()
        lines.append("I {} {} {} {}".format(received % WORD, *rule))
    return lines, paper


RULE = (3 * Q8, Q8 // 2, 1)
rules = st.tuples(st.integers(Q8 // 2, 1000 * Q8), st.integers(0, 1000 * Q8), st.sampled_from([1, 1000, 4000, 100_000]))


@settings(deadline=None, max_examples=60)
@given(intervals, starts)
def test_queue_is_equations_1_to_4(program: Path, rounds: list[Interval], start: Three) -> None:
    """Whatever the clocks read: n of the last interval to the rounding of Q8 and of nanoseconds."""
    lines, paper = calls_of(rounds, start, RULE)
    left = replay(program, lines)
    if left:
        assert abs(Fraction(left[-1].n_q8, Q8) - paper.n) <= paper.slack
        assert abs(left[-1].pkts_ns - paper.service * 1000) < 1


@settings(deadline=None, max_examples=60)
@given(intervals, starts, rules)
def test_window_and_state_follow_the_queue(program: Path, rounds: list[Interval], start: Three, rule: Three) -> None:
    """Once an interval: +1 below N_op - delta, -1 above N_op + delta; figure 1 of 2000 counts growth."""
    n_op, delta, tick_us = rule
    lines, _ = calls_of(rounds, start, rule)
    before = Left(0, 0, 0, 0, 0, HOLD, 0, 0)
    measured = False
    for line, left in zip(lines, replay(program, lines), strict=True):
        if line.startswith("S"):
            measured = True
            assert (left.n_q8, left.count, left.mode) == (before.n_q8, before.count, before.mode)
            continue
        assert left.answer == measured
        if measured:
            tick = tick_us * 1000 * Q8 // left.pkts_ns if left.pkts_ns else 0
            grew = left.n_q8 - before.n_q8 > max(delta + delta // 2, tick)
            assert left.count == (min(before.count + 1, 2) if grew else 0)
            raised, lowered = left.n_q8 < max(n_op - delta, 1), left.n_q8 > n_op + delta
            assert left.mode == (RAISE if raised else LOWER if lowered else HOLD)
        before, measured = left, False


@settings(deadline=None, max_examples=60)
@given(intervals, starts, st.integers(Q8 // 2, 20 * Q8))
def test_slow_start_ends_with_half_of_the_operating_point(
    program: Path, rounds: list[Interval], start: Three, n_op: int
) -> None:
    """At any packet: its D, or n with it, is more than N_op / 2; not where rounding decides."""
    sent_us, arrived_us, received = start
    paper, lines, wanted = Paper(), [], {}
    for one in rounds:
        for gap_us, slower_us, packets in one.packets:
            sent_us, arrived_us, received = sent_us + gap_us, arrived_us + gap_us + slower_us, received + packets
            paper.packet(sent_us, arrived_us, received)
            lines += [f"S {sent_us % WORD} {arrived_us % WORD} {received % WORD}", f"O {received % WORD} {n_op}"]
            service = paper.average()
            met = max(paper.relative[-1], sum(paper.relative)) if paper.relative else 0
            excess = (met / service if service else 0) - Fraction(n_op // 2, Q8)
            slack = Fraction(2, Q8) + (abs(met) / service**2 / 500 if service else 0)
            if abs(excess) > slack:
                wanted[len(lines) - 1] = excess > 0
        paper.window_over()
        lines.append("I {} {} {} {}".format(received % WORD, *RULE))
    left = replay(program, lines)
    assert {i: bool(left[i].answer) for i in wanted} == wanted


words = st.integers(0, WORD - 1)
ticks = st.integers(1, 100_000)
anything = st.one_of(
    st.builds("S {} {} {}".format, words, words, words),
    st.builds(
        "I {} {} {} {}".format, words, st.integers(Q8 // 2, N_MAX), st.integers(0, N_MAX), st.integers(1, 100_000)
    ),
    st.builds("O {} {}".format, words, st.integers(Q8 // 2, N_MAX)),
    st.builds("B {} {}".format, words, words),
    st.builds("W {} {} 1".format, words, st.integers(2, 2**24)),
    st.just("T"),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(anything, max_size=40))
def test_any_numbers_at_all(program: Path, lines: list[str]) -> None:
    """No overflow, no division by zero; a timeout is what begins slow start again, from state 0."""
    for line, left in zip(lines, replay(program, lines), strict=True):
        assert abs(left.n_q8) <= N_MAX and left.count <= 2 and left.mode in (HOLD, RAISE, LOWER)
        if line == "T":
            assert (left.startup, left.count, left.mode) == (1, 0, HOLD)


@settings(deadline=None, max_examples=60)
@given(words, st.integers(1, 1000), st.integers(2, 2**24), st.booleans(), st.sampled_from([0, 3, 20]))
def test_one_step_an_interval(program: Path, begun: int, pkts: int, window: int, limited: bool, n_op_pkts: int) -> None:
    """With three packets queued, once half of the interval is delivered; then the window stands."""
    met = ["S 0 0 0", "S 0 1000 1", "S 0 2000 2", "S 0 3000 3", f"I 3 {n_op_pkts * Q8} 128 1", f"B {begun} {pkts}"]
    left = replay(program, [*met, *(f"W {(begun + i) % WORD} {window} {int(limited)}" for i in range(pkts + 1))])
    step = 0 if n_op_pkts == 3 else (1 if limited else 0) if n_op_pkts > 3 else -(window > 2)
    half = (pkts + 1) // 2
    assert [x.answer - window for x in left[len(met) :]] == [step if i == half else 0 for i in range(pkts + 1)]
    assert [x.over for x in left[len(met) :]] == [int(i == pkts) for i in range(pkts + 1)]


@pytest.mark.parametrize("way", [1, -1])
def test_the_sum_saturates(program: Path, way: int) -> None:
    """Four times the largest D: clocks that leave each other by hours."""
    left = replay(program, [f"S 0 {way * i * N_MAX % WORD} {i}" for i in range(5)])
    assert [x.sum_us for x in left] == [0] + [way * N_MAX] * 4


def test_a_queue_of_three_by_hand(program: Path) -> None:
    """2 ms a packet: four sent at once, then one every 2 ms; the last of the burst meets three before it."""
    burst = [f"S 0 {2000 * i} {i}" for i in range(1, 5)]
    steady = [f"S {2000 * i} {8000 + 2000 * i} {4 + i}" for i in range(1, 5)]
    left = replay(program, [*burst, "I 4 768 128 1", *steady, "I 8 768 128 1", "I 8 768 128 1"])
    first, second, third = left[len(burst)], left[-2], left[-1]
    assert (first.answer, first.n_q8, first.pkts_ns, first.count, first.mode) == (1, 3 * Q8, 2_000_000, 1, HOLD)
    assert (second.answer, second.n_q8, second.count, second.mode) == (1, 3 * Q8, 0, HOLD)
    assert not third.answer, "an interval without a packet"
