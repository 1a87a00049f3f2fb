#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a congestion control costs: instructions per ACK, throughput of a CPU that does nothing else.

Flows of all congestion controls, one after the other, in an emulated machine
with Debian's kernel, one CPU and virtual time: one instruction is one
nanosecond. A QEMU plugin (count_insns.c) counts the instructions that are
executed, by address, so that nothing this computer does can disturb. Three
figures per ACK that the sender gets:

  all       the whole machine: both hosts, the router, flowgen; without waiting
  tcp_ack   the sender's processing of ACKs (tcp_ack with all that it calls)
  own       the congestion control's own functions

The targets are ratios of the first to cubic's. How many segments an ACK
acknowledges is up to the hosts' schedulers where there is no bottleneck, and
so the ratio is taken per segment: the same as per ACK where ACKs are as many.
Prints a table for each path; exit status 1 if a target is missed. Raw counts:
build/cpu-cost.
"""

import argparse
import bisect
import functools
import gzip
import json
import shutil
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Queue
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hetlab.build import kernel
from hetlab.errors import LabError
from hetlab.machines import qemu, qemu_files, uml
from hetlab.model import congestion
from hetlab.paths import BUILD

HERE = Path(__file__).resolve().parent
OUT = BUILD / "cpu-cost"
# User instructions of phase 1, in which the guest executes a known loop; Python does the rest
CHECK_INSNS, CHECK_SLACK = 10_000_000, 0.02
# What the guest says after each flow
FLOW_DONE = "flow done"
REFERENCE = "cubic"
# Instructions, all, at most so many times cubic's
TARGETS = {"hybla_ext": 1.05, "westwood_fr": 1.05, "westwood_gfr": 1.05, "santacruz": 1.1}
# What belongs to a congestion control: modules, beginnings of names of built-in functions
SHARED = ("tcp_reno_", "tcp_slow_start", "tcp_cong_avoid_ai")
OWN = {
    "reno": SHARED,
    "cubic": (*SHARED, "cubictcp_", "bictcp_", "hystart_", "cubic_root"),
    "bbr": ("[tcp_bbr]",),
    **{cc: (*SHARED, f"[{congestion.module_of(cc)}]") for cc in TARGETS},
}


@dataclass(frozen=True)
class Route:
    """Plain veth, on which a flow sends mbytes, or a bottleneck, where it is measured for some seconds."""

    title: str
    tso: bool = False
    mbytes: int = 0
    seconds: int = 0
    mbit: int = 0
    rtt_ms: int = 40
    queue_pkts: int = 0
    lost_every: int = 0


PATHS = {
    "veth-tso": Route("plain veth, large sends cross it whole (TSO)", tso=True, mbytes=90),
    "veth": Route("plain veth, packet by packet", mbytes=45),
    "link": Route("30 Mbit/s, 40 ms, queue of 100 packets", seconds=4, mbit=30, queue_pkts=100),
    "lossy": Route("5 Mbit/s, 40 ms, every 500th packet lost", seconds=30, mbit=5, queue_pkts=30, lost_every=500),
}
# What --short divides the amount by
SHORT = 2


@dataclass(frozen=True)
class Flow:
    """A congestion control, with a module parameter or paced by the socket (Mbit/s)."""

    cc: str
    parameter: tuple[str, str] | None = None
    pace_mbit: int = 0

    @property
    def name(self) -> str:
        """As in the table."""
        pace = ", paced" if self.pace_mbit else ""
        return self.cc + pace + (f" {self.parameter[0].rsplit('/')[-1]}={self.parameter[1]}" if self.parameter else "")


FLOWS = tuple(Flow(cc) for cc in OWN)
# What pacing costs: a timer of the socket
PACING = (
    Flow("cubic", pace_mbit=10000),
    Flow("hybla_ext", ("tcp_hybla_ext/parameters/pacing", "0")),
)


def plugin(console: Console) -> Path:
    """The QEMU plugin, built."""
    source, out = HERE / "count_insns.c", OUT / "count_insns.so"
    OUT.mkdir(parents=True, exist_ok=True)
    flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        console.print("building the QEMU plugin")
        kernel.run(["gcc", *flags, "-o", str(out), str(source)], OUT / "plugin.log", "building the QEMU plugin")
    return out


def flows_of(path: Route, turns: int) -> list[Flow]:
    """One flow to warm caches up, then all of them, every other turn in reverse order, and once those for pacing."""
    taken = [f for turn in range(turns) for f in (FLOWS[::-1] if turn % 2 else FLOWS)]
    return [Flow(REFERENCE), *taken, *(PACING if path.mbit or path.tso else ())]


@dataclass
class Phase:
    """What was executed between two marks."""

    function: tuple[int, int]
    user: int
    kernel: dict[int, int]


def read_counts(path: Path) -> dict[int, Phase]:
    """Phases by their number."""
    phases: dict[int, Phase] = {}
    for line in path.read_text().splitlines():
        key, *values = line.split()
        if key == "phase":
            phase = phases[int(values[0])] = Phase((0, 0), 0, {})
        elif key == "function":
            phase.function = int(values[0]), int(values[1])
        elif key == "user":
            phase.user = int(values[0])
        else:
            phase.kernel[int(key, 16)] = int(values[0])
    return phases


def read_symbols(path: Path) -> list[tuple[int, str]]:
    """Addresses of functions with their names."""
    with gzip.open(path, "rt") as f:
        return [(int(at, 16), name) for at, name in (line.rstrip("\n").split(" ", 1) for line in f)]


def by_function(counts: dict[int, int], symbols: list[tuple[int, str]]) -> Counter[str]:
    """Instructions by function."""
    addresses, found = [at for at, _ in symbols], Counter[str]()
    for at, n in counts.items():
        found[symbols[bisect.bisect_right(addresses, at) - 1][1]] += n
    return found


def figures(flow: Flow, said: dict[str, Any], phase: Phase, symbols: list[tuple[int, str]]) -> dict[str, Any]:
    """What a flow's counts say per ACK."""
    functions = by_function(phase.kernel, symbols)
    own = {n: c for n, c in functions.items() if any(n.startswith(p) or p in n.split() for p in OWN[flow.cc])}
    acks = said["acks"]
    return {
        "name": flow.name,
        "mbit": said["mbit"],
        "acks": acks,
        "segments_per_ack": said["segments"] / acks,
        "retransmits": said["retransmits"],
        "all": (functions.total() + phase.user) / acks,
        "per_segment": (functions.total() + phase.user) / said["segments"],
        "calls": phase.function[0] / acks,
        "tcp_ack": phase.function[1] / acks,
        "own": sum(own.values()) / acks,
        "functions": {n: round(c / acks, 2) for n, c in functions.most_common(400)},
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Medians over the turns, ratios to cubic, largest distance of a turn from the median of ``per_segment``."""
    keys = ("mbit", "acks", "segments_per_ack", "retransmits", "all", "per_segment", "tcp_ack", "own")
    result: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row["name"] for row in rows):
        turns = [row for row in rows if row["name"] == name]
        median = {key: statistics.median(row[key] for row in turns) for key in keys}
        median["spread"] = max(abs(row["per_segment"] / median["per_segment"] - 1) for row in turns)
        result[name] = median
    for median in result.values():
        for key in ("all", "per_segment", "tcp_ack"):
            median[f"{key}_ratio"] = median[key] / result[REFERENCE][key]
    return result


def table(title: str, rows: dict[str, dict[str, float]]) -> str:
    """Markdown."""
    lines = [
        f"{title}:\n",
        "| | Mbit/s | segments per ACK | all, per ACK | per segment | to cubic | ± | tcp_ack | to cubic | own |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in rows.items():
        lines.append(
            f"| {name} | {r['mbit']:.1f} | {r['segments_per_ack']:.2f} | {r['all']:.0f} | {r['per_segment']:.0f} "
            f"| {r['per_segment_ratio']:.3f} "
            f"| {100 * r['spread']:.2f} % | {r['tcp_ack']:.0f} | {r['tcp_ack_ratio']:.3f} | {r['own']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def missed(rows: dict[str, dict[str, float]]) -> list[str]:
    """Targets that are not met."""
    return [
        f"{cc}: {rows[cc]['per_segment_ratio']:.3f} times cubic's instructions, not at most {most}"
        for cc, most in TARGETS.items()
        if rows[cc]["per_segment_ratio"] > most
    ]


class Bench:
    """Machines, as many at a time as there are CPUs."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        self.args, self.console = args, console
        self.plugin = plugin(console)
        self.kernels = [qemu_files.stock(console, series) for series in args.kernel or ["6.12"]]
        self.cpus = Queue[int]()
        self.machines: list[qemu.Machine] = []
        for cpu in uml.cpus():
            self.cpus.put(cpu)
        qemu_files.root(console)

    def run(self) -> dict[str, list[dict[str, Any]]]:
        """All paths on all kernels: figures of each flow by release and path."""
        wanted = [(vm, name) for vm in self.kernels for name in self.args.path or PATHS]
        columns = (TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TextColumn("flows"), TimeElapsedColumn())
        with (
            Progress(*columns, console=self.console, transient=True) as bar,
            ThreadPoolExecutor(len(uml.cpus())) as pool,
        ):
            task = bar.add_task("", total=sum(len(flows_of(PATHS[name], self.args.turns)) for _, name in wanted))
            advance = functools.partial(bar.advance, task)
            futures = {f"{vm.release} {name}": pool.submit(self.one, vm, name, advance) for vm, name in wanted}
            try:
                return {key: future.result() for key, future in futures.items()}
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for machine in self.machines:
                    machine.kill()
                raise

    def one(self, vm: qemu_files.VmKernel, name: str, advance: Callable[[int], None]) -> list[dict[str, Any]]:
        """One machine, on a CPU of its own."""
        cpu = self.cpus.get()
        try:
            rows = self.measure(vm, name, cpu, advance)
        finally:
            self.cpus.put(cpu)
        self.console.print(f"{vm.release}: {name} measured")
        return rows

    def measure(
        self, vm: qemu_files.VmKernel, name: str, cpu: int, advance: Callable[[int], None]
    ) -> list[dict[str, Any]]:
        """All flows of a path; figures of each, without the first."""
        path, directory = PATHS[name], OUT / f"{vm.release}-{name}"
        if self.args.short:
            path = replace(path, mbytes=path.mbytes // SHORT, seconds=path.seconds // SHORT)
        flows = flows_of(path, self.args.turns)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        plan = {"path": asdict(path), "flows": [asdict(f) for f in flows]}
        (directory / "plan.json").write_text(json.dumps(plan))
        files = {"/plan.json": directory / "plan.json", "/guest.py": HERE / "cpu_cost_guest.py"}
        script = "modprobe tcp_bbr && python3 /guest.py /plan.json"
        arguments = f"{self.plugin},out={directory}/counts"
        machine = qemu.boot(vm, script, directory, files=files, cpus=1, cpu=cpu, plugin=arguments)
        self.machines.append(machine)
        follow(machine, advance)
        if machine.status() != 0:
            raise LabError(f"{name} on {vm.release} failed: {directory}\n{machine.console_tail()}")
        return read(directory, flows)


def follow(machine: qemu.Machine, advance: Callable[[int], None]) -> None:
    """Wait for the end of a machine, and remove its root."""
    done = 0
    while machine.proc.poll() is None:
        time.sleep(1)
        by_now = machine.log.read_text(errors="replace").count(FLOW_DONE)
        advance(by_now - done)
        done = by_now
    machine.kill()


def read(directory: Path, flows: list[Flow]) -> list[dict[str, Any]]:
    """What a machine has left, without the first flow."""
    phases = read_counts(directory / "counts")
    if not 1 <= phases[1].user / CHECK_INSNS <= 1 + CHECK_SLACK:
        raise LabError(f"{directory}: {phases[1].user} instructions counted of {CHECK_INSNS}")
    symbols = read_symbols(directory / "out" / "kallsyms.gz")
    said = json.loads((directory / "out" / "flows.json").read_text())
    return [figures(f, s, phases[s["phase"]], symbols) for f, s in zip(flows, said, strict=True)][1:]


def main() -> int:
    """Measure, print tables or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=qemu_files.SERIES, action="append", help="default 6.12; may be repeated")
    parser.add_argument("--path", choices=PATHS, action="append", help="default: all")
    parser.add_argument("--turns", type=int, default=5, help="flows of each congestion control (default 5)")
    parser.add_argument("--short", action="store_true", help=f"1/{SHORT} of the data")
    parser.add_argument("--json", action="store_true", help="one JSON object, with instructions by function")
    args = parser.parse_args()
    if args.turns < 1:
        parser.error(f"--turns {args.turns}: at least 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    measured = Bench(args, Console(stderr=True, highlight=False)).run()
    summaries = {key: summary(rows) for key, rows in measured.items()}
    if args.json:
        print(json.dumps({"turns": measured, "summary": summaries}))
    else:
        for key, rows in summaries.items():
            release, name = key.split()
            print(table(f"Linux {release}, {PATHS[name].title}", rows))
    bad = [f"{key}: {line}" for key, rows in summaries.items() for line in missed(rows)]
    print("\n".join(bad) or "all targets met", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        print(f"cpu_cost: {error}", file=sys.stderr)
        sys.exit(2)
