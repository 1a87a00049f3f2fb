# SPDX-License-Identifier: GPL-2.0
"""Inside the virtual-time kernel: ``hetlab run --on hosts`` between two namespaces, and what goes wrong on the way.

usage: hosts_guest.py TICK.so CASE OUT; prints what the case saw as JSON.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
RUN = Path("/run/hosts")
HOSTS = ("s", "d")
DEV = "to-r"
SYSCTLS = ("tcp_no_metrics_save", "tcp_sack", "tcp_rmem", "tcp_wmem", "tcp_congestion_control")
SHORT = ("--set", "duration_s=4")
AGENT = "^[^ ]*python3 -c import json, sys, types"  # how its command begins (hetlab.hosts.connection)
NETEM = ("bulk", "--traffic", "flowgen", "--netem", "receiver")


def sh(script: str) -> str:
    """Output of a shell script."""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False).stdout


def state() -> dict[str, Any]:
    """All that must be the same before and after, of both hosts."""
    found: dict[str, Any] = {"modules": sh("cut -d' ' -f1 /proc/modules | sort")}
    found["n_op"] = sh("cat /sys/module/tcp_santacruz/parameters/n_op")
    found["programs"] = sh(f"pgrep -a 'flowgen|iperf3'; pgrep -f '{AGENT}'")
    for host in HOSTS:
        inside = f"ip netns exec {host}"
        found[f"tc {host}"] = sh(f"tc -n {host} qdisc show; tc -n {host} filter show dev {DEV} ingress")
        found[f"links {host}"] = sh(f"ip -n {host} -br link | cut -d' ' -f1")
        found[f"offloads {host}"] = sh(f"{inside} ethtool -k {DEV}")
        found[f"sysctls {host}"] = sh(f"{inside} sysctl {' '.join('net.ipv4.' + s for s in SYSCTLS)}")
        found[f"files {host}"] = sh(f"ls {RUN}/tmp-{host}")
    return found


def changed(before: dict[str, Any]) -> list[str]:
    """What is different now."""
    return sorted(key for key, value in state().items() if value != before[key])


class Lab:
    """The two hosts, and hetlab beside them."""

    def __init__(self, tick: str, out: str, path_d: str = "") -> None:
        env = os.environ | ({"HOSTS_PATH_D": path_d} if path_d else {})
        made = subprocess.run(
            [str(TOP / "tests/lab/hosts_net.sh"), tick], capture_output=True, text=True, env=env, check=False
        )
        if made.returncode:
            sys.exit(made.stderr)
        self.args = made.stdout.splitlines()
        self.out = out

    def start(self, *args: str, place: list[str] | None = None) -> "subprocess.Popen[str]":
        """Start hetlab run; Ctrl-C reaches it as it would in a shell."""
        words = ["ip", "netns", "exec", "here", str(TOP / "tools" / "hetlab"), "run", *args]
        words += [*(self.args if place is None else place), "--json", "--out", self.out]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=TOP)

    def run(self, *args: str, place: list[str] | None = None) -> dict[str, Any]:
        """The same to its end."""
        return ended(self.start(*args, place=place))

    def during(self, *args: str) -> "subprocess.Popen[str]":
        """Started, and 2 s into its flows."""
        proc = self.start(*args)
        deadline = time.monotonic() + 60
        while not sh("pgrep '^flowgen$'") and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(4)
        return proc


def ended(proc: "subprocess.Popen[str]") -> dict[str, Any]:
    """Status, results and complaints of a hetlab."""
    out, errors = proc.communicate()
    return {"status": proc.returncode, "results": [json.loads(line) for line in out.splitlines()], "errors": errors}


def children(proc: "subprocess.Popen[str]", what: str) -> list[int]:
    """Processes of hetlab, by their first word."""
    lines = sh(f"ps -o pid=,args= --ppid {proc.pid}").splitlines()
    return [int(line.split()[0]) for line in lines if line.split()[1] == what]


def iperf3(lab: Lab) -> dict[str, Any]:
    """Two flows on the real path: with a parameter, by a module that has to be loaded, and what cannot be had."""
    sh("rmmod tcp_hybla_ext")
    before = state()
    ccs = ("santacruz:n_op=9", "hybla_ext", "nosuch", "santacruz:n_op=0.1", "santacruz:color=red", "reno")
    done = lab.run("bulk", *(w for cc in ccs for w in ("--cc", cc)), *SHORT, "--set", "flow.main.count=2")
    return done | {"changed": changed(before)}


def netem(lab: Lab) -> dict[str, Any]:
    """Emulated on either side: 80 ms on top of the 20 there are."""
    before = state()
    sets = ("--set", "link.bottleneck.forward.delay_ms=40", "--set", "duration_s=20")
    args = ("bulk", "--traffic", "flowgen", "--cc", "reno", *sets)
    done = {where: lab.run(*args, "--netem", where) for where in ("receiver", "sender")}
    return done | {"changed": changed(before)}


def impaired(lab: Lab) -> dict[str, Any]:
    """Loss, jitter and an AQM, all on one link."""
    way = "link.bottleneck.forward"
    sets = (f"{way}.aqm=fq_codel", f"{way}.jitter_ms=1", f"{way}.loss.model=random", f"{way}.loss.percent=1")
    before = state()
    done = lab.run(*NETEM, "--cc", "bbr", "--set", "duration_s=8", *(w for s in sets for w in ("--set", s)))
    return done | {"changed": changed(before)}


def interrupted(lab: Lab) -> dict[str, Any]:
    """Ctrl-C and SIGTERM in the middle of a run that also changes a sysctl."""
    before = state()
    scenario = RUN / "nosack.toml"
    scenario.write_text('base = "bulk"\nsysctl = { "net.ipv4.tcp_sack" = 0 }\n')
    found: dict[str, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        proc = lab.during(str(scenario), *NETEM[1:], "--cc", "reno", "--set", "duration_s=60")
        sack = [sh(f"ip netns exec {host} sysctl -n net.ipv4.tcp_sack").strip() for host in HOSTS]
        found[number.name] = {"meanwhile": changed(before), "sack": sack}
        proc.send_signal(number)
        found[number.name] |= ended(proc) | {"changed": changed(before)}
    return found | {"changed": changed(before)}


def cut(what: str, lab: Lab) -> dict[str, Any]:
    """The connection, the agent or hetlab is gone in the middle of a run; the next one connects again."""
    before = state()
    more = ("--cc", "cubic") if what == "ssh" else ()
    proc = lab.during(*NETEM, "--cc", "reno", *more, "--set", "duration_s=10")
    meanwhile = changed(before)
    CUTS[what](proc)
    time.sleep(2)
    soon = None if more else changed(before)
    sh("ip -n here link set to-d up")
    return ended(proc) | {"meanwhile": meanwhile, "soon": soon, "changed": changed(before)}


def _kill_ssh(proc: "subprocess.Popen[str]") -> None:
    for pid in children(proc, "ssh"):
        os.kill(pid, signal.SIGKILL)


def _kill_hetlab(proc: "subprocess.Popen[str]") -> None:
    proc.kill()


def _kill_agents(workers: bool) -> None:
    """On the far side, the agents that do the work, or those that wait for their end."""
    agents = sh(f"pgrep -f '{AGENT}'").split()
    assert agents, f"no process begins with {AGENT}"
    parents = {pid: sh(f"ps -o ppid= --pid {pid}").strip() for pid in agents}
    for pid, parent in parents.items():
        if (parent in agents) == workers:
            os.kill(int(pid), signal.SIGKILL)


def _kill_workers(_proc: "subprocess.Popen[str]") -> None:
    _kill_agents(workers=True)


def _kill_guardians(_proc: "subprocess.Popen[str]") -> None:
    _kill_agents(workers=False)


def _silence(_proc: "subprocess.Popen[str]") -> None:
    """The way to the receiver leads nowhere, and nobody is told."""
    sh("ip -n here link set to-d down")
    time.sleep(60)


CUTS: dict[str, Callable[["subprocess.Popen[str]"], None]] = {
    "ssh": _kill_ssh,
    "worker": _kill_workers,
    "guardian": _kill_guardians,
    "silence": _silence,
    "hetlab": _kill_hetlab,
}


def refused(lab: Lab) -> dict[str, Any]:
    """What cannot be done is told before anything is changed, or at least undone."""
    before = state()

    def instead(old: str, new: str) -> dict[str, Any]:
        return lab.run("bulk", place=[new if word == old else word for word in lab.args])

    found = {
        "wrong host": instead("10.9.2.2", "10.9.2.3"),
        "unknown key": instead(f"UserKnownHostsFile={RUN}/known", "UserKnownHostsFile=/dev/null"),
        "wrong user": instead(f"IdentityFile={RUN}/user", f"IdentityFile={RUN}/host"),
        "wrong address": instead("10.0.2.2", "10.0.2.9"),
    }
    sh(f"tc -n d qdisc add dev {DEV} clsact")
    found["clsact"] = lab.run(*NETEM, "--cc", "reno", *SHORT)
    sh(f"tc -n d qdisc del dev {DEV} clsact")
    busy = subprocess.Popen(["ip", "netns", "exec", "d", "python3", "-m", "http.server", "5001"])
    time.sleep(2)
    found["busy port"] = lab.run("bulk", "--cc", "reno", *SHORT)
    busy.terminate()
    busy.wait()
    return found | {"changed": changed(before)}


def lacking(lab: Lab, args: tuple[str, ...]) -> dict[str, Any]:
    """The receiver lacks what PATHS say."""
    before = state()
    return lab.run(*args, "--cc", "reno", *SHORT) | {"changed": changed(before)}


# Cases in which the receiver finds other programs: a tc that asks for a qdisc this kernel really lacks;
# everything but iperf3
PATHS = {
    "no-netem": f"{RUN}/lacking:{RUN}/bin:{os.environ['PATH']}",
    "without": f"{RUN}/without",
}


CASES: dict[str, Callable[[Lab], dict[str, Any]]] = {
    **{f.__name__: f for f in (iperf3, netem, impaired, interrupted, refused)},
    "no-netem": functools.partial(lacking, args=NETEM),
    "without": functools.partial(lacking, args=("bulk",)),
    **{f"cut-{what}": functools.partial(cut, what) for what in CUTS},
}


def main() -> None:
    """Entry point."""
    tick, case, out = sys.argv[1:]
    print(json.dumps(CASES[case](Lab(tick, out, PATHS.get(case, "")))))


if __name__ == "__main__":
    main()
