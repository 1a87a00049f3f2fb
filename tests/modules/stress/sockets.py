# SPDX-License-Identifier: GPL-2.0
"""Other processes' sockets: the flows know nothing of what is done to them."""

import os
import socket
import struct
from collections.abc import Iterator

from stress import world

PIDFD_GETFD = 438
IPPROTO_MPTCP = 262
TCP_CC_INFO = 26
STDERR = 2


def _borrow(pidfd: int, fd: int) -> socket.socket | None:
    """A duplicate of a TCP or MPTCP socket; None if it is something else, or gone."""
    own = world.LIBC.syscall(PIDFD_GETFD, pidfd, fd, 0)
    if own < 0:
        return None
    try:
        sock = socket.socket(fileno=own)
    except OSError:
        os.close(own)
        return None
    if sock.family in (socket.AF_INET, socket.AF_INET6) and sock.type == socket.SOCK_STREAM:
        return sock
    sock.close()
    return None


def of(pid: int) -> Iterator[socket.socket]:
    """All TCP sockets of a process, one after the other."""
    try:
        pidfd, names = os.pidfd_open(pid), os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    try:
        for name in names:
            if int(name) > STDERR and (sock := _borrow(pidfd, int(name))):
                with sock:
                    yield sock
    finally:
        os.close(pidfd)


def congestion_control(sock: socket.socket) -> str:
    """Its name."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()


def set_congestion_control(sock: socket.socket, name: str) -> bool:
    """Change it; False when it is not there (any more)."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError:
        return False
    return True


def established(sock: socket.socket) -> bool:
    """State of the connection."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == b"\x01"


def dissolve(sock: socket.socket) -> bool:
    """End a connection with a RST, at once; False where the kernel refuses, because a thread waits."""
    nowhere = struct.pack("H14x", socket.AF_UNSPEC)
    return not world.LIBC.connect(sock.fileno(), nowhere, len(nowhere))
