# SPDX-License-Identifier: GPL-2.0
"""System calls of a script on the socket under test; all sockets are non-blocking."""

import errno
import socket
import struct
from collections.abc import Callable

from hetlab.packet.model import Argument, Call
from hetlab.packet.wire import LOCAL, REMOTE

SERVICE_PORT = 8080
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 19, 20, 21
SEND_QUEUE = 2


class CallError(Exception):
    """A call did not do what the script says."""


def _int(value: Argument) -> int:
    if not isinstance(value, int):
        raise CallError(f"{value!r} where a whole number is expected")
    return value


def _done(method: Callable[..., None], *args: object) -> int:
    """Carry out what returns nothing: success is 0."""
    method(*args)
    return 0


class Sockets:
    """The sockets by the numbers that the script gives them."""

    def __init__(self, version: int, isn: int | None) -> None:
        self.version = version
        self.isn = isn
        self.open: dict[int, socket.socket] = {}
        self.latest: socket.socket | None = None
        self.calls: dict[str, Callable[..., int | socket.socket]] = {
            "socket": self._socket,
            "bind": lambda fd, *_: _done(self._get(fd).bind, (LOCAL[version], SERVICE_PORT)),
            "listen": lambda fd, backlog: _done(self._get(fd).listen, _int(backlog)),
            "accept": lambda fd, *_: self._get(fd).accept()[0],
            "connect": self._connect,
            "fcntl": lambda fd, *_: _done(self._get(fd).setblocking, False),
            "setsockopt": self._setsockopt,
            "getsockopt": self._getsockopt,
            "write": lambda fd, _, size: self._get(fd).send(bytes(_int(size))),
            "send": lambda fd, _, size, flags: self._get(fd).send(bytes(_int(size)), _int(flags)),
            "read": lambda fd, _, size: len(self._get(fd).recv(_int(size))),
            "recv": lambda fd, _, size, flags: len(self._get(fd).recv(_int(size), _int(flags))),
            "shutdown": lambda fd, how: _done(self._get(fd).shutdown, _int(how)),
            "close": self._close,
        }

    def _get(self, fd: Argument) -> socket.socket:
        if fd not in self.open:
            raise CallError(f"descriptor {fd} is not open; open are {sorted(self.open)}")
        return self.open[_int(fd)]

    def _socket(self, _domain: Argument, _kind: Argument, _protocol: Argument) -> socket.socket:
        return socket.socket(FAMILY[self.version], socket.SOCK_STREAM)

    def _connect(self, fd: Argument, *_: Argument) -> int:
        sock = self._get(fd)
        if self.isn is not None:
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR, 1)
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
            sock.setsockopt(socket.SOL_TCP, TCP_QUEUE_SEQ, struct.pack("I", self.isn))
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR, 0)
        sock.connect((REMOTE[self.version], SERVICE_PORT))
        return 0

    def _setsockopt(self, fd: Argument, level: Argument, name: Argument, value: Argument, *_: Argument) -> int:
        given: int | bytes = value.encode() if isinstance(value, str) else b""
        if isinstance(value, list):
            given = struct.pack(f"{len(value)}i", *value)
        elif isinstance(value, int):
            given = value
        self._get(fd).setsockopt(_int(level), _int(name), given)
        return 0

    def _getsockopt(self, fd: Argument, level: Argument, name: Argument, value: Argument, *_: Argument) -> int:
        sock = self._get(fd)
        if isinstance(value, str):
            have: object = sock.getsockopt(_int(level), _int(name), 64).rstrip(b"\0").decode()
        else:
            have = [sock.getsockopt(_int(level), _int(name))]
        if have != value:
            raise CallError(f"the value is {have}, not {value}")
        return 0

    def _close(self, fd: Argument) -> int:
        self._get(fd).close()
        del self.open[_int(fd)]
        return 0

    def _keep(self, sock: socket.socket, number: int) -> int:
        """A new socket gets the number that the script expects for it."""
        sock.setblocking(False)
        if number < 0 or number in self.open:
            raise CallError(f"succeeded, so the script must give it a number that is free, not {number}")
        self.open[number] = self.latest = sock
        return number

    def carry_out(self, call: Call) -> None:
        """Make the call and compare what it returns."""
        if call.name not in self.calls:
            raise CallError(f"{call.name} is not known; calls are {', '.join(sorted(self.calls))}")
        try:
            value = self.calls[call.name](*call.args)
        except TypeError as error:
            raise CallError(f"wrong arguments: {error}") from None
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, str(error.errno))
            if name != call.errno:
                raise CallError(f"failed with {name} ({error.strerror}), not {call.errno or call.result}") from None
            return
        result = self._keep(value, call.result) if isinstance(value, socket.socket) else value
        if call.errno or result != call.result:
            raise CallError(f"returned {result}, not {call.errno or call.result}")

    def close(self) -> None:
        """All of them."""
        for sock in self.open.values():
            sock.close()
