# SPDX-License-Identifier: GPL-2.0
"""What scripts may ask about the kernel: struct tcp_info and the counters nstat shows."""

import re
import socket
import struct
from pathlib import Path

BYTES = "state ca_state retransmits probes backoff options"
WORDS = (
    "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv "
    "last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans"
)
# The rest of the structure in its order: name and struct code
REST = (
    "pacing_rate:Q max_pacing_rate:Q bytes_acked:Q bytes_received:Q segs_out:I segs_in:I notsent_bytes:I min_rtt:I "
    "data_segs_in:I data_segs_out:I delivery_rate:Q busy_time:Q rwnd_limited:Q sndbuf_limited:Q delivered:I "
    "delivered_ce:I bytes_sent:Q bytes_retrans:Q dsack_dups:I reord_seen:I rcv_ooopack:I snd_wnd:I rcv_wnd:I rehash:I "
    "total_rto:H total_rto_recoveries:H total_rto_time:I received_ce:I delivered_e1_bytes:I delivered_e0_bytes:I "
    "delivered_ce_bytes:I received_e1_bytes:I received_e0_bytes:I received_ce_bytes:I"
)
FIELDS = (
    [(f"tcpi_{name}", "B") for name in BYTES.split()]
    + [("wscales", "B"), ("flags", "B")]
    + [(f"tcpi_{name}", "I") for name in WORDS.split()]
    + [(f"tcpi_{name}", code) for name, _, code in (item.partition(":") for item in REST.split())]
)
LAYOUT = "=" + "".join(code for _, code in FIELDS)
LARGEST = 512
COUNTERS = ("netstat", "snmp", "snmp6")
STATES = (
    "ESTABLISHED SYN_SENT SYN_RECV FIN_WAIT1 FIN_WAIT2 TIME_WAIT CLOSE CLOSE_WAIT LAST_ACK LISTEN CLOSING"  # from 1
)
CA_STATES = "Open Disorder CWR Recovery Loss"  # from 0
NAMES = {f"TCP_{name}": number for number, name in enumerate(STATES.split(), 1)} | {
    f"TCP_CA_{name}": number for number, name in enumerate(CA_STATES.split())
}


OPTIONS = "TIMESTAMPS SACK WSCALE ECN ECN_SEEN SYN_DATA USEC_TS TFO_CHILD"  # tcpi_options, from bit 0
NAMES |= {f"TCPI_OPT_{name}": 1 << bit for bit, name in enumerate(OPTIONS.split())}


def tcp_info(sock: socket.socket) -> dict[str, int]:
    """All fields by the kernel's names; bit fields apart."""
    data = sock.getsockopt(socket.SOL_TCP, socket.TCP_INFO, LARGEST)
    size = struct.calcsize(LAYOUT)
    values = struct.unpack(LAYOUT, data[:size].ljust(size, b"\0"))
    info = dict(zip((name for name, _ in FIELDS), values, strict=True))
    scales, flags = info.pop("wscales"), info.pop("flags")
    info |= {"tcpi_snd_wscale": scales & 15, "tcpi_rcv_wscale": scales >> 4}
    return info | {"tcpi_delivery_rate_app_limited": flags & 1, "tcpi_fastopen_client_fail": flags >> 1 & 3}


MEMINFO = "RMEM_ALLOC RCVBUF WMEM_ALLOC SNDBUF FWD_ALLOC WMEM_QUEUED OPTMEM BACKLOG DROPS"
SO_MEMINFO = 55


def memory(sock: socket.socket) -> dict[str, int]:
    """What a socket may take and has taken of memory, by the names of the kernel's <linux/sock_diag.h>."""
    names = [f"SK_MEMINFO_{name}" for name in MEMINFO.split()]
    data = sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4 * len(names))
    return dict(zip(names, struct.unpack(f"{len(names)}I", data), strict=True))


def _pairs(text: str) -> dict[str, int]:
    """``/proc/net/netstat`` and ``snmp``: a line of names, a line of values; ``snmp6``: a pair per line."""
    found: dict[str, int] = {}
    for prefix, names, values in re.findall(r"^(\w+): (\D.*)\n\1: (.*)$", text, re.M):
        for name, value in zip(names.split(), values.split(), strict=True):
            found[prefix + name] = int(value)
    for name, value in re.findall(r"^(\w+)\s+(\d+)$", text, re.M):
        found[name] = int(value)
    return found


def counters() -> dict[str, int]:
    """Counters of this namespace by the names nstat gives them."""
    total: dict[str, int] = {}
    for name in COUNTERS:
        total |= _pairs(Path("/proc/net", name).read_text())
    return total


class Mib:
    """Counters as differences since the beginning; an unknown name is an error."""

    def __init__(self) -> None:
        self.begin = counters()

    def __getitem__(self, name: str) -> int:
        now = counters()
        if name not in now and name not in self.begin:
            raise KeyError(f"{name} is no counter of this kernel")
        return now[name] - self.begin[name]
