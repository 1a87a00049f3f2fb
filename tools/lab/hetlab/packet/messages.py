# SPDX-License-Identifier: GPL-2.0
"""sendmsg, recvmsg and epoll of scripts: structures as packetdrill writes them."""

import select
import socket
import struct
from collections.abc import Mapping

from hetlab.packet.expr import Number
from hetlab.packet.model import Argument

SPACE_FOR_CONTROL = 512
# <linux/socket.h>, <linux/tcp.h>, <linux/errqueue.h>, <linux/eventpoll.h>: what Python 3.11 has no names for
CONSTANTS: dict[str, Number] = {name: getattr(select, name) for name in dir(select) if name.startswith("EPOLL")} | {
    "IP_MTU_DISCOVER": 10,
    "IP_PMTUDISC_DONT": 0,
    "IP_FREEBIND": 15,
    "TCP_FASTOPEN_CONNECT": 30,
    "TCP_FASTOPEN_KEY": 33,
    "SIOCINQ": 0x541B,
    "MSG_ZEROCOPY": 0x4000000,
    "SO_ZEROCOPY": 60,
    "TCP_INQ": 36,
    "TCP_CM_INQ": 36,
    "SO_EE_ORIGIN_ZEROCOPY": 5,
    "SO_EE_CODE_ZEROCOPY_COPIED": 1,
    "EPOLL_CTL_ADD": 1,
    "EPOLL_CTL_DEL": 2,
    "EPOLL_CTL_MOD": 3,
}
# What ksft_runner.sh defines for packetdrill: where errors are told, IP_RECVERR and IPV6_RECVERR
ERRORS = {
    4: {"CMSG_LEVEL_IP": socket.SOL_IP, "CMSG_TYPE_RECVERR": 11},
    6: {"CMSG_LEVEL_IP": socket.IPPROTO_IPV6, "CMSG_TYPE_RECVERR": 25},
}
# struct sock_extended_err
EXTENDED = ("ee_errno", "ee_origin", "ee_type", "ee_code", "ee_info", "ee_data")
EXTENDED_LAYOUT = "=IBBBxII"


class CallError(Exception):
    """A call did not do what the script says."""


def whole_number(value: Argument) -> int:
    """A whole number; CallError for anything else."""
    if not isinstance(value, int):
        raise CallError(f"{value!r} where a whole number is expected")
    return value


def structure(value: Argument) -> Mapping[str, Argument]:
    """A structure ``{...}``; CallError for anything else."""
    if not isinstance(value, dict):
        raise CallError(f"{value!r} where a structure {{...}} is expected")
    return value


def _elements(value: Argument) -> list[Argument]:
    if not isinstance(value, list):
        raise CallError(f"{value!r} where a list [...] is expected")
    return value


def _lengths(message: Mapping[str, Argument]) -> list[int]:
    """Sizes of a message's buffers, each written ``{..., SIZE}``."""
    return [whole_number(structure(buffer).get("1")) for buffer in _elements(message.get("msg_iov"))]


def send_message(sock: socket.socket, message: Argument, flags: Argument) -> int:
    """Zeros, each buffer in memory of its own."""
    buffers = [bytearray(size) for size in _lengths(structure(message))]
    return sock.sendmsg(buffers, [], whole_number(flags))


def _decoded(level: int, kind: int, data: bytes, like: Argument) -> Argument:
    """Control data in the form in which the script writes it."""
    if isinstance(like, dict) and len(data) >= struct.calcsize(EXTENDED_LAYOUT):
        found: Argument = dict(zip(EXTENDED, struct.unpack_from(EXTENDED_LAYOUT, data), strict=True))
    else:
        found = int.from_bytes(data[:4], "little")
    return {"cmsg_level": level, "cmsg_type": kind, "cmsg_data": found}


def receive_message(sock: socket.socket, message: Argument, flags: Argument) -> int:
    """Bytes received; CallError unless flags and control messages are what the script says."""
    want = structure(message)
    size = sum(_lengths(want))
    data, control, got_flags, _ = sock.recvmsg(size, SPACE_FOR_CONTROL, whole_number(flags))
    expected = _elements(want.get("msg_control", []))
    likes = [structure(entry).get("cmsg_data") for entry in expected] + [None] * len(control)
    have: Argument = [_decoded(*entry, like) for entry, like in zip(control, likes, strict=False)]
    if have != expected:
        raise CallError(f"the control messages are {have}, not {expected}")
    if got_flags != want.get("msg_flags", got_flags):
        raise CallError(f"msg_flags is {got_flags:#x}, not {want['msg_flags']}")
    return len(data)


def control_epoll(poll: select.epoll, operation: Argument, fd: int, event: Argument) -> None:
    """Add, change or remove a descriptor."""
    name = {1: "register", 2: "unregister", 3: "modify"}.get(whole_number(operation))
    if name is None:
        raise CallError(f"epoll_ctl: {operation} is no operation")
    events = () if name == "unregister" else (whole_number(structure(event).get("events")),)
    getattr(poll, name)(fd, *events)


def wait_epoll(poll: select.epoll, event: Argument, most: Argument, timeout_ms: Argument) -> int:
    """How many descriptors have events; CallError unless the first one's are what the script says."""
    ready = poll.poll(whole_number(timeout_ms) / 1000, whole_number(most))
    wanted = structure(event).get("events")
    if ready and ready[0][1] != wanted:
        raise CallError(f"the events are {ready[0][1]:#x}, not {wanted}")
    return len(ready)
