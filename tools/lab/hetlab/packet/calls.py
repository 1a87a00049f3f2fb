# SPDX-License-Identifier: GPL-2.0
"""System calls of a script on the socket under test; all sockets are non-blocking."""

import ctypes
import errno
import fcntl
import io
import os
import select
import socket
import struct
from collections.abc import Callable

from hetlab.packet import messages
from hetlab.packet.blocking import Blocking
from hetlab.packet.messages import CallError
from hetlab.packet.messages import whole_number as _int
from hetlab.packet.model import Argument, Call
from hetlab.packet.wire import Ends

SERVICE_PORT = 8080
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 19, 20, 21
SEND_QUEUE = 2
SOCKADDR = 16
New = socket.socket | select.epoll | io.FileIO


def _done(method: Callable[..., None], *args: object) -> int:
    """Carry out what returns nothing: success is 0."""
    method(*args)
    return 0


def _disconnect(sock: socket.socket) -> int:
    """connect() to no address: there is none in Python."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(sock.fileno(), bytes(SOCKADDR), SOCKADDR):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return 0


class Sockets:
    """The sockets by the numbers that the script gives them."""

    def __init__(self, version: int, isn: int | None, ends: Ends) -> None:
        self.version = version
        self.isn = isn
        self.open: dict[int, socket.socket] = {}
        self.polls: dict[int, select.epoll] = {}
        self.files: dict[int, io.FileIO] = {}
        self.nonblocking: set[int] = set()
        self.ends = ends
        self.replaces = False  # whether a number may be given again; what had it stays open
        self.replaced: list[socket.socket] = []
        self.latest: socket.socket | None = None
        self.calls: dict[str, Callable[..., New | int]] = {
            "socket": self._socket,
            "bind": lambda fd, *_: _done(self._get(fd).bind, (ends.local, SERVICE_PORT)),
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
            "ioctl": self._ioctl,
            "open": lambda path, _: io.FileIO(str(path)),
            "sendfile": self._sendfile,
            "shutdown": lambda fd, how: _done(self._get(fd).shutdown, _int(how)),
            "close": self._close,
        }

    def _get(self, fd: Argument) -> socket.socket:
        if fd not in self.open:
            raise CallError(f"descriptor {fd} is not open; open are {sorted(self.open)}")
        return self.open[_int(fd)]

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
        return self._get(fd).sendto(bytes(_int(size)), _int(flags), (self.ends.remote, SERVICE_PORT))

    def _socket(self, _domain: Argument, _kind: Argument, _protocol: Argument) -> socket.socket:
        return socket.socket(FAMILY[self.version], socket.SOCK_STREAM)

    def _connect(self, fd: Argument, family: Argument, *_: Argument) -> int:
        sock = self._get(fd)
        if family == socket.AF_UNSPEC:
            return _disconnect(sock)
        if self.isn is not None:
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR, 1)
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
            sock.setsockopt(socket.SOL_TCP, TCP_QUEUE_SEQ, struct.pack("I", self.isn))
            sock.setsockopt(socket.SOL_TCP, TCP_REPAIR, 0)
        return _done(sock.connect, (self.ends.remote, SERVICE_PORT))

    def _setsockopt(self, fd: Argument, level: Argument, name: Argument, value: Argument, size: Argument) -> int:
        given: int | bytes = value.encode("latin-1").ljust(_int(size), b"\0") if isinstance(value, str) else b""
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

    def _sendfile(self, fd: Argument, of: Argument, offset: Argument, size: Argument) -> int:
        if of not in self.files:
            raise CallError(f"descriptor {of} is no open file; those are {sorted(self.files)}")
        (begin,) = offset if isinstance(offset, list) else [offset]
        return os.sendfile(self._get(fd).fileno(), self.files[_int(of)].fileno(), _int(begin), _int(size))

    def _ioctl(self, fd: Argument, request: Argument, value: Argument) -> int:
        """How many bytes wait to be read, and the like: a number in a list of one."""
        have = [struct.unpack("i", fcntl.ioctl(self._get(fd), _int(request), bytes(4)))[0]]
        if have != value:
            raise CallError(f"the value is {have}, not {value}")
        return 0

    def _close(self, fd: Argument) -> int:
        self._get(fd).close()
        del self.open[_int(fd)]
        return 0

    def _keep(self, new: New, number: int) -> int:
        """A new socket, epoll or file gets the number that the script expects for it."""
        taken = self.open.keys() | self.polls.keys() | self.files.keys()
        if number < 0 or (number in taken and not self.replaces):
            raise CallError(f"succeeded, so the script must give it a number that is free, not {number}")
        if isinstance(new, select.epoll):
            self.polls[number] = new
        elif isinstance(new, io.FileIO):
            self.files[number] = new
        else:
            new.setblocking(False)
            self.replaced += [self.open[number]] if number in self.open else []
            self.open[number] = self.latest = new
        return number

    def begin(self, call: Call) -> Blocking:
        """Make a call that blocks."""
        self._check_known(call)
        sock = self._get(call.args[0])

        def made() -> object:
            sock.setblocking(True)
            try:
                return self.calls[call.name](*call.args)
            finally:
                sock.setblocking(False)

        return Blocking(made)

    def carry_out(self, call: Call) -> None:
        """Make the call and compare what it returns."""
        self._check_known(call)
        self.compare(call, lambda: self.calls[call.name](*call.args))

    def _check_known(self, call: Call) -> None:
        if call.name not in self.calls:
            raise CallError(f"{call.name} is not known; calls are {', '.join(sorted(self.calls))}")

    def compare(self, call: Call, made: Callable[[], object]) -> None:
        """What a call returns, or the error that it ends with, against what the script says."""
        try:
            value = made()
        except TypeError as error:
            raise CallError(f"wrong arguments: {error}") from None
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, str(error.errno))
            if name != call.errno and not (call.result == -1 and call.errno is None):
                raise CallError(f"failed with {name} ({error.strerror}), not {call.errno or call.result}") from None
            return
        result = self._keep(value, call.result) if isinstance(value, New) else value
        if call.errno or result != call.result:
            raise CallError(f"returned {result}, not {call.errno or call.result}")

    def close(self) -> None:
        """All of them."""
        for sock in self.open.values():
            sock.close()
