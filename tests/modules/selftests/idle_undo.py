#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Applications that pause, and losses that were none.

A sender that writes 60 kB every 2 s must not grow a window it never uses, nor
forget what it learnt; reordering that looks like loss must be undone.
"""

import socket
import statistics
import struct
import subprocess
import threading
import time

import tap

OURS = ["santacruz", "westwood_fr", "westwood_gfr", "hybla_ext", "hybla_paper"]
UNACKED_OFFSET, CWND_OFFSET = 24, 80  # tcpi_unacked, tcpi_snd_cwnd in struct tcp_info
SO_MAX_PACING_RATE = 47
RATE_BYTES_S = 2_500_000
BURST_BYTES = 60_000
TRIALS = 15  # which packets overtake others is random: single transfers differ by a third


def netem(arguments: str) -> None:
    """Emulate a path on the loopback device, both ways; 'replace' would keep the rate of the last one."""
    subprocess.run("tc qdisc del dev lo root 2>/dev/null", shell=True, check=False)
    subprocess.run(f"tc qdisc add dev lo root netem {arguments}", shell=True, check=True)


def counter(name: str) -> int:
    """A TcpExt counter."""
    with open("/proc/net/netstat", encoding="ascii") as lines:
        names, values = next((a.split(), b.split()) for a, b in zip(lines, lines, strict=True) if "TcpExt" in a)
    return int(values[names.index(name)])


def drain(server: socket.socket) -> None:
    """Receive until the sender is done."""
    conn, _ = server.accept()
    while conn.recv(1 << 20):
        pass


def connection(cc: str) -> socket.socket:
    """A connection over the loopback device that somebody reads."""
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=drain, args=(server,), daemon=True).start()
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
    sock.connect(server.getsockname())
    return sock


def field(sock: socket.socket, offset: int) -> int:
    """A number of struct tcp_info."""
    return int(struct.unpack_from("I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), offset)[0])


def pauses(cc: str) -> None:
    """Short bursts, long pauses: 43 segments at a time."""
    netem("delay 20ms rate 10mbit limit 1000")
    sock = connection(cc)
    windows = []
    for _ in range(20):
        sock.sendall(bytes(BURST_BYTES))
        time.sleep(0.5)
        windows.append(field(sock, CWND_OFFSET))
        time.sleep(1.5)
    tap.ok(max(windows) <= 2 * BURST_BYTES // 1400 + 10, f"{cc}: window {max(windows)} is not grown by pauses")
    tap.ok(min(windows) >= 2, f"{cc}: window {min(windows)} survives pauses")
    sock.close()


def transfer(cc: str) -> float:
    """Seconds that 10 s of data take while 5 % of the packets overtake the others by 10 ms, half a round trip."""
    sock = connection(cc)
    sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, RATE_BYTES_S)
    begun = time.monotonic()
    sock.sendall(bytes(10 * RATE_BYTES_S))
    while field(sock, UNACKED_OFFSET):
        time.sleep(0.01)
    took = time.monotonic() - begun
    tap.ok(field(sock, CWND_OFFSET) >= 2, f"{cc}: window {field(sock, CWND_OFFSET)} after reordering")
    sock.close()
    return took


def reordering(cc: str) -> float:
    """Median time of some transfers."""
    netem("delay 10ms reorder 5% limit 2000")
    seen, undone = counter("TCPSACKReorder"), undone_so_far()
    took = statistics.median(transfer(cc) for _ in range(TRIALS))
    seen, undone = counter("TCPSACKReorder") - seen, undone_so_far() - undone
    tap.ok(seen > 0 and undone > 0, f"{cc}: reordering was seen {seen} times, a reduction undone {undone} times")
    return took


def undone_so_far() -> int:
    """Reductions of the window that the stack took back."""
    return sum(counter(name) for name in ("TCPFullUndo", "TCPDSACKUndo", "TCPPartialUndo"))


def main() -> None:
    """Every module of ours, both cases."""
    tap.begin()
    subprocess.run("ethtool -K lo tso off gso off gro off", shell=True, check=True)
    reno_s = reordering("reno")
    for cc in OURS:
        pauses(cc)
        took_s = reordering(cc)
        tap.ok(took_s <= 1.25 * reno_s, f"{cc}: 10 s of data took {took_s:.1f} s, reno {reno_s:.1f} s")
    tap.finish()


if __name__ == "__main__":
    main()
