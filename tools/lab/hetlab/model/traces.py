# SPDX-License-Identifier: GPL-2.0
"""The traces that a direction of a link plays: found by name, put together, described. Standard library only."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from hetlab.errors import LabError
from hetlab.model import trace, trace_make
from hetlab.model.keys import Checked, Key
from hetlab.model.link import Direction
from hetlab.model.trace import MAGIC, NS, Table, Trace

SUFFIX = ".trace"


@dataclass(frozen=True, kw_only=True)
class Played(Checked):
    """What a direction of a link plays."""

    source: Annotated[str, Key("names of its files, or its recipe")]
    hash: Annotated[str, Key("of all times and values")]
    kinds: Annotated[tuple[str, ...], Key("what it has: opportunities or rate, delay, loss")]
    period_s: Annotated[float, Key("it repeats after this; 0: the last values hold")]
    mean_mbit: Annotated[float | None, Key("mean capacity of the whole trace")] = None
    capacity_mbit: Annotated[float | None, Key("mean capacity of the run's time")] = None
    delay_ms: Annotated[float | None, Key("mean delay of the whole trace")] = None

    @property
    def text(self) -> str:
        """In a few words."""
        rate = "" if self.mean_mbit is None else f", mean {self.mean_mbit:.4g} Mbit/s"
        return f"{self.source} ({' and '.join(self.kinds)}{rate}, {self.period_s:g} s)"


def of(way: Direction) -> Trace | None:
    """What a direction plays; None if it has no trace. LabError: file, line and value."""
    named = (("", way.trace), ("delay", way.trace_delay), ("loss", way.trace_loss))
    found = [(kind, text, load(text, kind)) for kind, text in named if text]
    if not found:
        return None
    for kind, text, one in found:
        if kind and [t.kind for t in one.tables] != [kind]:
            raise LabError(f"trace_{kind} = {text!r}: has {', '.join(t.kind for t in one.tables)}, not {kind} alone")
    whole = Trace(tuple(table for _kind, _text, one in found for table in one.tables))
    _fits(way, whole)
    return whole


def _fits(way: Direction, found: Trace) -> None:
    """LabError where the direction says otherwise what its trace says."""
    if (table := found.capacity) and way.rate_mbit is not None:
        raise LabError(f"give rate_mbit={way.rate_mbit:g} or a trace with {table.kind}, not both")
    if not found.capacity and way.rate_mbit is None and (way.aqm != "fifo" or way.queue_bdp or way.queue_bytes):
        raise LabError("aqm, queue_bdp and queue_bytes need rate_mbit or a trace with a capacity")
    if (table := found.capacity) and not table.mean_mbit:
        raise LabError(f"trace: its {table.kind} is 0 all the time")
    if found.of("delay") and way.delay_ms:
        raise LabError(f"give delay_ms={way.delay_ms:g} or a trace with delay, not both")
    if found.of("loss") and way.loss.model != "none":
        raise LabError(f"give loss={way.loss.text} or a trace with loss, not both")
    if found.of("delay", "loss") and (odd := way.needs_netem):
        raise LabError(f"a trace with delay or loss goes without {', '.join(odd)}")


@functools.lru_cache(maxsize=32)
def load(text: str, kind: str = "") -> Trace:
    """A file of any format, or a recipe of a synthetic trace; ``kind``: what plain numbers are."""
    if trace_make.is_recipe(text) and not Path(text).exists():
        return trace_make.make(trace_make.recipe(text))
    path = Path(text)
    if path.is_file() and path.suffix == SUFFIX:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return trace.unpacked(path.read_bytes(), text)
    return trace.read(path, kind)


def played(way: Direction, duration_s: float) -> Played | None:
    """Description of what a direction plays in a run of this length."""
    found = of(way)
    if found is None:
        return None
    capacity, delay = found.capacity, found.of("delay")
    lasts_ns = round(duration_s * NS)
    return Played(
        source=" and ".join(_name(text) for text in (way.trace, way.trace_delay, way.trace_loss) if text),
        hash=found.digest,
        kinds=tuple(t.kind for t in found.tables),
        period_s=max(t.period_ns for t in found.tables) / NS,
        mean_mbit=round(capacity.mean_mbit, 6) if capacity else None,
        capacity_mbit=round(capacity.bits(lasts_ns) * 1e3 / lasts_ns, 6) if capacity else None,
        delay_ms=round(mean(delay) / 1e6, 6) if delay else None,
    )


def mean(table: Table) -> float:
    """Mean over time of a table of delay or loss."""
    if not table.period_ns:
        return table.value[-1]
    ends = [*table.t_ns[1:], table.period_ns]
    return sum(v * (end - t) for v, t, end in zip(table.value, table.t_ns, ends, strict=True)) / table.period_ns


def _name(text: str) -> str:
    """Of a file without its directory: results do not depend on where it is."""
    return text if trace_make.is_recipe(text) else Path(text).name


def keep(directory: Path, ways: list[Direction]) -> None:
    """Write what these directions play where machines read it, each trace once, under its hash."""
    for way in ways:
        if (found := of(way)) is None:
            continue
        path = directory / f"{found.digest}{SUFFIX}"
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".draft")
            draft.write_bytes(found.packed())
            draft.rename(path)
