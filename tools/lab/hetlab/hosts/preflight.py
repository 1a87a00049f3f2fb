# SPDX-License-Identifier: GPL-2.0
"""Facts about two real hosts before and after their flows: table, warnings, result."""

import functools
import math
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

from rich.table import Table

from hetlab.build.kernel import module_sources
from hetlab.model.congestion import module_of, ours
from hetlab.paths import BUILD, TOP

MODULES = sorted(set(ours().values()))
REAL_CLOCKS_S = 0.1
SHOWN_OFFLOADS = {"tx-tcp-segmentation": "tso", "tx-generic-segmentation": "gso", "rx-gro": "gro", "rx-lro": "lro"}


def missing(host: Any, cc: str, have: str) -> str:
    """Message about a congestion control that is not available, and what to do."""
    text = f"{host}: congestion control {cc!r} is not in its kernel {host.facts['release']}, which has: {have}."
    if cc in ours():
        return f"{text} Install it there: make && make modules_install && depmod -a, or by DKMS"
    return f"{text} Its module {module_of(cc)} is not installed there"


def tree_srcversions() -> dict[str, str]:
    """srcversion of our modules as this tree has them; empty as long as hetlab has built none of them."""
    sources = [path for path in module_sources() if path.suffix in (".c", ".h")]  # what srcversion is made from
    for directory in sorted((BUILD / "modules").glob("*/")):
        copies = [directory / path.relative_to(TOP) for path in sources]
        same = all(c.is_file() and c.read_bytes() == s.read_bytes() for c, s in zip(copies, sources, strict=True))
        if same and (directory / ".complete").exists() and shutil.which("modinfo"):
            return {ko.stem: _srcversion(str(ko)) for ko in directory.glob("*.ko")}
    return {}


def _srcversion(path: str) -> str:
    done = subprocess.run(["modinfo", "-F", "srcversion", path], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def origin(host: Any, module: str) -> str:
    """Whether a host's module is this tree's: tree, other, unknown, absent."""
    seen = host.facts["modules"].get(module)
    if not seen:
        return "absent"
    ours = tree_srcversions().get(module)
    if not ours or not seen["srcversion"]:
        return "unknown"
    return "tree" if seen["srcversion"] == ours else "other"


def _modules(module: str, host: Any) -> str:
    seen = host.facts["modules"][module]
    if not seen:
        return "not installed"
    how = {"tree": "this tree's", "other": "NOT this tree's", "unknown": "this tree has none built to compare"}
    state = "loaded" if seen["loaded"] else "installed"
    return f"{seen['version'] or '?'} {state}, {how[origin(host, module)]}"


def table(hosts: list[Any], rtt_ms: float) -> Table:
    """One column per host."""
    t = Table(box=None, pad_edge=False)
    for head in ("", *(str(host) for host in hosts)):
        t.add_column(head, overflow="fold")
    rows: dict[str, Callable[[Any], str]] = {
        "kernel": lambda h: h.facts["release"],
        "path": lambda h: f"{h.address} on {h.facts['dev']}, MTU {h.facts['mtu']}",
        "qdisc": lambda h: ", ".join(q["kind"] for q in h.facts["qdiscs"] if q.get("root")) or "none",
        "offloads": lambda h: ", ".join(n for k, n in SHOWN_OFFLOADS.items() if h.facts["offloads"].get(k)) or "none",
        "congestion": lambda h: h.facts["tcp_congestion_control"],
        "available": lambda h: h.facts["tcp_available_congestion_control"],
        "tcp_rmem": lambda h: " ".join(h.facts["tcp_rmem"].split()),
        "tcp_wmem": lambda h: " ".join(h.facts["tcp_wmem"].split()),
        "timestamps": lambda h: h.facts["tcp_timestamps"],
        "iperf3": lambda h: h.facts["iperf3"].split(" (")[0] or "not installed",
        "clock": lambda h: "set by NTP" if h.facts["clock_set"] else "not set by NTP",
    }
    for module in MODULES:
        rows[module] = functools.partial(_modules, module)
    for name, cell in rows.items():
        t.add_row(name, *(cell(host) for host in hosts))
    ahead_s, uncertain_s = real_offset(hosts)
    t.add_row("receiver's clock", f"{ahead_s * 1e3:+.1f} ms to the sender's, +/- {uncertain_s * 1e3:.1f} ms")
    most_mbit = window_mbit(hosts, rtt_ms)
    t.add_row("round trip", f"{rtt_ms:.2f} ms; tcp_rmem, tcp_wmem allow {most_mbit:.0f} Mbit/s")
    return t


def real_offset(hosts: list[Any]) -> tuple[float, float]:
    """How far the receiver's time of day is ahead of the sender's, and how sure that is, in seconds."""
    sender, receiver = (host.clock for host in hosts)
    return receiver.real_ahead_s - sender.real_ahead_s, receiver.uncertain_s + sender.uncertain_s


def window_mbit(hosts: list[Any], rtt_ms: float) -> float:
    """Rate that the largest windows allow: half of the receive buffer is for data, or the send buffer."""
    sender, receiver = hosts
    octets = min(int(receiver.facts["tcp_rmem"].split()[2]) / 2, int(sender.facts["tcp_wmem"].split()[2]) / 2)
    return octets * 8 / max(rtt_ms, 1e-3) / 1e3


def warnings(hosts: list[Any], rtt_ms: float, cc: str = "", links: Any = None) -> list[str]:
    """What may spoil a measurement."""
    found = [f"{h}: its clock is not set by NTP" for h in hosts if not h.facts["clock_set"]]
    ahead_s, uncertain_s = real_offset(hosts)
    if abs(ahead_s) - uncertain_s > REAL_CLOCKS_S:
        found.append(f"the hosts' times of day differ by {abs(ahead_s):.1f} s: their logs do not line up")
    if cc == "santacruz":
        found += [f"{h}: tcp_timestamps=0: santacruz sees no forward delay" for h in hosts if _no_timestamps(h)]
    module = module_of(cc)
    if module in MODULES and origin(hosts[0], module) == "other":
        found.append(f"{hosts[0]}: {module} is not built from this tree's sources")
    if links:
        rtt_ms += links.arriving.direction.delay_ms + links.leaving.direction.delay_ms
        rate_mbit = min(way.direction.rate_mbit or math.inf for way in (links.arriving, links.leaving))
        most_mbit = window_mbit(hosts, rtt_ms)
        if most_mbit < rate_mbit < math.inf:
            found.append(f"tcp_rmem and tcp_wmem allow {most_mbit:.1f} Mbit/s at {rtt_ms:.0f} ms, not {rate_mbit:g}")
    return found


def _no_timestamps(host: Any) -> bool:
    return bool(host.facts["tcp_timestamps"] == "0")


def describe(hosts: list[Any], before: list[Any], rtt_ms: float, said: list[str]) -> dict[str, Any]:
    """The same for result.json; ``before`` are the clocks as they were when the flows began."""
    ahead_s, uncertain_s = real_offset(hosts)
    return {
        **{h.role: h.facts | {"name": h.name, "address": h.address, "origin": _origins(h)} for h in hosts},
        "rtt_ms": round(rtt_ms, 3),
        "clock_offset_ms": round(ahead_s * 1e3, 3),
        "clock_uncertain_ms": round(uncertain_s * 1e3, 3),
        "clock_moved_ms": round(_moved_s(hosts, before) * 1e3, 3),
        "warnings": said,
    }


def _origins(host: Any) -> dict[str, str]:
    return {module: origin(host, module) for module in MODULES}


def _moved_s(hosts: list[Any], before: list[Any]) -> float:
    """How much further the receiver's monotonic clock went than the sender's, during the run."""
    (s0, r0), (s1, r1) = before, (host.clock for host in hosts)
    return float((r1.ahead_s - r0.ahead_s) - (s1.ahead_s - s0.ahead_s))
