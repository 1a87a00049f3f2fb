# SPDX-License-Identifier: GPL-2.0
"""Netlink sockets, and the network namespaces that they work in.

Own code: ss does not print what the modules report, ip cannot change one attribute of a route and leave all others,
and the library for it, pyroute2, loses attributes when a route is read and written back (measured with 0.9.7):
- RTA_NH_ID, the nexthop object, always: it does not know the type, and the new route has no next hop.
- RTAX_CC_ALGO, the congestion control, if the attributes that get_routes() returned are given to route() one by one:
  all metrics are dropped, without an error.
Here an attribute is its type and its bytes, so those that this program does not know pass through unchanged.
"""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import HetccError

NLM_REQUEST, NLM_ACK, NLM_DUMP = 0x1, 0x4, 0x300
NLM_REPLACE, NLM_EXCL, NLM_CREATE = 0x100, 0x200, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3
NETLINK_ROUTE, NETLINK_SOCK_DIAG = 0, 4
Attrs = list[tuple[int, bytes]]


def unpack_attrs(data: bytes) -> Attrs:
    """Attributes of a message, in their order: type (without flags) and value."""
    found = []
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found.append((kind & 0x3FFF, data[4:length]))
        data = data[(length + 3) & ~3 :]
    return found


def pack_attrs(attrs: Attrs) -> bytes:
    """Attributes as they stand in a message: length, type, value, zeros up to a multiple of 4 bytes."""
    return b"".join(struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4) for kind, value in attrs)


def split(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Messages of a datagram: type and payload."""
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if length < 16:
            break
        yield kind, data[16:length]
        data = data[(length + 3) & ~3 :]


class Netlink:
    """A netlink socket in the network namespace that the process is in when it is made."""

    def __init__(self, protocol: int) -> None:
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)

    def __enter__(self) -> "Netlink":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def _send(self, kind: int, flags: int, payload: bytes) -> None:
        self.sock.send(struct.pack("=IHHII", 16 + len(payload), kind, NLM_REQUEST | flags, 1, 0) + payload)

    def _messages(self) -> Iterator[tuple[int, bytes]]:
        while True:
            yield from split(self.sock.recv(1 << 20))

    def dump(self, kind: int, payload: bytes) -> Iterator[bytes]:
        """Ask for all objects of a kind; the payload of each message. OSError if the kernel refuses."""
        self._send(kind, NLM_DUMP, payload)
        for answer, body in self._messages():
            if answer in {NLMSG_DONE, NLMSG_ERROR}:
                self._raise(body)
                return
            yield body

    def request(self, kind: int, flags: int, payload: bytes) -> None:
        """Ask for a change and wait until it is made. OSError if the kernel refuses."""
        self._send(kind, NLM_ACK | flags, payload)
        for answer, body in self._messages():
            if answer == NLMSG_ERROR:
                self._raise(body)
                return

    def listen(self, groups: int) -> None:
        """Receive what the kernel tells these multicast groups (a bit each)."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.sock.bind((0, groups))

    def news(self, *, wait: bool = True) -> list[tuple[int, bytes]] | None:
        """Messages to the groups, type and payload; None if some are lost.

        Waits for the first, or else gives an empty list if there is none.
        """
        try:
            return list(split(self.sock.recv(1 << 20, 0 if wait else socket.MSG_DONTWAIT)))
        except BlockingIOError:
            return []
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return None
            raise

    @staticmethod
    def _raise(body: bytes) -> None:
        (error,) = struct.unpack_from("=i", body)
        if error:
            raise OSError(-error, os.strerror(-error))


def namespace_number() -> int:
    """Number of the network namespace that this process is in."""
    return os.stat("/proc/self/ns/net").st_ino


FIRST = 0


def namespace_key() -> int:
    """The same, but FIRST for that of process 1 (of the machine or container), whose number a restart may change."""
    return FIRST if in_first() else namespace_number()


def in_first() -> bool:
    """Whether this is the network namespace of process 1. Only root may look at its ns/net, everybody at its net/."""
    try:
        return os.stat("/proc/self/net/stat").st_ino == os.stat("/proc/1/net/stat").st_ino
    except FileNotFoundError:  # /proc mounted with hidepid: a user's shell is in no namespace of its own
        return True


def namespaces() -> dict[int, str]:
    """Numbers of all network namespaces that can be found, each with a path to it; that of this process first."""
    found = {namespace_number(): "/proc/self/ns/net"}
    paths = [*Path("/run/netns").glob("*"), *Path("/proc").glob("[0-9]*/ns/net")]
    for path in paths:
        try:
            found.setdefault(path.stat().st_ino, str(path))
        except OSError:
            continue
    return found


@contextmanager
def inside(path: str) -> Iterator[bool]:
    """Run the block in another network namespace; yields False, and stays, if that cannot be entered."""
    libc = ctypes.CDLL(None, use_errno=True)
    entered = False
    with open("/proc/self/ns/net") as home:
        try:
            with open(path) as target:
                entered = target.fileno() >= 0 and libc.setns(target.fileno(), 0) == 0
        except OSError:
            pass
        try:
            yield entered
        finally:
            if entered and libc.setns(home.fileno(), 0):
                raise HetccError("cannot come back into the first network namespace")


def name_of(path: str) -> str:
    """A network namespace as messages name it, from its path in namespaces()."""
    if path.startswith("/run/netns/"):
        return f"namespace {Path(path).name}"
    if path == "/proc/self/ns/net":
        return "this namespace"
    return f"the namespace of process {path.split('/')[2]}"
