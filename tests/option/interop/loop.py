# SPDX-License-Identifier: GPL-2.0
"""Sockets of several namespaces and a clock, in one thread: nothing here depends on scheduling."""

import heapq
import itertools
import selectors
import socket
import time
from collections.abc import Callable

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
LIMIT_S = 600.0


class Loop:
    """Calls back when a socket is ready or a time has come."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()

    def watch(self, sock: socket.socket, events: int, call: Callable[[int], None]) -> None:
        """Call when the socket is ready for one of the events; 0 ends it."""
        known = sock in self.selector.get_map()
        if not events:
            if known:
                self.selector.unregister(sock)
        elif known:
            self.selector.modify(sock, events, call)
        else:
            self.selector.register(sock, events, call)

    def after(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call once, later."""
        heapq.heappush(self.timers, (time.monotonic() + delay_s, next(self.order), call))

    def run(self, done: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
        """Until something is so; False if it is not in time."""
        end = time.monotonic() + limit_s
        while not done():
            now = time.monotonic()
            if now >= end:
                return False
            if self.timers and self.timers[0][0] <= now:
                heapq.heappop(self.timers)[2]()
                continue
            wake = min(end, self.timers[0][0]) if self.timers else end
            for key, events in self.selector.select(wake - now + 1e-6):
                key.data(events)
        return True

    def close(self) -> None:
        """Forget everything."""
        self.selector.close()


class Endpoint:
    """One end of a connection: sends what it is fed, keeps what comes."""

    def __init__(self, loop: Loop, sock: socket.socket, chunk: int = 1 << 18) -> None:
        self.loop = loop
        self.sock = sock
        self.chunk = chunk
        self.queue = bytearray()
        self.sent = 0
        self.received = bytearray()
        self.closed = False
        self.error: OSError | None = None
        self.on_data: Callable[[], None] = lambda: None
        sock.setblocking(False)
        loop.watch(sock, READ, self._ready)

    def feed(self, data: bytes) -> None:
        """Send this, too."""
        self.queue += data
        self.loop.watch(self.sock, READ | WRITE, self._ready)

    def _ready(self, events: int) -> None:
        try:
            if events & READ:
                self._read()
            if events & WRITE and not self.closed:
                self._write()
        except BlockingIOError:
            pass
        except OSError as error:
            self.error = error
            self.close()

    def _read(self) -> None:
        data = self.sock.recv(1 << 20)
        if not data:
            self.loop.watch(self.sock, WRITE if self.sent < len(self.queue) else 0, self._ready)
            self.closed = self.sent >= len(self.queue)
        self.received += data
        self.on_data()

    def _write(self) -> None:
        while self.sent < len(self.queue):
            self.sent += self.sock.send(memoryview(self.queue)[self.sent : self.sent + self.chunk])
        self.loop.watch(self.sock, READ, self._ready)

    def close(self) -> None:
        """End this end."""
        if self.sock.fileno() >= 0:
            self.loop.watch(self.sock, 0, self._ready)
            self.sock.close()
        self.closed = True
