# SPDX-License-Identifier: GPL-2.0
"""TCP connections that use one of the congestion controls, as inet_diag and the modules describe them."""

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import HetccError
from .modules import OURS
from .netlink import NETLINK_SOCK_DIAG, Netlink, unpack_attrs

SOCK_DIAG_BY_FAMILY = 20
DIAG_INFO, DIAG_VEGAS, DIAG_CONG, DIAG_BBR = 2, 3, 4, 16
# Gains of struct tcp_bbr_info
Q8 = 256
STATES = (
    "?",
    "established",
    "syn-sent",
    "syn-recv",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "closed",
    "close-wait",
    "last-ack",
    "listening",
    "closing",
    "new-syn-recv",
    "bound",
)
# Those that hold no congestion control, or are not sockets of their own yet
NO_CC = (3, 6, 12)
# From these values on the kernel means: none
NO_SSTHRESH, NO_MIN_RTT, NO_PACING = 1 << 30, 0xFFFFFFFF, 1 << 62
MBIT_PER_BYTE = 8e-6


def _fields(kind: type, names: str) -> Iterator[tuple[str, type]]:
    return ((f"tcpi_{name}", kind) for name in names.split())


class TcpInfo(ctypes.Structure):
    """struct tcp_info of linux/tcp.h with the kernel's names, as far as its last field that is shown.

    Windows and counts are in packets, times in us, rates in bytes per second.
    """

    _fields_ = (
        *_fields(ctypes.c_uint8, "state ca_state retransmits probes backoff options"),
        ("tcpi_snd_wscale", ctypes.c_uint8, 4),
        ("tcpi_rcv_wscale", ctypes.c_uint8, 4),
        ("tcpi_delivery_rate_app_limited", ctypes.c_uint8, 1),
        ("tcpi_fastopen_client_fail", ctypes.c_uint8, 2),
        *_fields(ctypes.c_uint32, "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets"),
        *_fields(ctypes.c_uint32, "last_data_sent last_ack_sent last_data_recv last_ack_recv"),
        *_fields(ctypes.c_uint32, "pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering"),
        *_fields(ctypes.c_uint32, "rcv_rtt rcv_space total_retrans"),
        *_fields(ctypes.c_uint64, "pacing_rate max_pacing_rate bytes_acked bytes_received"),
        *_fields(ctypes.c_uint32, "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
        *_fields(ctypes.c_uint64, "delivery_rate"),
    )


def santacruz_state(info: TcpInfo, bbr: bytes) -> dict[str, Any]:
    """Mode, rate of the bottleneck, and what of the round trip is queue: struct tcp_bbr_info of linux/inet_diag.h."""
    bw_low, bw_high, minrtt_us, _, cwnd_gain = struct.unpack_from("=5I", bbr)
    bw = bw_high << 32 | bw_low
    queue_bytes = bw * max(info.tcpi_rtt - minrtt_us, 0) * 1e-6
    return {
        "mode": "competing" if bw and not cwnd_gain else "delay",
        "bottleneck_mbit": round(bw * MBIT_PER_BYTE, 3) if bw else None,
        "queue_pkts": round(queue_bytes / info.tcpi_snd_mss, 1) if bw and minrtt_us and info.tcpi_snd_mss else None,
        "cwnd_gain": round(cwnd_gain / Q8, 2) if cwnd_gain else None,
    }


def westwood_state(enabled: int, count: int) -> dict[str, Any]:
    """Bandwidth estimate, if there is one yet."""
    return {"bandwidth_mbit": round(count * MBIT_PER_BYTE, 3) if enabled else None}


def hybla_state(enabled: int, count: int) -> dict[str, Any]:
    """How many times longer the round trip is than rtt0; 1 where it is not."""
    return {"rho": count / 100 if enabled else 1.0}


LIVE = {
    "westwood_fr": westwood_state,
    "westwood_gfr": westwood_state,
    "hybla_ext": hybla_state,
    "hybla_paper": hybla_state,
}


@dataclass
class Connection:
    """A TCP socket that uses one of our congestion controls."""

    cc: str
    state: str
    local: str
    remote: str
    inode: int
    live: dict[str, Any]
    users: list[str] = field(default_factory=list)

    def ends(self) -> str:
        """Addresses and processes for the reader."""
        far = "" if self.state in {"listening", "bound", "closed"} else f" > {self.remote}"
        who = ", ".join(self.users) or ("no process" if self.inode else "closed by its process")
        return f"{self.local}{far} ({self.state}, {who})"


def endpoint(family: int, address: bytes, port: int) -> str:
    """Address and port."""
    if family == socket.AF_INET:
        return f"{socket.inet_ntop(family, address[:4])}:{port}"
    return f"[{socket.inet_ntop(family, address)}]:{port}"


def tcp_info(data: bytes) -> TcpInfo:
    """What the kernel sent; fields that an older kernel does not have are 0."""
    size = ctypes.sizeof(TcpInfo)
    return TcpInfo.from_buffer_copy(data[:size].ljust(size, b"\0"))


def live_state(cc: str, info: TcpInfo, vegas: bytes, bbr: bytes) -> dict[str, Any]:
    """What the stack and the module report of a connection."""
    said: dict[str, Any] = {
        "cwnd_pkts": info.tcpi_snd_cwnd,
        "ssthresh_pkts": info.tcpi_snd_ssthresh if info.tcpi_snd_ssthresh < NO_SSTHRESH else None,
        "rtt_us": info.tcpi_rtt,
        "minrtt_us": info.tcpi_min_rtt if info.tcpi_min_rtt != NO_MIN_RTT else None,
        "delivery_mbit": round(info.tcpi_delivery_rate * MBIT_PER_BYTE, 3),
        "pacing_mbit": round(info.tcpi_pacing_rate * MBIT_PER_BYTE, 3) if info.tcpi_pacing_rate < NO_PACING else None,
        "unacked_pkts": info.tcpi_unacked,
        "retransmitted_pkts": info.tcpi_total_retrans,
    }
    if cc == "santacruz" and len(bbr) >= 20:
        said |= santacruz_state(info, bbr)
    if cc in LIVE and len(vegas) >= 16:
        enabled, count, _, minrtt_us = struct.unpack_from("=4I", vegas)
        said |= LIVE[cc](enabled, count)
        if 0 < minrtt_us < 0x7FFFFFFF:
            said["minrtt_us"] = minrtt_us
    return said


def parse_connection(body: bytes) -> Connection | None:
    """One answer of inet_diag; None if it is not about us."""
    family, state = body[0], body[1]
    attrs = dict(unpack_attrs(body[72:]))
    cc = attrs.get(DIAG_CONG, b"").rstrip(b"\0").decode()
    if cc not in OURS:
        return None
    sport, dport = struct.unpack_from("!HH", body, 4)
    (inode,) = struct.unpack_from("=I", body, 68)
    connected = STATES[state] not in {"listening", "bound", "closed"}
    info, vegas, bbr = (attrs.get(attr, b"") for attr in (DIAG_INFO, DIAG_VEGAS, DIAG_BBR))
    live = live_state(cc, tcp_info(info), vegas, bbr) if connected else {}
    local, remote = endpoint(family, body[8:24], sport), endpoint(family, body[24:40], dport)
    return Connection(cc, STATES[state], local, remote, inode, live)


def connections() -> list[Connection]:
    """Ours in this namespace."""
    states = 0x3FFF & ~sum(1 << s for s in NO_CC)
    # Eight bits have no room for DIAG_BBR: who asks for Vegas's gets it
    wanted = sum(1 << (a - 1) for a in (DIAG_INFO, DIAG_VEGAS, DIAG_CONG))
    found = []
    with Netlink(NETLINK_SOCK_DIAG) as diag:
        for family in (socket.AF_INET, socket.AF_INET6):
            request = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, wanted, 0, states)
            try:
                found += [c for body in diag.dump(SOCK_DIAG_BY_FAMILY, request) if (c := parse_connection(body))]
            except FileNotFoundError as error:
                raise HetccError("this kernel has no tcp_diag (CONFIG_INET_TCP_DIAG), which ss needs too") from error
    return found


def name_users(found: list[Connection]) -> None:
    """Find the processes that have the sockets open; those of others only root sees."""
    by_inode = {f"socket:[{c.inode}]": c for c in found if c.inode}
    if not by_inode:
        return
    for process in Path("/proc").glob("[0-9]*"):
        try:
            targets = {os.readlink(fd) for fd in (process / "fd").iterdir()}
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        for target in targets & by_inode.keys():
            by_inode[target].users.append(f"{name}[{process.name}]")
