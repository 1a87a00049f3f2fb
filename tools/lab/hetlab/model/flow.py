# SPDX-License-Identifier: GPL-2.0
"""Flows: what sends how much from where to where."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from hetlab.model import workload
from hetlab.model.keys import Checked, Key, ModelError
from hetlab.model.workload import Workload

# QUIC stacks and the congestion controls that each has; the first is its default
QUIC_CCS = {"quic-go": ("reno",), "quinn": ("cubic", "reno", "bbr"), "aioquic": ("reno", "cubic")}


@dataclass(frozen=True, kw_only=True)
class Traffic(Checked):
    """What a flow sends, from ``src`` to ``dst``."""

    src: Annotated[str, Key("host that sends")]
    dst: Annotated[str, Key("host that receives")]
    proto: Annotated[Literal["tcp", "udp", "quic"], Key("protocol")] = "tcp"
    cc: Annotated[
        str | None, Key("congestion control of a TCP flow; none: the one under test; QUIC: its stack's default")
    ] = None
    stack: Annotated[Literal["quic-go", "quinn", "aioquic"] | None, Key("QUIC: what makes the flow", sparse=True)] = (
        None
    )
    start_s: Annotated[float, Key("when it begins", "start_s")] = 0
    start_jitter_s: Annotated[
        float, Key("it begins later by up to this, evenly; each seed draws anew", low=0, high=3600, sparse=True)
    ] = 0
    duration_s: Annotated[float | None, Key("how long it sends; none: until the end", "duration_s")] = None
    bytes: Annotated[int | None, Key("it ends after so many bytes of payload", low=1, high=10**13)] = None
    rate_mbit: Annotated[float | None, Key("UDP: rate of IP packets while it sends", "rate_mbit")] = None
    packet_bytes: Annotated[int, Key("UDP: size of its IP packets", low=64, high=65_535)] = 1000
    on_s: Annotated[float, Key("UDP: it sends for this long, then pauses for off_s", low=0, high=86_400)] = 0
    off_s: Annotated[float, Key("UDP: length of its pauses", low=0, high=86_400)] = 0
    rcvlowat: Annotated[int | None, Key("SO_RCVLOWAT of the receiver, in bytes", low=1, high=10_000_000)] = None
    clamp: Annotated[int | None, Key("TCP_WINDOW_CLAMP of the receiver, in bytes", low=1, high=2**30)] = None
    pace_mbit: Annotated[float | None, Key("SO_MAX_PACING_RATE of the sender", "rate_mbit")] = None
    sndbuf: Annotated[int | None, Key("SO_SNDBUF of the sender, in bytes", low=1, high=2**30)] = None
    rcvbuf: Annotated[int | None, Key("SO_RCVBUF of the receiver, in bytes", low=1, high=2**30)] = None
    notsent_lowat: Annotated[int | None, Key("TCP_NOTSENT_LOWAT of the sender, in bytes", low=1, high=2**31 - 1)] = None


@dataclass(frozen=True, kw_only=True)
class Flows(Workload, Traffic):
    """One or more equal flows of a scenario file."""

    stagger_s: Annotated[float, Key("each of them begins this much after the one before", low=0, high=3600)] = 0
    count: Annotated[int, Key("how many they are", "count")] = 1
    rate_share: Annotated[float | None, Key("UDP: rate as a share of the smallest rate on its path", "rate_share")] = (
        None
    )
    load_percent: Annotated[
        float | None,
        Key(
            "connections: payload offered, of the smallest rate on its path; arrivals are a Poisson process",
            low=0.01,
            high=1000,
            sparse=True,
        ),
    ] = None

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""
        if self.src == self.dst:
            raise ModelError(f"src and dst are both {self.src!r}: a flow needs two hosts")
        given = [self.rate_mbit, self.rate_share].count(None)
        if self.proto == "udp" and given != 1 and self.workload is None:
            raise ModelError("a udp flow needs rate_mbit or rate_share, one of them")
        if self.proto != "udp" and self.rate_share is not None:
            raise ModelError("rate_share is for udp flows")
        if self.proto == "udp" and self.cc is not None:
            raise ModelError("a udp flow has no cc")
        if (self.proto == "quic") != (self.stack is not None):
            raise ModelError(f"stack = one of {', '.join(QUIC_CCS)}: for quic flows, and needed there")
        if self.stack is not None and self.cc not in {None, *QUIC_CCS[self.stack]}:
            raise ModelError(f"cc={self.cc!r}: {self.stack} has {', '.join(QUIC_CCS[self.stack])}")
        if self.cc is not None and not is_cc_name(self.cc):
            raise ModelError(f"cc={self.cc!r}: a name of a to z, 0 to 9, _; at most 15 characters")
        if self.workload is not None and self.rate_share is not None:
            raise ModelError(f"rate_share does not apply to workload={self.workload!r}")
        workload.check(self)


@dataclass(frozen=True, kw_only=True)
class Flow(Workload, Traffic):
    """A single flow as it runs."""

    # Keys that our traffic generators are told at each end, by protocol, under their own names
    TOLD: ClassVar[dict[tuple[str, str], tuple[str, ...]]] = {
        ("tcp", "sender"): ("proto", "bytes", "pace_mbit", "sndbuf", "notsent_lowat"),
        ("udp", "sender"): ("proto", "rate_mbit", "packet_bytes", "on_s", "off_s", "sndbuf"),
        ("tcp", "receiver"): ("proto", "rcvlowat", "clamp", "rcvbuf"),
        ("udp", "receiver"): ("proto", "rcvbuf"),
        ("quic", "sender"): ("bytes",),
        ("quic", "receiver"): (),
    }

    duration_s: Annotated[float, Key("how long it sends at most", "duration_s")]
    id: Annotated[int, Key("number of the flow in all records")]
    name: Annotated[str, Key("name in the scenario, numbered where there are several")]
    port: Annotated[int, Key("port of the receiver", "port")]

    def given(self, end: Literal["sender", "receiver"], seed: int = 1) -> dict[str, str]:
        """Keys and values that our program gets at an end of the flow, without those that are not set."""
        told = {key: getattr(self, key) for key in self.TOLD[self.proto, end]}
        words = {key: f"{v:g}" if isinstance(v, float) else str(v) for key, v in told.items() if v}
        return words | workload.told(self, end, seed)


def is_cc_name(text: str) -> bool:
    """Whether the kernel would take it as a name."""
    return 0 < len(text) <= 15 and all(c == "_" or (c.isascii() and (c.islower() or c.isdigit())) for c in text)
