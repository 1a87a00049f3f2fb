# SPDX-License-Identifier: GPL-2.0
"""Our modules under stress in the debug kernel; ``make check-debug``. What is covered: docs/debug.md.

The machines run at the same time, one for each CPU of this host. Every test asks
for the result of one.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hetlab import paths
from hetlab.machines import debug_vm, qemu, qemu_files, uml
from hetlab.paths import BIN, TOP

pytestmark = pytest.mark.debug

STRESS = TOP / "tests" / "modules" / "stress"
BAD = TOP / "tests" / "modules" / "bad_module"
BPF = "cc_switch.bpf"
MEMORY_MB = 2048
WALL_LIMIT_S = 3600
POLL_S = 1.0
# Loaded one after the other; KASAN comes last because its report ends lockdep's work
FAULTS = ["warning", "refcount", "ubsan", "atomic", "leak", "kasan"]
SECONDS = 600
FLOWS = 240
PARALLEL_SECONDS = 90
PARALLEL_FLOWS = 60

# An instruction of the main run takes 4 ns: 600 s cost 15 minutes of a CPU
SHIFT = 2
# What has to have been done at the least, so that a stress that does nothing fails: in the main run, and on
# parallel CPUs, where it depends on this host's load
LEAST = {
    "modules unloaded": (5, 0),
    "modules loaded": (5, 0),
    "modules refused": (5, 0),
    "parameters changed": (300, 10),
    "parameters refused": (100, 4),
    "switches": (500, 10),
    "dissolved": (5, 0),
    "bpf switches": (1000, 5),
    "bpf attached": (2, 0),
    "flows at once": (200, 20),
    "flows at once, median": (200, 10),
    "flows": (900, 30),
    "mptcp connections": (30, 1),
    "mptcp switches": (100, 1),
    "mptcp endpoints": (50, 2),
    "namespaces": (4, 0),
    "suspended readers": (20, 1),
    "queues": (100, 3),
    "flaps": (20, 0),
    "mtus": (10, 0),
    "routes": (30, 1),
    "offloads": (5, 0),
    "settings": (150, 4),
    "metrics": (10, 0),
    "ss lines": (500, 5),
    "trace toggles": (30, 2),
    "trace events": (100, 1),
}
LEAST_STACK = {
    "TcpRetransSegs": (2000, 50),
    "TcpOutRsts": (150, 5),
    "TcpExtTCPTimeouts": (500, 5),
    "TcpExtTCPSackRecovery": (100, 0),
    "TcpExtTCPRenoRecovery": (10, 0),
    "TcpExtTCPFromZeroWindowAdv": (100, 0),
    "TcpExtTCPSCEstab": (50, 1),
    "TcpExtTCPDSACKRecv": (20, 0),
    "IpExtInECT0Pkts": (300, 0),
    "Ip6InReceives": (3000, 50),
    "MPTcpExtMPJoinAckRx": (5, 0),
}
# Many of their commands may fail, because what they name is gone or there already
BATCHED = ["queues", "routes", "mptcp endpoints"]
NEVER = ["wrong parameters taken", "right parameters refused", "right modules refused"]

STRESS_SCRIPT = """
PYTHONPATH=/t python3 -m stress --seconds {seconds} --flows {flows}
status=$?
grep debug_locks: /proc/lockdep_stats >/out/lockdep
dmesg >/out/dmesg
exit $status
"""
BAD_SCRIPT = """
mount -t debugfs debugfs /sys/kernel/debug
for fault in {faults}; do
	echo "hetcc fault: $fault" >/dev/kmsg
	insmod /bad_module.ko fault=$fault && rmmod bad_module || exit 1
done
echo "hetcc fault: end" >/dev/kmsg
for scan in 1 2; do
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
done
cat /sys/kernel/debug/kmemleak >/out/kmemleak
dmesg >/out/dmesg
"""


@dataclass(frozen=True)
class Run:
    """What a machine has left."""

    status: int | None
    directory: Path
    wall_s: float

    def text(self, name: str) -> str:
        """A file of /out, empty if there is none."""
        path = self.directory / "out" / name
        return path.read_text(errors="replace") if path.exists() else ""

    @cached_property
    def reports(self) -> dict[str, list[str]]:
        """Every report of a checker, on the console, in the log, by kmemleak."""
        console = (self.directory / "console.log").read_text(errors="replace")
        return debug_vm.reports("\n".join([console, self.text("dmesg"), self.text("kmemleak")]))


def follow(machine: uml.Machine, name: str) -> Run:
    """Pass on what the machine says of its progress until it ends."""
    seen = 0
    try:
        while machine.proc.poll() is None:
            time.sleep(POLL_S)
            lines = machine.log.read_text(errors="replace").splitlines() if machine.log.exists() else []
            for line in lines[seen:]:
                if line.startswith("stress:"):
                    print(f"{name}: {line.removeprefix('stress: ')}", flush=True)
            seen = len(lines)
            if time.monotonic() - machine.started > WALL_LIMIT_S:
                print(f"{name}: over {WALL_LIMIT_S} s, given up", flush=True)
                break
    finally:
        machine.kill()
    wall_s = time.monotonic() - machine.started
    print(f"{name}: over after {wall_s:.0f} s", flush=True)
    return Run(machine.status(), machine.job.parent, wall_s)


def stress(kernel: qemu_files.VmKernel, name: str, seconds: int, flows: int, clock: qemu.Clock) -> Run:
    """The stress for some time of the guest."""
    files = {f"/t/stress/{p.name}": p for p in STRESS.glob("*.py")}
    files["/t/stress/cc_switch.bpf.o"] = BIN / f"{BPF}.o"
    files["/t/stress/module_params.sh"] = TOP / "tests" / "modules" / "selftests" / "module_params.sh"
    script = STRESS_SCRIPT.format(seconds=seconds, flows=flows)
    directory = paths.scratch("stress-")
    machine = qemu.boot(kernel, script, directory, files=files, memory_mb=MEMORY_MB, clock=clock, shift=SHIFT)
    return follow(machine, name)


def bad(kernel: qemu_files.VmKernel, module: Path, faults: list[str]) -> Run:
    """The bad module, with one fault after the other."""
    script = BAD_SCRIPT.format(faults=" ".join(faults))
    machine = qemu.boot(kernel, script, paths.scratch("bad-"), files={"/bad_module.ko": module}, memory_mb=MEMORY_MB)
    return follow(machine, f"bad module ({', '.join(faults)})")


def build_bpf() -> None:
    """The BPF program of the stress."""
    args = ["clang", "-O2", "-g", "-target", "bpf", "-Wall", "-Wextra", "-Werror"]
    args += [f"-I/usr/include/{os.uname().machine}-linux-gnu", "-c", str(STRESS / f"{BPF}.c")]
    subprocess.run([*args, "-o", str(BIN / f"{BPF}.o")], check=True)


@pytest.fixture(scope="session")
def runs() -> Iterator[dict[str, "Future[Run]"]]:
    """All machines, the longest first."""
    console = Console(stderr=True, highlight=False)
    kernel, module = debug_vm.debug_vm_kernel(console), debug_vm.other_module(console, BAD)
    BIN.mkdir(parents=True, exist_ok=True)
    build_bpf()
    with ThreadPoolExecutor(len(uml.cpus())) as pool:
        yield {
            "main": pool.submit(stress, kernel, "stress", SECONDS, FLOWS, "icount"),
            "bad": pool.submit(bad, kernel, module, FAULTS),
            "bad lockdep": pool.submit(bad, kernel, module, ["lockdep"]),
            "parallel": pool.submit(stress, kernel, "parallel", PARALLEL_SECONDS, PARALLEL_FLOWS, "real"),
        }


def by_fault(log: str) -> dict[str, str]:
    """Parts of a kernel log, each from where a fault begins."""
    parts = log.split("hetcc fault: ")[1:]
    return {part.split("\n", 1)[0]: part for part in parts}


def test_checkers_speak(runs: dict[str, "Future[Run]"]) -> None:
    """Each fault is reported by its checker: what the stress runs under sees."""
    run = runs["bad"].result()
    assert run.status == 0, run.directory
    parts = by_fault(run.text("dmesg"))
    for fault in FAULTS:
        part = run.text("kmemleak") if fault == "leak" else parts[fault]
        assert fault in debug_vm.reports(part), f"{fault} has not been seen; {run.directory}"
    assert not debug_vm.reports(parts["leak"])


def test_lockdep_speaks(runs: dict[str, "Future[Run]"]) -> None:
    """An inversion of locks is reported, though nobody waits for a lock."""
    run = runs["bad lockdep"].result()
    assert run.status == 0 and set(run.reports) == {"lockdep", "other"}, run.reports


def check_stress(run: Run, column: int) -> None:
    """Nothing reported, all activities alive, the checkers on to the end, everything done often enough."""
    assert not run.reports, f"{run.directory}: {json.dumps(run.reports, indent=1)[:4000]}"
    tail = (run.directory / "console.log").read_text(errors="replace")[-3000:]
    assert run.status == 0, f"{run.directory}: status {run.status}\n{tail}"
    assert run.text("lockdep").split()[-1:] == ["1"], "lockdep has switched itself off"
    assert "Linux version" in run.text("dmesg").partition("\n")[0], "the kernel log has lost its beginning"
    report: dict[str, Any] = json.loads(run.text("stress.json"))
    print(f"{run.wall_s:.0f} s: {json.dumps(report)}")
    counts, stack = report["counts"], report["stack"]
    few = {k: (counts.get(k, 0), v[column]) for k, v in LEAST.items() if counts.get(k, 0) < v[column]}
    few |= {k: (stack.get(k, 0), v[column]) for k, v in LEAST_STACK.items() if stack.get(k, 0) < v[column]}
    assert not few, f"done, demanded: {few}"
    assert not {k: counts[k] for k in NEVER if counts.get(k)}
    assert report["batch_failures"] < sum(counts[name] for name in BATCHED) / 2


def test_ten_minutes(runs: dict[str, "Future[Run]"]) -> None:
    """Ten minutes of virtual time: two CPUs in turn, whatever the load of this host."""
    check_stress(runs["main"].result(), 0)


def test_parallel(runs: dict[str, "Future[Run]"]) -> None:
    """CPUs that run at the same time, in real time."""
    check_stress(runs["parallel"].result(), 1)
