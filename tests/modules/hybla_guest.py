# SPDX-License-Identifier: GPL-2.0
"""Guest side of test_hybla.py: one connection of 300 ms over lo; a line of JSON at each point of interest."""

import contextlib
import ctypes
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

PORT = 5001
MPTCP = 262  # also serves TCP
CC_INFO = 26  # TCP_CC_INFO
CWND, UNACKED, SSTHRESH = 80, 24, 76  # offsets in struct tcp_info
NETEM = "tc qdisc {} dev lo root netem delay 150ms limit 1000000 loss {}%"


def shell(command: str) -> None:
    """Run it, or fail."""
    subprocess.run(command, shell=True, check=True)


def serve() -> None:
    """Read and forget what comes on any connection."""

    def read(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # reset by a disconnect
            while connection.recv(1 << 16):
                pass

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    listener.bind(("127.0.0.1", PORT))
    listener.listen()
    while True:
        threading.Thread(target=read, args=listener.accept()[:1], daemon=True).start()


def tell(what: str, sock: socket.socket) -> None:
    """One line: name, window, threshold, segments out, what the module says; round trips in us."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    found: dict[str, Any] = {"what": what}
    for name, offset in (("cwnd", CWND), ("ssthresh", SSTHRESH), ("unacked", UNACKED)):
        found[name] = struct.unpack_from("I", info, offset)[0]
    vegas = struct.unpack("4I", sock.getsockopt(socket.IPPROTO_TCP, CC_INFO, 64)[:16])
    found |= dict(zip(("enabled", "count", "rtt_us", "minrtt_us"), vegas, strict=True))
    print(json.dumps(found), flush=True)


def send_for(sock: socket.socket, seconds: float) -> None:
    """As much as goes."""
    end = time.time() + seconds
    sock.settimeout(0.2)
    while time.time() < end:
        with contextlib.suppress(TimeoutError):
            sock.send(bytes(65536))


def idle(sock: socket.socket) -> None:
    """A minute of nothing, then a burst."""
    send_for(sock, 6)
    tell("before", sock)
    time.sleep(60)
    sock.send(bytes(65536))
    time.sleep(0.1)
    tell("after", sock)


def outage(sock: socket.socket) -> None:
    """All that is on the way is lost."""
    send_for(sock, 6)
    tell("before", sock)
    shell(NETEM.format("change", 100))
    send_for(sock, 1.6)
    shell(NETEM.format("change", 0))
    tell("after", sock)


def again(sock: socket.socket) -> None:
    """Disconnect and connect the same socket."""
    send_for(sock, 6)
    tell("before", sock)
    assert ctypes.CDLL(None).connect(sock.fileno(), (ctypes.c_char * 16)(), 16) == 0
    sock.settimeout(5)
    sock.connect(("127.0.0.1", PORT))
    send_for(sock, 1)
    tell("after", sock)


def options(sock: socket.socket) -> None:
    """Options in mid-connection, the name of the congestion control once more among them."""
    send_for(sock, 6)
    time.sleep(3)
    tell("before", sock)
    cc = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 8)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
    tell("after", sock)


def main() -> None:
    """Entry point: ``hybla_guest.py CASE[:CC]``."""
    case, _, cc = sys.argv[1].partition(":")
    shell("ip link set lo up mtu 1500; ethtool -K lo tso off gso off gro off")
    shell(NETEM.format("add", 0))
    threading.Thread(target=serve, daemon=True).start()
    time.sleep(0.1)
    cases = {"idle": idle, "outage": outage, "again": again, "options": options, "mptcp": options}
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP if case == "mptcp" else 0) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, (cc or "hybla_ext").encode())
        sock.connect(("127.0.0.1", PORT))
        cases[case](sock)


if __name__ == "__main__":
    main()
