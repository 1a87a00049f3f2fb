#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Everything that can happen to our modules, at once, for some time; inside a debug kernel.

Writes what was done and what the stack counted meanwhile to /out/stress.json.
Exit status 1 when an activity failed or when something could not be taken down.
Changes the whole machine: for a virtual one.
"""

import argparse
import json
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from stress import changes, traffic, world
from stress.world import OURS, World

OUT = Path("/out")
KMEMLEAK = Path("/sys/kernel/debug/kmemleak")
KMEMLEAK_AGE_S = 6  # what is younger is not reported
PROGRESS_S = 30
SAID = ("flows at once, median", "flows", "switches", "modules unloaded", "modules in use", "queues")
CALM_S = 120  # at most, until all flows are there
CALM_POLL_S = 5
TAKE_DOWN_S = 900
MOUNTS = {
    "cgroup2": "/sys/fs/cgroup",
    "bpf": "/sys/fs/bpf",
    "tracefs": "/sys/kernel/tracing",
    "debugfs": "/sys/kernel/debug",
}

Activity = Callable[[World], None]


def activities() -> dict[str, Activity]:
    """By name; those that work in parallel have a number."""
    found: dict[str, Activity] = {
        "modules": changes.modules,
        "parameters": changes.parameters,
        "settings": changes.settings,
        "readers": changes.readers,
        "tracepoints": changes.tracepoints,
        "endpoints": traffic.endpoints,
        "suspend": traffic.suspend,
        "churn": traffic.churn,
    }
    many: list[tuple[str, int, Callable[[World, int], None]]] = [
        ("flows", traffic.WORKERS, traffic.flows),
        ("switch", 2, changes.switch),
        ("links", 2, changes.links),
        ("mptcp_server", traffic.MPTCP_NETS, traffic.mptcp_server),
        ("mptcp_clients", traffic.MPTCP_NETS, traffic.mptcp_clients),
    ]
    for name, number, function in many:
        found |= numbered(name, number, function)
    return found


def numbered(name: str, number: int, function: Callable[[World, int], None]) -> dict[str, Activity]:
    """An activity of several processes."""
    return {f"{name}{worker}": partial(_numbered, function, worker) for worker in range(number)}


def _numbered(function: Callable[[World, int], None], worker: int, w: World) -> None:
    function(w, worker)


def start(found: dict[str, Activity], w: World) -> dict[str, BaseProcess]:
    """A process for each."""
    fork = get_context("fork")
    processes: dict[str, BaseProcess] = {}
    for name, activity in found.items():
        processes[name] = fork.Process(target=work, args=(name, activity, w), name=name)
        processes[name].start()
    return processes


def calm(w: World) -> None:
    """Wait until the flows that are kept are there; on changing links this would take long."""
    limit = time.monotonic() + CALM_S
    while (number := changes.established(w)) < w.flows and time.monotonic() < limit:
        print(f"stress: {number} flows before anything else begins", flush=True)
        w.nap(CALM_POLL_S)


def work(name: str, activity: Activity, w: World) -> None:
    """A process of an activity."""
    try:
        activity(w)
    finally:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        w.count(f"CPU ms of {name}", sum(round(1000 * (u.ru_utime + u.ru_stime)) for u in used))
        w.save()


def prepare() -> None:
    """Mount what is needed, load the BPF program."""
    for kind, path in MOUNTS.items():
        if not os.path.ismount(path):
            world.must("mount", "-t", kind, kind, path)
    changes.CGROUP.mkdir()
    changes.BPF.joinpath("maps").mkdir()
    load = [str(Path(__file__).with_name("cc_switch.bpf.o")), str(changes.BPF / "cc"), "type", "sockops"]
    world.must("bpftool", "prog", "load", *load, "pinmaps", str(changes.BPF / "maps"))
    world.must("bpftool", "cgroup", "attach", str(changes.CGROUP), "sock_ops", "pinned", load[1])


def idle_s() -> float:
    """Time that the CPUs have been idle, in all."""
    return int(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")


def watch(processes: dict[str, BaseProcess], w: World, seconds: float) -> None:
    """Say how far it is until the time is over."""
    begun, idle = time.monotonic(), idle_s()
    while w.on():
        w.nap(PROGRESS_S)
        counts = w.counts()
        said = ", ".join(f"{counts[name]} {name}" for name in SAID)
        passed = time.monotonic() - begun
        busy = 100 - 100 * (idle_s() - idle) / passed / (os.cpu_count() or 1)
        print(f"stress: {passed:.0f} of {seconds:.0f} s: {said}; CPUs {busy:.0f}% busy", flush=True)
        gone = [name for name, p in processes.items() if p.exitcode]
        if gone:
            print(f"stress: given up: {', '.join(gone)}", flush=True)
            w.stop()


def stack_counters(nets: list[world.Net]) -> Counter[str]:
    """Sums of what TCP, MPTCP and IP have counted on all hosts."""
    total: Counter[str] = Counter()
    for net in nets:
        for side in world.SIDES:
            with world.inside(net.ns(side)):
                for name in ("netstat", "snmp"):
                    lines = Path(f"/proc/self/net/{name}").read_text().splitlines()
                    for names, values in zip(lines[::2], lines[1::2], strict=True):
                        kind = names.split(":")[0]
                        pairs = zip(names.split()[1:], values.split()[1:], strict=True)
                        total.update({f"{kind}{key}": int(value) for key, value in pairs})
                for line in Path("/proc/self/net/snmp6").read_text().splitlines():
                    total[line.split()[0]] += int(line.split()[1])
    return total


def take_down(processes: dict[str, BaseProcess], w: World) -> None:
    """End everything; all modules have to go."""
    for p in processes.values():
        p.join(TAKE_DOWN_S)
        if p.exitcode is None:
            raise RuntimeError(f"{p.name} does not end")
    for pid in _named("flowgen"):
        os.kill(pid, signal.SIGKILL)
    (changes.TRACING / "events" / "enable").write_text("0")
    (changes.TRACING / "trace").write_text("")
    world.must("bpftool", "cgroup", "detach", str(changes.CGROUP), "sock_ops", "pinned", str(changes.BPF / "cc"))
    for net in w.nets:
        net.remove()
    for path in [changes.BPF / "cc", *changes.BPF.joinpath("maps").iterdir()]:
        path.unlink()
    for module in sorted(set(OURS.values())):
        limit = time.monotonic() + TAKE_DOWN_S
        while not world.unload_module(module):
            if time.monotonic() > limit:
                raise RuntimeError(f"still in use {TAKE_DOWN_S} s after the end:\n{Path('/proc/modules').read_text()}")
            time.sleep(1)


def _named(name: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().strip() == name:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def leaks() -> str:
    """What kmemleak says after two scans."""
    for _ in range(2):
        time.sleep(KMEMLEAK_AGE_S)
        KMEMLEAK.write_text("scan")
    return KMEMLEAK.read_text(errors="replace")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default: %(default)s)")
    parser.add_argument("--flows", type=int, default=240, help="flows that are kept (default: %(default)s)")
    args = parser.parse_args()
    prepare()
    w = World(args.seconds, args.seed, args.flows, traffic.WORKERS)
    for net in w.nets:
        net.make()
    processes = start({"bpf": changes.bpf} | numbered("keep", traffic.WORKERS, traffic.keep), w)
    calm(w)
    w.begin()
    processes |= start(activities(), w)
    watch(processes, w, args.seconds)
    stack = stack_counters(w.nets)
    take_down(processes, w)
    failed = [name for name, p in processes.items() if p.exitcode]
    OUT.joinpath("kmemleak").write_text(leaks())
    report = {"seconds": args.seconds, "seed": args.seed, "failed": failed, "counts": w.counts(), "stack": stack}
    report["batch_failures"] = world.batch_failures()
    OUT.joinpath("stress.json").write_text(json.dumps(report))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
