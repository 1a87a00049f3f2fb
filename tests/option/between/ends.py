# SPDX-License-Identifier: GPL-2.0
"""The two ends of a connection between machines: addresses, sockets, and what each sees of it."""

import contextlib
import fcntl
import os
import socket
import struct
from dataclasses import dataclass

from hetlab.packet.tun import DEVICE, IFF_NO_PI, IFF_TUN, TUNSETIFF
from option.between.link import ENDS, Impairment, Link, Turns
from option.interop.capture import Capture
from option.interop.flows import PORT, data
from option.interop.loop import READ, Endpoint
from option.interop.net import FAMILY, SEED_FILE, Namespace
from option.interop.wire import Segment

ADDRESS = {
    "client": {4: "192.0.2.1", 6: "2001:db8::1"},
    "server": {4: "192.0.2.2", 6: "2001:db8::2"},
}
BITS = {4: 24, 6: 64}
UP_BYTES, DOWN_BYTES = 1_000_000, 500_000
WINDOWS = 6000  # 60 s
LINGER_WINDOWS = 20


@dataclass(frozen=True)
class Case:
    """One connection; ``lossy``: packets are lost and come out of order, both ways."""

    client: int  # net.ipv4.tcp_santacruz
    server: int
    cc: str = "reno"
    version: int = 4
    lossy: bool = False

    @property
    def offered(self) -> bool:
        """Is the option in the SYN?"""
        return self.client == 1 or (self.client == 2 and self.cc == "santacruz")

    @property
    def agreed(self) -> bool:
        """Is it in the SYN-ACK as well?"""
        return self.offered and self.server > 0

    @property
    def name(self) -> str:
        """How it is reported."""
        path = ", losses and reordering" if self.lossy else ""
        return f"client {self.client} ({self.cc}), server {self.server}, IPv{self.version}{path}"

    def impairment(self) -> Impairment:
        """Of the way to either end."""
        return Impairment(drop_data=43, late_data=31, drop_acks=5) if self.lossy else Impairment()


CASES = [
    Case(client, server, cc, version)
    for version in (4, 6)
    for client in (0, 1, 2)
    for server in (0, 1, 2)
    for cc in ("reno", "santacruz")
    if cc == "reno" or client == 2
] + [
    Case(client, server, "reno", version, lossy=True)
    for version in (4, 6)
    for client, server in ((1, 1), (1, 2), (0, 0))
]


@dataclass
class Seen:
    """What one end has of a connection."""

    complete: bool
    packets: list[Segment]
    counters: dict[str, int]
    path: dict[str, int]


def open_tun() -> int:
    """The device, in the namespace we are in."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    return fd


class Host:
    """One end: a namespace with the link's device, its sysctls, and a capture."""

    def __init__(self, end: str, case: Case) -> None:
        if SEED_FILE.exists():
            SEED_FILE.write_text(str(1 + ENDS.index(end)), encoding="ascii")
        self.space = Namespace()
        with self.space.inside():
            self.tun = open_tun()
        for name, value in (("addr_gen_mode", 1), ("router_solicitations", 0)):
            self.space.sysctl(f"ipv6.conf.{DEVICE}.{name}", value)
        self.space.sysctl("ipv4.tcp_santacruz", case.client if end == "client" else case.server)
        lines = [f"link set {DEVICE} txqueuelen 5000 up"]
        lines += [f"addr add {ADDRESS[end][v]}/{BITS[v]} dev {DEVICE}{' nodad' * (v == 6)}" for v in BITS]
        self.space.run("ip -batch -", "\n".join(lines))
        with self.space.inside():
            self.capture = Capture(DEVICE)

    def socket(self, case: Case) -> socket.socket:
        """One of TCP."""
        with self.space.inside():
            sock = socket.socket(FAMILY[case.version], socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, case.cc.encode())
        sock.setblocking(False)
        return sock

    def close(self) -> None:
        """Undo everything."""
        self.capture.close()
        os.close(self.tun)
        self.space.close()


class Client:
    """Connects, sends, and wants the answer."""

    def __init__(self, link: Link, host: Host, case: Case) -> None:
        sock = host.socket(case)
        with contextlib.suppress(BlockingIOError):
            sock.connect((ADDRESS["server"][case.version], PORT))
        self.end = Endpoint(link.loop, sock)
        self.end.feed(data(UP_BYTES, 1))

    def done(self) -> bool:
        """Has all of it come, unharmed?"""
        return self.end.received == data(DOWN_BYTES, 2)

    def close(self) -> None:
        """End the connection."""
        self.end.close()


class Server:
    """Takes one connection, and answers when all has come."""

    def __init__(self, link: Link, host: Host, case: Case) -> None:
        self.link = link
        self.end: Endpoint | None = None
        self.listener = host.socket(case)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((ADDRESS["server"][case.version], PORT))
        self.listener.listen()
        link.loop.watch(self.listener, READ, lambda _: self._accept())

    def _accept(self) -> None:
        self.end = Endpoint(self.link.loop, self.listener.accept()[0])
        self.end.on_data = self._answer

    def _answer(self) -> None:
        if self.done():
            assert self.end
            self.end.feed(data(DOWN_BYTES, 2))

    def done(self) -> bool:
        """Has all of it come, unharmed?"""
        return self.end is not None and self.end.received == data(UP_BYTES, 1)

    def close(self) -> None:
        """End the connection."""
        if self.end:
            self.end.close()
        self.link.loop.watch(self.listener, 0, lambda _: None)
        self.listener.close()


def connection(turns: Turns, end: str, case: Case) -> Seen:
    """One connection, from this end."""
    host = Host(end, case)
    link = Link(turns, host.tun, case.impairment())
    program = (Client if end == "client" else Server)(link, host, case)
    turns.exchange("ready")
    complete = link.run(program.done, WINDOWS)
    program.close()
    link.run(lambda: False, LINGER_WINDOWS)
    link.close()
    seen = Seen(complete, host.capture.take(), host.space.counters(), dict(link.path.seen))
    host.close()
    return seen


__all__ = ["CASES", "Case", "Seen", "connection"]
