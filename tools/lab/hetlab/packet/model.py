# SPDX-License-Identifier: GPL-2.0
"""What a script says, once it is understood."""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from hetlab.errors import LabError
from hetlab.packet.option_text import seconds, show_options
from hetlab.packet.options import Option


class ScriptError(LabError):
    """A fault in a script, with file and line."""


@dataclass(frozen=True)
class Env:
    """The variant of the script that is wanted: IP version, kernel, whose rules."""

    version: int
    patched: bool
    packetdrill: bool = False

    @property
    def marks(self) -> set[str]:
        """Conditions that hold."""
        return {f"ipv{self.version}", "patched" if self.patched else "unpatched"}


CONDITIONS = ("patched", "unpatched", "ipv4", "ipv6")


@dataclass(frozen=True)
class Edge:
    """One end of a time range."""

    us: int
    relative: bool

    def at(self, base_us: int) -> int:
        """Time in the script; relative ones count from the event before."""
        return self.us + (base_us if self.relative else 0)


@dataclass(frozen=True)
class When:
    """Time of an event; no edges: any time."""

    low: Edge | None
    high: Edge | None

    @property
    def exact(self) -> bool:
        """One instant, not a range."""
        return self.low is not None and self.low == self.high


@dataclass(frozen=True)
class Packet:
    """A TCP segment in the script's numbers; None: not checked."""

    flags: frozenset[str]
    seq: int
    length: int
    ack: int | None = None
    win: int | None = None
    options: tuple[Option, ...] | None = None
    ecn: str | None = None

    def show(self) -> str:
        """In the script's notation."""
        flags = "".join(f for f in "SFRPEWA." if f in self.flags) or "-"
        text = f"[{self.ecn}] " if self.ecn and self.ecn != "noecn" else ""
        text += f"{flags} {self.seq}:{self.seq + self.length}({self.length})"
        text += "" if self.ack is None else f" ack {self.ack}"
        text += "" if self.win is None else f" win {self.win}"
        return text if self.options is None else f"{text} {show_options(self.options)}"


@dataclass(frozen=True)
class Event:
    """One thing that happens, or must happen, at a time."""

    line: int
    when: When


@dataclass(frozen=True)
class Expect(Event):
    """The kernel sends this."""

    packet: Packet


@dataclass(frozen=True)
class Inject(Event):
    """The peer sends this."""

    packet: Packet


Argument: TypeAlias = "int | float | str | list[Argument] | dict[str, Argument] | None"


@dataclass(frozen=True)
class Call(Event):
    """A system call and what it must return; ``end``: it blocks up to then."""

    name: str
    args: tuple[Argument, ...]
    result: int
    errno: str | None
    end: Edge | None = None

    def show(self) -> str:
        """Roughly as written."""
        return f"{self.name}({', '.join('...' if a is None else str(a) for a in self.args)})"


@dataclass(frozen=True)
class Shell(Event):
    """A shell command that must succeed."""

    command: str


@dataclass(frozen=True)
class Code(Event):
    """Python that must not raise."""

    source: str


@dataclass
class Settings:
    """Lines that begin with ``--``."""

    mtu: int = 1500
    cc: str = "reno"
    tolerance_usecs: int = 10
    isn: int | None = None
    peer_isn: int = 1_000_000
    strict_options: bool = False
    ip: int | None = None
    mss: int = 0  # of what the peer sends at once, 0: one segment, however long

    @classmethod
    def of_packetdrill(cls, version: int) -> "Settings":
        """What the kernel's ksft_runner.sh and packetdrill itself set."""
        return cls(mtu=1500 if version == 4 else 1520, tolerance_usecs=4000, strict_options=True)


@dataclass
class Script:
    """A whole script for one environment."""

    name: str
    settings: Settings = field(default_factory=Settings)
    directives: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def where(self, event: Event) -> str:
        """File and line."""
        return f"{self.name}:{event.line}"


DIRECTIVE = re.compile(r"//\s*(claim|patch|unpatched):\s*(.*?)\s*")
VERDICTS = ("passes", "fails")


def stamp(us: int) -> str:
    """A time in messages."""
    return seconds(us) if us >= 0 else f"-{seconds(-us)}"
