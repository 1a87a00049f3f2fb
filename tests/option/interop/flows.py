# SPDX-License-Identifier: GPL-2.0
"""Connections over a case's network, and what they gave."""

import functools
import hashlib
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from option.interop.loop import READ, Endpoint, Loop
from option.interop.middlebox import Middlebox, Rule
from option.interop.net import CLIENT, FAMILY, SERVER, Net
from option.interop.wire import Segment

PORT = 5001
UP_BYTES, DOWN_BYTES = 1_500_000, 500_000
LINGER_S = 2.0
Prepare = Callable[[socket.socket], None]


@functools.cache
def data(count: int, seed: int) -> bytes:
    """The same bytes every time."""
    return random.Random(seed).randbytes(count)


def nothing(sock: socket.socket) -> None:
    """Leave a socket as it is."""


@dataclass(frozen=True)
class Flow:
    """A connection and what goes over it."""

    version: int = 4
    up: int = UP_BYTES
    down: int = DOWN_BYTES
    together: bool = False
    cc: str = "reno"
    client: Prepare = nothing
    listener: Prepare = nothing
    accepted: Prepare = nothing
    protocol: int = 0
    server_protocol: int | None = None
    chunk: int = 1 << 18
    first: bytes = b""  # sent in the SYN (Fast Open)


@dataclass
class Outcome:
    """What a connection gave."""

    complete: bool
    took_s: float
    client: list[Segment]
    server: list[Segment]
    counters: tuple[dict[str, int], dict[str, int]] = field(default_factory=lambda: ({}, {}))
    error: str = ""


class Talk:
    """A connection being made and used; drive it with loop.run().

    Links lose nothing before the server has the connection: a SYN-ACK sent twice has no option the second time, by
    design, and which packets random losses hit differs between kernels. Lost handshakes are cases of their own.
    """

    def __init__(self, net: Net, flow: Flow, rule: Rule | None = None) -> None:
        self.net = net
        net.lose(False)
        self.flow = flow
        self.loop = Loop()
        self.box = Middlebox(self.loop, net, rule) if rule else None
        self.server: Endpoint | None = None
        self.begun = time.monotonic()
        self.listener = self._listen()
        self.unsent = b""
        self.client = Endpoint(self.loop, self._connect(), flow.chunk)
        self.client.feed(self.unsent)

    def _socket(self, space_of_client: bool, protocol: int) -> socket.socket:
        space = self.net.client if space_of_client else self.net.server
        with space.inside():
            sock = socket.socket(FAMILY[self.flow.version], socket.SOCK_STREAM, protocol)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.flow.cc.encode())
        return sock

    def _listen(self) -> socket.socket:
        protocol = self.flow.server_protocol
        sock = self._socket(False, self.flow.protocol if protocol is None else protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.flow.listener(sock)
        sock.bind((SERVER[self.flow.version], PORT))
        sock.listen()
        sock.setblocking(False)
        self.loop.watch(sock, READ, lambda _: self._accept())
        return sock

    def _connect(self) -> socket.socket:
        sock = self._socket(True, self.flow.protocol)
        self.flow.client(sock)
        sock.setblocking(False)
        try:
            if self.flow.first:
                sock.sendto(self.flow.first, socket.MSG_FASTOPEN, (SERVER[self.flow.version], PORT))
            else:
                sock.connect((SERVER[self.flow.version], PORT))
        except BlockingIOError:
            self.unsent = self.flow.first
        return sock

    def _accept(self) -> None:
        sock, _ = self.listener.accept()
        self.net.lose(True)
        self.flow.accepted(sock)
        self.server = Endpoint(self.loop, sock, self.flow.chunk)

    def run(self, done: Callable[[], bool], limit_s: float = 300) -> bool:
        """Go on until something is so, or an end fails."""
        ends = [self.client]
        self.loop.run(lambda: done() or any(e.error for e in ends), limit_s)
        return done()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.loop.run(lambda: False, seconds)

    def exchange(self, up: int, down: int, together: bool = False, limit_s: float = 300) -> bool:
        """Bytes both ways, one after the other or at once; are they the same at the other end?"""
        if not self.run(lambda: self.server is not None, limit_s):
            return False
        assert self.server is not None
        before = len(self.client.received), len(self.server.received)
        self.client.feed(data(up, 1))
        if together:
            self.server.feed(data(down, 2))
        whole = self.run(lambda: self._has(before[1] + up, self.server), limit_s)
        if not together:
            self.server.feed(data(down, 2))
        whole = whole and self.run(lambda: self._has(before[0] + down, self.client), limit_s)
        return (
            whole
            and digest(self.server.received[before[1] :]) == digest(data(up, 1))
            and digest(self.client.received[before[0] :]) == digest(data(down, 2))
        )

    @staticmethod
    def _has(count: int, end: Endpoint | None) -> bool:
        return end is not None and len(end.received) >= count

    def finish(self, complete: bool) -> Outcome:
        """Close both ends, let the rest arrive, collect."""
        took_s = time.monotonic() - self.begun
        error = str(self.client.error or (self.server and self.server.error) or "")
        for end in (self.client, self.server):
            if end:
                end.close()
        self.listener_close()
        self.wait(LINGER_S)
        if self.box:
            self.box.close()
        self.loop.close()
        counters = self.net.client.counters(), self.net.server.counters()
        return Outcome(complete, took_s, *self.net.take(), counters=counters, error=error)

    def listener_close(self) -> None:
        """No more connections."""
        self.loop.watch(self.listener, 0, lambda _: None)
        self.listener.close()


def digest(what: bytes | bytearray) -> bytes:
    """SHA-256."""
    return hashlib.sha256(what).digest()


def transfer(net: Net, flow: Flow, rule: Rule | None = None) -> Outcome:
    """One connection: bytes up, then bytes down, or both at once."""
    talk = Talk(net, flow, rule)
    return talk.finish(talk.exchange(flow.up, flow.down, flow.together))


__all__ = ["CLIENT", "Flow", "Outcome", "Talk", "data", "transfer"]
