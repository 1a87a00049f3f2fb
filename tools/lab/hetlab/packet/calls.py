# SPDX-License-Identifier: GPL-2.0
"""System calls of a script on the socket under test; all sockets are non-blocking."""

import errno
import fcntl
import os
import select
import socket
import struct
from collections.abc import Callable

from hetlab.packet import messages
from hetlab.packet.messages import CallError
from hetlab.packet.messages import whole_number as _int
from hetlab.packet.model import Argument, Call
from hetlab.packet.wire import LOCAL, REMOTE

SERVICE_PORT = 8080
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 19, 20, 21
SEND_QUEUE = 2


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
        self.polls: dict[int, select.epoll] = {}
        self.nonblocking: set[int] = set()
        self.connecting: set[int] = set()
        self.blocks = False
        self.latest: socket.socket | None = None
        self.calls: dict[str, Callable[..., int | socket.socket | select.epoll]] = {
            "socket": self._socket,
            "bind": lambda fd, *_: _done(self._get(fd).bind, (LOCAL[version], SERVICE_PORT)),
            "listen": lambda fd, backlog: _done(self._get(fd).listen, _int(backlog)),
            "accept": lambda fd, *_: self._get(fd).accept()[0],
            "connect": self._connect,
            "fcntl": self._fcntl,
            "setsockopt": self._setsockopt,
            "getsockopt": self._getsockopt,
            "write": lambda fd, _, size: self._get(fd).send(bytes(_int(size))),
            "send": lambda fd, _, size, flags: self._get(fd).send(bytes(_int(size)), _int(flags)),
            "sendto": self._sendto,
            "sendmsg": lambda fd, message, flags: messages.send_message(self._get(fd), message, flags),
            "recvmsg": lambda fd, message, flags: messages.receive_message(self._get(fd), message, flags),
            "epoll_create": lambda _: select.epoll(),
            "epoll_ctl": self._epoll_ctl,
            "epoll_wait": lambda fd, event, most, ms: messages.wait_epoll(self._poll(fd), event, most, ms),
            "read": lambda fd, _, size: len(self._get(fd).recv(_int(size))),
            "recv": lambda fd, _, size, flags: len(self._get(fd).recv(_int(size), _int(flags))),
            "shutdown": lambda fd, how: _done(self._get(fd).shutdown, _int(how)),
            "close": self._close,
        }

    def _get(self, fd: Argument) -> socket.socket:
        if fd not in self.open:
            raise CallError(f"descriptor {fd} is not open; open are {sorted(self.open)}")
        number = _int(fd)
        if number in self.connecting:
            self.connecting.remove(number)
            self._check_connected(self.open[number])
        return self.open[number]

    @staticmethod
    def _check_connected(sock: socket.socket) -> None:
        """A call that blocks is over when the next one comes."""
        try:
            sock.getpeername()
        except OSError:
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            raise CallError(f"the connect() before has not succeeded: {os.strerror(code)}") from None

    def _poll(self, fd: Argument) -> select.epoll:
        if fd not in self.polls:
            raise CallError(f"descriptor {fd} is no open epoll; those are {sorted(self.polls)}")
        return self.polls[_int(fd)]

    def _epoll_ctl(self, fd: Argument, operation: Argument, of: Argument, event: Argument) -> int:
        return _done(messages.control_epoll, self._poll(fd), operation, self._get(of).fileno(), event)

    def _fcntl(self, fd: Argument, command: Argument, flags: Argument = 0) -> int:
        """Flags as the script knows them: our sockets never block."""
        self._get(fd)
        if command == fcntl.F_GETFL:
            return os.O_RDWR | (os.O_NONBLOCK if fd in self.nonblocking else 0)
        if _int(flags) & os.O_NONBLOCK:
            self.nonblocking.add(_int(fd))
        return 0

    def _sendto(self, fd: Argument, _: Argument, size: Argument, flags: Argument, *_to: Argument) -> int:
        return self._get(fd).sendto(bytes(_int(size)), _int(flags), (REMOTE[self.version], SERVICE_PORT))

    def _socket(self, _domain: Argument, _kind: Argument, _protocol: Argument) -> socket.socket:
        return socket.socket(FAMILY[self.version], socket.SOCK_STREAM)

    def _connect(self, fd: Argument, *_: Argument) -> int:
        sock = self._get(fd)
        if self.isn is not None:
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR, 1)
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
            sock.setsockopt(socket.SOL_TCP, TCP_QUEUE_SEQ, struct.pack("I", self.isn))
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR, 0)
        try:
            sock.connect((REMOTE[self.version], SERVICE_PORT))
        except BlockingIOError:
            if not self.blocks:
                raise
            self.connecting.add(_int(fd))
        return 0

    def _setsockopt(self, fd: Argument, level: Argument, name: Argument, value: Argument, *_: Argument) -> int:
        given: int | bytes = value.encode() if isinstance(value, str) else b""
        if isinstance(value, list):
            given = struct.pack(f"{len(value)}i", *map(_int, value))
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

    def _keep(self, new: socket.socket | select.epoll, number: int) -> int:
        """A new socket or epoll gets the number that the script expects for it."""
        if number < 0 or number in self.open or number in self.polls:
            raise CallError(f"succeeded, so the script must give it a number that is free, not {number}")
        if isinstance(new, select.epoll):
            self.polls[number] = new
        else:
            new.setblocking(False)
            self.open[number] = self.latest = new
        return number

    def carry_out(self, call: Call) -> None:
        """Make the call and compare what it returns."""
        if call.name not in self.calls:
            raise CallError(f"{call.name} is not known; calls are {', '.join(sorted(self.calls))}")
        self.blocks = call.blocks
        try:
            value = self.calls[call.name](*call.args)
        except TypeError as error:
            raise CallError(f"wrong arguments: {error}") from None
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, str(error.errno))
            if name != call.errno:
                raise CallError(f"failed with {name} ({error.strerror}), not {call.errno or call.result}") from None
            return
        result = value if isinstance(value, int) else self._keep(value, call.result)
        if call.errno or result != call.result:
            raise CallError(f"returned {result}, not {call.errno or call.result}")

    def close(self) -> None:
        """All of them."""
        for sock in self.open.values():
            sock.close()
