#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Guest side of cpu_cost.py: flows one after the other, marks for count_insns.c around each.

usage: cpu_cost_guest.py PLAN
  PLAN   JSON: the path and how much a flow sends, the congestion controls in turn
Leaves flows.json and kallsyms (address name [module]) in /out.
"""

import ctypes
import gzip
import json
import mmap
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MARK_FUNCTION, MARK_END, MARK_PHASE = 0x68636300, 0x68636301, 0x68636302
FUNCTION = "tcp_ack"
# What cpu_cost.py knows the count of: phase 1
CHECK_LOOPS, CHECK_BYTES = 5_000_000, 1 << 20
OUT = Path("/out")
SENDER, ROUTER, RECEIVER = "a", "r", "b"
# The kernel checks keys and fills caches for some seconds after it has started
SETTLE_S = 20
PAUSE_S = 2
# A flow at a bottleneck is measured from here on, without its slow start
BEGIN_S = 3
SYSCTLS = (
    "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv4.ip_forward=1",
    "net.ipv4.tcp_rmem=4096 1048576 16777216",
    "net.ipv4.tcp_wmem=4096 1048576 16777216",
)


class Code:
    """A page of machine code."""

    def __init__(self) -> None:
        access = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self.page = mmap.mmap(-1, mmap.PAGESIZE + CHECK_BYTES, prot=access)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.call = ctypes.CFUNCTYPE(None)(self.address)

    def run(self, *instructions: bytes) -> None:
        """Execute instructions, and return."""
        code = b"".join(instructions) + b"\xc3"
        self.page[: len(code)] = code
        self.call()

    def mark(self, operation: int, value: int) -> None:
        """Two instructions that do nothing."""
        self.run(*(b"\x0f\x1f\x80" + struct.pack("<I", n & 0xFFFFFFFF) for n in (operation, value)))

    def check(self) -> None:
        """Two instructions CHECK_LOOPS times; one that is repeated CHECK_BYTES times."""
        loop = b"\xb9" + struct.pack("<I", CHECK_LOOPS) + b"\xff\xc9\x75\xfc"
        target = b"\x48\xbf" + struct.pack("<Q", self.address + mmap.PAGESIZE)
        self.run(loop, target, b"\xb9" + struct.pack("<I", CHECK_BYTES), b"\xf3\xaa")


def run(*args: str) -> str:
    """Output of a command that must succeed."""
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def inside(host: str, *args: str) -> str:
    """The same in a host's namespace."""
    return run("ip", "netns", "exec", host, *args)


def make_host(name: str) -> None:
    """A network namespace."""
    run("ip", "netns", "add", name)
    run("ip", "-n", name, "link", "set", "lo", "up")
    inside(name, "sysctl", "-qw", *SYSCTLS)


def connect(one: str, other: str, net: str, offload: bool) -> None:
    """A veth pair; NET.1 is ``one``, NET.2 ``other``."""
    run("ip", "link", "add", f"to_{other}", "netns", one, "type", "veth", "peer", f"to_{one}", "netns", other)
    for host, device, address in ((one, f"to_{other}", f"{net}.1/24"), (other, f"to_{one}", f"{net}.2/24")):
        run("ip", "-n", host, "address", "add", address, "dev", device)
        run("ip", "-n", host, "link", "set", device, "up")
        if not offload:
            inside(host, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off")


def make_path(path: dict[str, Any]) -> str:
    """Sender and receiver, with a bottleneck between them unless the path is plain; the receiver's address."""
    make_host(SENDER)
    make_host(RECEIVER)
    if path["mbit"] == 0:
        connect(SENDER, RECEIVER, "192.0.2", path["tso"])
        return "192.0.2.2"
    make_host(ROUTER)
    connect(SENDER, ROUTER, "192.0.2", path["tso"])
    connect(ROUTER, RECEIVER, "198.51.100", path["tso"])
    run("ip", "-n", SENDER, "route", "add", "default", "via", "192.0.2.2")
    run("ip", "-n", RECEIVER, "route", "add", "default", "via", "198.51.100.1")
    netem = ("root", "netem", "limit")
    delay = ("delay", f"{path['rtt_ms'] / 2}ms")
    run("tc", "-n", ROUTER, "qdisc", "add", "dev", f"to_{RECEIVER}", *netem, f"{path['queue_pkts'] + 1}",
        "rate", f"{path['mbit']}mbit")  # fmt: skip
    if path["lost_every"]:
        lose = ("matchall", "action", "ok", "random", "determ", "drop", f"{path['lost_every']}")
        run("tc", "-n", ROUTER, "qdisc", "add", "dev", f"to_{RECEIVER}", "clsact")
        run("tc", "-n", ROUTER, "filter", "add", "dev", f"to_{RECEIVER}", "egress", *lose)
    run("tc", "-n", ROUTER, "qdisc", "add", "dev", f"to_{SENDER}", *netem, "100000", *delay)
    run("tc", "-n", RECEIVER, "qdisc", "add", "dev", f"to_{ROUTER}", *netem, "100000", *delay)
    return "198.51.100.2"


def counters() -> dict[str, int]:
    """TCP counters of the sender's host."""
    lines = [line.split() for line in inside(SENDER, "cat", "/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
    return {name: int(value) for name, value in zip(lines[0][1:], lines[1][1:], strict=True)}


def kernel_functions() -> list[tuple[int, str]]:
    """Address, name and module of all functions."""
    found = []
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwW":
            found.append((int(address, 16), name.replace("\t", " ")))
    return sorted(found)


def send(number: int, flow: dict[str, Any], address: str, path: dict[str, Any], code: Code) -> dict[str, Any]:
    """One flow, or some seconds of it once it has found its window, between two marks."""
    port, records = 5000 + number, Path("/tmp/flow.json")
    amount = f"duration={BEGIN_S + path['seconds'] + 1}" if path["seconds"] else f"bytes={path['mbytes'] * 10**6}"
    pace = f",pace_mbit={flow['pace_mbit']}" if flow["pace_mbit"] else ""
    receiver = f"role=recv,id=1,port={port},netns=/run/netns/{RECEIVER}"
    sender = f"role=send,id=2,port={port},addr={address},netns=/run/netns/{SENDER},cc={flow['cc']},{amount}{pace}"
    with subprocess.Popen(["flowgen", "--out", str(records), "--sample-ms", "0", receiver, sender]) as flowgen:
        if path["seconds"]:
            time.sleep(BEGIN_S)
        before = counters()
        code.mark(MARK_PHASE, 2 * number)
        if path["seconds"]:
            time.sleep(path["seconds"])
        else:
            flowgen.wait()
        code.mark(MARK_PHASE, 2 * number + 1)
        after = counters()
    if flowgen.returncode:
        raise SystemExit(f"flowgen failed: {sender}")
    end = next(r for r in map(json.loads, records.read_text().splitlines()) if r["type"] == "end" and r["id"] == 2)
    return {
        "phase": 2 * number + 1,
        "mbit": 8e-6 * end["bytes_acked"] / end["t"],
        "acks": after["InSegs"] - before["InSegs"],
        "segments": after["OutSegs"] - before["OutSegs"],
        "retransmits": after["RetransSegs"] - before["RetransSegs"],
    }


def main() -> None:
    """All flows of the plan."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    code = Code()
    functions = kernel_functions()
    start = next(at for at, name in functions if name == FUNCTION)
    code.mark(MARK_FUNCTION, start)
    code.mark(MARK_END, next(at for at, _ in functions if at > start))
    code.mark(MARK_PHASE, 0)
    code.check()
    code.mark(MARK_PHASE, 1)
    time.sleep(SETTLE_S)
    address = make_path(plan["path"])
    flows = []
    for number, flow in enumerate(plan["flows"], 1):
        if flow["parameter"]:
            name, value = flow["parameter"]
            parameter = Path("/sys/module") / name
            old = parameter.read_text()
            parameter.write_text(value)
        flows.append(send(number, flow, address, plan["path"], code))
        print("flow done", flow["cc"], flush=True)
        if flow["parameter"]:
            parameter.write_text(old)
        time.sleep(PAUSE_S)
    (OUT / "flows.json").write_text(json.dumps(flows))
    with gzip.open(OUT / "kallsyms.gz", "wt") as f:
        f.writelines(f"{at:x} {name}\n" for at, name in kernel_functions())


if __name__ == "__main__":
    main()
