#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Change the congestion control of a running connection, again and again.

Over a lossy path, both address families: the window stays sane, data keeps
flowing, a change to one of ours does not shrink the window.
"""

import itertools
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import tap

OURS = ["santacruz", "westwood_fr", "westwood_gfr", "hybla_ext", "hybla_paper"]
THEIRS = ["reno", "cubic", "bbr", "vegas"]
CWND_OFFSET = 80  # tcpi_snd_cwnd in struct tcp_info
ROUNDS = 60


def cwnd(sock: socket.socket) -> int:
    """Congestion window, segments."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("I", info, CWND_OFFSET)[0]


def drain(server: socket.socket, seen: list[int]) -> None:
    """Receive until the sender is done."""
    conn, _ = server.accept()
    while data := conn.recv(1 << 20):
        seen[0] += len(data)


def feed(sock: socket.socket, stop: threading.Event) -> None:
    """Send until told to stop."""
    block = bytes(1 << 16)
    while not stop.is_set():
        sock.sendall(block)


def change_around(family: int, address: str) -> None:
    """One connection through many changes."""
    seen = [0]
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    reader = threading.Thread(target=drain, args=(server, seen), daemon=True)
    reader.start()
    sock = socket.socket(family)
    sock.connect(server.getsockname()[:2])
    stop = threading.Event()
    writer = threading.Thread(target=feed, args=(sock, stop), daemon=True)
    writer.start()
    theirs = [cc for cc in THEIRS if tap.usable(cc)]
    order = [cc for pair in itertools.product(OURS, theirs + OURS) for cc in pair]
    bad, shrunk = [], []
    for cc in itertools.islice(itertools.cycle(order), ROUNDS):
        before = cwnd(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        after = cwnd(sock)
        if cc in OURS and after < before:
            shrunk.append((cc, before, after))
        time.sleep(0.3)
        if not 1 <= cwnd(sock) < 100_000:
            bad.append((cc, cwnd(sock)))
    total = seen[0]
    stop.set()
    sock.close()
    tap.ok(not bad, f"{address}: the window stays sane over {ROUNDS} changes {bad or ''}")
    tap.ok(not shrunk, f"{address}: a change to ours keeps the window {shrunk[:3] or ''}")
    tap.ok(total > 1_000_000, f"{address}: data flows ({total} bytes)")


def main() -> None:
    """A lossy loopback path, then both families."""
    tap.begin()
    subprocess.run("tc qdisc replace dev lo root netem delay 10ms loss 0.5% limit 2000", shell=True, check=True)
    for cc in THEIRS:
        if not tap.usable(cc):
            tap.skip(f"changes to and from {cc}", f"no {cc}")
    change_around(socket.AF_INET, "127.0.0.1")
    if Path("/proc/sys/net/ipv6").is_dir():
        change_around(socket.AF_INET6, "::1")
    else:
        tap.skip("changes over ::1", "no IPv6")
    tap.finish()


if __name__ == "__main__":
    main()
