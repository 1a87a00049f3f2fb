# SPDX-License-Identifier: GPL-2.0
"""Links over time: tables of capacity, delay and loss, read from files of several formats.

Times are integers of ns since the start of the run. What is read here goes to the kernel as it is
(tools/qdisc/sch_replay.h). Standard library only: scripts in guests read traces, too.
"""

import hashlib
import itertools
import stat
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hetlab.errors import LabError, meant
from hetlab.model.limits import LIMITS

KINDS = ("opportunities", "rate", "delay", "loss")
CAPACITY = ("opportunities", "rate")
MAGIC = b"hetrace1"
OPPORTUNITY_BITS = 12_000
NS = 10**9
MS = 10**6
MAX_FILE_BYTES = 64 << 20
MAX_ENTRIES = 1 << 22
MAX_MS = 86_400_000
MAX_PER_MS = 1_000_000
SAMPLE_MS = 10
MAX_LOSS = 2**32 - 1
SHOWN = 40


@dataclass(frozen=True)
class Table:
    """A quantity over time.

    ``kind``: opportunities (how many at each time), rate (bit/s from each time on), delay (ns), loss (probability
    times 2^32). ``period_ns``: it repeats after this; 0: the last value holds.
    """

    kind: str
    period_ns: int
    t_ns: "array[int]"
    value: "array[int]"

    def packed(self) -> bytes:
        """For hetreplay."""
        both = array("Q", bytes(16 * len(self.t_ns)))
        both[0::2], both[1::2] = self.t_ns, self.value
        return struct.pack("=IIQ", KINDS.index(self.kind), len(self.t_ns), self.period_ns) + both.tobytes()

    def bits(self, until_ns: int) -> int:
        """What a table of capacity carries from its start until then."""
        periods, rest = divmod(until_ns, self.period_ns) if self.period_ns else (0, until_ns)
        return periods * self._bits_of(self.period_ns) + self._bits_of(rest)

    def _bits_of(self, rest_ns: int) -> int:
        """The same within the first period."""
        n = bisect_right(self.t_ns, rest_ns)
        if self.kind == "opportunities":
            return sum(self.value[:n]) * OPPORTUNITY_BITS
        ends = itertools.chain(self.t_ns[1:n], [rest_ns])
        return sum(rate * (end - t) for rate, t, end in zip(self.value, self.t_ns, ends, strict=False)) // NS

    @property
    def length_ns(self) -> int:
        """The period; of a table without one the time of its last value."""
        return self.period_ns or self.t_ns[-1]

    @property
    def mean_mbit(self) -> float:
        """Mean capacity of a period (Mbit/s); of a table that does not repeat the last rate."""
        if not self.period_ns:
            return self.value[-1] / 1e6
        return self._bits_of(self.period_ns) * 1e3 / self.period_ns


@dataclass(frozen=True)
class Trace:
    """What a link does over time: at most one table of capacity, one of delay, one of loss."""

    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        for names in (CAPACITY, ("delay",), ("loss",)):
            if len([t for t in self.tables if t.kind in names]) > 1:
                raise LabError(f"trace: {' or '.join(names)} is given twice")

    def of(self, *kinds: str) -> Table | None:
        """The table of one of these kinds, if there is one."""
        return next((t for t in self.tables if t.kind in kinds), None)

    @property
    def capacity(self) -> Table | None:
        """Opportunities or rate."""
        return self.of(*CAPACITY)

    def packed(self, *kinds: str) -> bytes:
        """A file for hetreplay with the tables of these kinds; all without any."""
        return MAGIC + b"".join(t.packed() for t in self.tables if not kinds or t.kind in kinds)

    @property
    def digest(self) -> str:
        """Short hash of all values and times."""
        return hashlib.sha256(self.packed()).hexdigest()[:16]


def unpacked(data: bytes, source: str) -> Trace:
    """A trace from what ``packed`` gave; LabError where it is not that."""
    if not data.startswith(MAGIC):
        raise LabError(f"{source}: not a file of tables")
    tables, at = [], len(MAGIC)
    while at < len(data):
        kind, count, period_ns = struct.unpack_from("=IIQ", data, at)
        both = array("Q", data[at + 16 : at + 16 + 16 * count])
        tables.append(Table(KINDS[kind], period_ns, both[0::2], both[1::2]))
        at += 16 + 16 * count
    return Trace(tuple(tables))


def constant(kind: str, value: int) -> Table:
    """A value that holds for ever."""
    return Table(kind, 0, array("Q", [0]), array("Q", [value]))


def loss_value(percent: float) -> int:
    """A loss in the unit of tables."""
    return min(round(percent / 100 * 2**32), MAX_LOSS)


# --------------------------------------------------------------------- files


@dataclass(frozen=True)
class Line:
    """A line of a file, for messages."""

    path: Path
    number: int
    text: str

    def fault(self, what: str, value: str | None = None) -> LabError:
        """File, line, value and what is wrong."""
        shown = self.text if value is None else value
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
        return LabError(f"{self.path}: line {self.number}: {shown!r}: {what}")

    def whole(self, low: int, high: int, unit: str) -> int:
        """The line as a whole number in a range."""
        text = self.text
        if not (text.isascii() and text.isdigit() and len(text) <= 18 and low <= int(text) <= high):
            raise self.fault(f"must be a whole number of {unit}, {low}..{high}")
        return int(text)

    def real(self, value: str, limits: tuple[float, float], name: str) -> float:
        """A part of the line as a number in a range."""
        try:
            number = float(value)
        except ValueError:
            raise self.fault(f"{name} must be a number", value) from None
        if not limits[0] <= number <= limits[1]:
            raise self.fault(f"{name}: allowed range is {limits[0]:.12g}..{limits[1]:.12g}", value)
        return number


def lines(path: Path) -> Iterator[Line]:
    """Lines that are neither empty nor a comment; LabError if it is no file, or too large."""
    try:
        found = path.stat()
    except OSError as err:
        raise LabError(f"{path}: {err.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise LabError(f"{path}: not a regular file")
    if found.st_size > MAX_FILE_BYTES:
        raise LabError(f"{path}: {found.st_size:,} bytes: a trace has at most {MAX_FILE_BYTES:,}")
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            for number, text in enumerate(file, 1):
                if (text := text.strip()) and not text.startswith("#"):
                    yield Line(path, number, text)
    except OSError as err:
        raise LabError(f"{path}: {err.strerror}") from None


def read(path: Path, kind: str = "") -> Trace:
    """A file: CSV with a line of names, Mahimahi's opportunities, or for ``kind`` delay a delay (ms) each 10 ms."""
    every = lines(path)
    first = next(every, None)
    if first is None:
        raise LabError(f"{path}: empty")
    every = itertools.chain([first], every)
    if "," in first.text or first.text == "t_s":
        return _csv(path, every)
    if kind == "delay":
        return Trace((_samples(every),))
    if kind == "loss":
        raise first.fault("a file of losses is CSV with the columns t_s,loss_percent")
    return Trace((_opportunities(path, every),))


def _opportunities(path: Path, every: Iterable[Line]) -> Table:
    """Mahimahi: the millisecond of each opportunity; the last one is the period."""
    times, counts = array("Q"), array("Q")
    last = -1
    for line in every:
        now = line.whole(0, MAX_MS, "milliseconds")
        if now < last:
            raise line.fault(f"time goes back, from {last} ms")
        if now > last:
            times.append(now * MS)
            counts.append(1)
        else:
            counts[-1] += 1
            if counts[-1] > MAX_PER_MS:
                raise line.fault(f"more than {MAX_PER_MS:,} opportunities in a millisecond")
        last = now
        _bounded(line, times)
    if not last:
        raise LabError(f"{path}: all opportunities are at 0 ms: its last line is the period and must be above 0")
    return Table("opportunities", last * MS, times, counts)


def _bounded(line: Line, times: "array[int]") -> None:
    if len(times) > MAX_ENTRIES:
        raise line.fault(f"more than {MAX_ENTRIES:,} different times")


def _samples(every: Iterable[Line]) -> Table:
    """LeoReplayer: the delay (ms) of each interval of 10 ms."""
    steps = Steps("delay")
    number = 0
    for number, line in enumerate(every, 1):
        delay_ms = line.real(line.text, LIMITS["delay_ms"], "delay_ms")
        steps.add((number - 1) * SAMPLE_MS * MS, round(delay_ms * MS))
        _bounded(line, steps.t_ns)
    return steps.table(number * SAMPLE_MS * MS)


class Steps:
    """Makes a table of values, leaving out those that are as the one before."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.t_ns, self.value = array("Q"), array("Q")

    def add(self, t_ns: int, value: int) -> None:
        """A value from a time on."""
        if not self.value or self.value[-1] != value:
            self.t_ns.append(t_ns)
            self.value.append(value)

    def table(self, period_ns: int) -> Table:
        """What was added; a value that never changes needs no period."""
        return Table(self.kind, period_ns if len(self.t_ns) > 1 else 0, self.t_ns, self.value)


# Columns of CSV: range, table, the value in its unit
COLUMNS: dict[str, tuple[tuple[float, float], str, Callable[[float], int]]] = {
    "rate_mbit": ((0, LIMITS["rate_mbit"][1]), "rate", lambda mbit: round(mbit * 1e6)),
    "delay_ms": (LIMITS["delay_ms"], "delay", lambda ms: round(ms * MS)),
    "loss_percent": (LIMITS["loss_percent"], "loss", loss_value),
}


def _names(head: Line) -> list[str]:
    """Names of the columns; t_s comes first, each is there once."""
    names = [name.strip() for name in head.text.split(",")]
    for name in names:
        if name != "t_s" and name not in COLUMNS:
            raise head.fault(f"no such column; known: t_s, {', '.join(COLUMNS)}{meant(name, COLUMNS)}", name)
    if names[0] != "t_s" or len(names) < 2 or len(set(names)) < len(names):
        raise head.fault(f"the first line has the names: t_s, then some of {', '.join(COLUMNS)}")
    return names


def _csv(path: Path, every: Iterator[Line]) -> Trace:
    """Values from each time on; after the last one as long as the one before it lasted, then again from the start."""
    names = _names(next(every))
    steps = {name: Steps(COLUMNS[name][1]) for name in names[1:]}
    before = last = -1
    for line in every:
        cells = [cell.strip() for cell in line.text.split(",")]
        if len(cells) != len(names):
            raise line.fault(f"{len(cells)} values for {len(names)} columns")
        now = round(line.real(cells[0], LIMITS["at_s"], "t_s") * NS)
        if last < 0 < now:
            raise line.fault("the first time must be 0", cells[0])
        if now <= last:
            raise line.fault(f"time must go on, after {last / NS:g} s", cells[0])
        for name, cell in zip(names[1:], cells[1:], strict=True):
            limits, _kind, convert = COLUMNS[name]
            steps[name].add(now, convert(line.real(cell, limits, name)))
            _bounded(line, steps[name].t_ns)
        before, last = last, now
    if last < 0:
        raise LabError(f"{path}: no values below the names of its columns")
    period_ns = 2 * last - before if before >= 0 else 0
    return Trace(tuple(step.table(period_ns) for step in steps.values()))
