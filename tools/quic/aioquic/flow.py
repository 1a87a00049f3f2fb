# SPDX-License-Identifier: GPL-2.0
"""One QUIC flow by aioquic: the words of a flow and the records are flowgen's (docs/quic.md).

The sender is the client and writes one stream.
"""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived

PROTOCOL = "hetlab"
PIECE = bytes(65536)
BUFFER_BYTES = 2**20  # aioquic takes all that it is given: this much waits for its window
LINGER_S = 5  # as long the end of a connection is told again to whom it did not reach
KNOWN_CCS = ("reno", "cubic")
TYPES = {
    **dict.fromkeys(("t0", "until", "sample_ms", "start", "duration"), float),
    **dict.fromkeys(("id", "port", "mtu", "bytes", "window"), int),
    **dict.fromkeys(("out", "cert", "key", "role", "addr", "cc"), str),
}


class UsageError(Exception):
    """A wrong word on the command line."""


@dataclass
class Flow:
    """What was asked for."""

    out: str
    role: str
    port: int
    id: int = 0
    t0: float = 0
    until: float = 3600
    sample_ms: float = 100
    start: float = 0
    duration: float = 3600
    bytes: int = 0
    addr: str = ""
    cc: str = "reno"
    cert: str = ""
    key: str = ""
    mtu: int = 1500
    window: int = 2**26

    def configuration(self) -> QuicConfiguration:
        """As large a datagram as the link takes; windows that do not limit."""
        made = QuicConfiguration(
            is_client=self.role == "send",
            alpn_protocols=[PROTOCOL],
            congestion_control_algorithm=self.cc,
            idle_timeout=3600,
            max_data=self.window,
            max_stream_data=self.window,
            max_datagram_size=self.mtu - (48 if ":" in self.addr else 28),
            verify_mode=ssl.CERT_NONE,
        )
        if self.role == "recv":
            made.load_cert_chain(Path(self.cert), Path(self.key))
        return made


def parse(words: list[str]) -> Flow:
    """Pairs KEY=VALUE with commas between them: UsageError."""
    found: dict[str, Any] = {}
    for pair in ",".join(words).split(","):
        key, _, value = pair.partition("=")
        if key not in TYPES:
            raise UsageError(f"{pair}: no such key")
        try:
            found[key] = TYPES[key](value)
        except ValueError as err:
            raise UsageError(f"{pair}: not a number") from err
    if missing := {"out", "role", "port"} - found.keys():
        raise UsageError(f"needed: {', '.join(sorted(missing))} (docs/quic.md)")
    flow = Flow(**found)
    if flow.role not in {"send", "recv"}:
        raise UsageError(f"role={flow.role}: send or recv")
    if flow.cc not in KNOWN_CCS:
        raise UsageError(f"cc={flow.cc}: aioquic has {', '.join(KNOWN_CCS)}")
    return flow


class Ends(QuicConnectionProtocol):
    """Either end of the connection."""

    def __init__(self, *args: Any, run: "Run", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.run = run
        run.protocol = self

    def quic_event_received(self, event: QuicEvent) -> None:
        """Count what arrives; note the end."""
        if isinstance(event, ConnectionTerminated):
            self.run.over("bytes" if self.run.closes() else "reset")
        if isinstance(event, StreamDataReceived):
            self.run.received += len(event.data)
            if event.end_stream:
                self.run.over("fin")
                self.close()

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Each acknowledgment makes room for more."""
        self.run.fill()
        super().datagram_received(data, addr)
        if self._quic._close_event is not None and self.run.closes():  # quic_event_received is told after three PTO
            self.run.over("bytes")


class Run:
    """A flow and its records."""

    def __init__(self, flow: Flow, out: TextIO) -> None:
        self.flow, self.out = flow, out
        self.protocol: Ends | None = None
        self.stream: int | None = None
        self.received = self.given = 0
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def over(self, why: str) -> None:
        """The first reason counts."""
        if not self.ended.done():
            self.ended.set_result(why)

    def closes(self) -> bool:
        """Whether the peer has no reason to close but that it has all."""
        return self.flow.role == "send" and 0 < self.flow.bytes <= self.given

    def fill(self) -> None:
        """Give aioquic as much as it should hold."""
        if self.protocol is None or self.stream is None:
            return
        quic = self.protocol._quic
        limit = self.flow.bytes or sys.maxsize
        while self.given < limit and len(quic._streams[self.stream].sender._buffer) < BUFFER_BYTES:
            piece = PIECE[: limit - self.given]
            self.given += len(piece)
            quic.send_stream_data(self.stream, piece, end_stream=self.given == limit)

    def write(self, kind: str, **more: Any) -> None:
        """One record."""
        t = round(time.clock_gettime(time.CLOCK_MONOTONIC) - self.flow.t0, 6)
        self.out.write(json.dumps({"type": kind, "id": self.flow.id, "t": t, **more}) + "\n")
        self.out.flush()

    def numbers(self) -> dict[str, Any]:
        """What aioquic knows, under flowgen's names."""
        if self.flow.role == "recv":
            return {"bytes_received": self.received}
        if self.protocol is None:
            return {"bytes_sent": 0}
        loss = self.protocol._quic._loss
        known = loss._rtt_initialized
        return {
            "cwnd": loss.congestion_window / self.protocol._quic._max_datagram_size,
            "cwnd_bytes": loss.congestion_window,
            "srtt_us": round(loss._rtt_smoothed * 1e6) if known else None,
            "min_rtt_us": round(loss._rtt_min * 1e6) if known else None,
        }

    async def sample(self) -> None:
        """At t0 and every sample_ms."""
        n = 0
        while self.flow.sample_ms:
            await sleep_until(self.flow.t0 + n * self.flow.sample_ms / 1e3)
            self.write("sample" if self.flow.role == "send" else "rsample", **self.numbers())
            n += 1

    async def send(self) -> None:
        """Connect and send."""
        made = connect(
            self.flow.addr,
            self.flow.port,
            configuration=self.flow.configuration(),
            create_protocol=lambda *args, **kwargs: Ends(*args, run=self, **kwargs),
        )
        async with made as protocol:
            self.protocol = protocol
            self.write("start", cc=self.flow.cc)
            self.stream = protocol._quic.get_next_available_stream_id(is_unidirectional=True)
            protocol._quic.send_stream_data(self.stream, b"")
            self.fill()
            protocol.transmit()
            await self.ended

    async def receive(self) -> None:
        """Wait for one connection."""
        await serve(
            "::",
            self.flow.port,
            configuration=self.flow.configuration(),
            create_protocol=lambda *args, **kwargs: Ends(*args, run=self, **kwargs),
        )
        await self.ended


async def sleep_until(t: float) -> None:
    """Sleep to a time of CLOCK_MONOTONIC."""
    await asyncio.sleep(max(t - time.clock_gettime(time.CLOCK_MONOTONIC), 0))


async def main(flow: Flow) -> None:
    """Run until the flow is over or out of time."""
    end = flow.until
    if flow.role == "send":
        await sleep_until(flow.t0 + flow.start)
        end = min(end, flow.start + flow.duration)
    with open(flow.out, "w") as out:
        run = Run(flow, out)
        work: Coroutine[Any, Any, None] = run.send() if flow.role == "send" else run.receive()
        tasks = [asyncio.ensure_future(task) for task in (work, run.sample(), sleep_until(flow.t0 + end))]
        await asyncio.wait([tasks[0], tasks[2]], return_when=asyncio.FIRST_COMPLETED)
        run.over("duration")
        why = run.ended.result()
        if tasks[0].done() and tasks[0].exception():
            raise SystemExit(f"aioquic: {tasks[0].exception()}")
        complete = why in {"bytes", "fin"} or (why == "duration" and not flow.bytes)
        run.write("end", role=flow.role, reason=why, complete=complete, **run.numbers())
        tasks[1].cancel()
        if why == "fin":
            await sleep_until(min(flow.t0 + flow.until, time.clock_gettime(time.CLOCK_MONOTONIC) + LINGER_S))


if __name__ == "__main__":
    try:
        asyncio.run(main(parse(sys.argv[1:])))
    except UsageError as usage:
        print(f"aioquic: {usage}", file=sys.stderr)
        sys.exit(2)
