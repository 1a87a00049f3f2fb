# SPDX-License-Identifier: GPL-2.0
"""hetlab run and exec --on vm: Mininet scripts, machines that die, Ctrl-C."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from commands import Hetlab
from hetlab.paths import TOP

pytestmark = pytest.mark.vm

HETLAB = TOP / "tools" / "hetlab"
START_S = 300


def start(*args: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen([HETLAB, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def machines(hetlab: "subprocess.Popen[str]", count: int) -> list[int]:
    """Process numbers of its emulated machines, once there are so many."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        children = Path(f"/proc/{hetlab.pid}/task/{hetlab.pid}/children").read_text().split()
        found = [int(c) for c in children if "qemu" in Path(f"/proc/{c}/comm").read_text()]
        if len(found) == count:
            return found
        time.sleep(0.2)
    raise AssertionError("no machine was started")


def test_a_dead_machine_costs_its_own_run(tmp_path: Path) -> None:
    run = ("run", "santacruz-basic", "--cc", "reno", "--cc", "santacruz", "--machines", "1")
    process = start(*run, "--on", "vm", "--json", "--out", tmp_path)
    os.kill(machines(process, 1)[0], signal.SIGKILL)
    out, errors = process.communicate(timeout=1800)
    assert process.returncode == 1
    assert [json.loads(line)["cc"] for line in out.splitlines()] == ["santacruz"]
    assert "failed: santacruz-basic reno seed 1: the machine ended during this run" in errors


def test_interrupt_leaves_no_machine(tmp_path: Path) -> None:
    process = start("run", "santacruz-basic", "--cc", "reno", "--on", "vm", "--out", tmp_path)
    (machine,) = machines(process, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not Path(f"/proc/{machine}").exists()


def test_mininet_script(hetlab: Hetlab) -> None:
    script = ("python3", "tools/mininet/lossy.py", "--cc", "santacruz:n_op=4", "--cc", "reno", "--duration", "10")
    done = hetlab("exec", "--on", "vm", "--environment", "--", *script, cwd=TOP, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    goodput_mbit = {words[0]: words[1] for words in map(str.split, done.stdout.splitlines()) if len(words) == 6}
    assert 1.5 < float(goodput_mbit["santacruz:n_op=4"]) < 2
    assert 1 < float(goodput_mbit["reno"]) < 2
    assert "plots in lossy.png" in done.stdout


def test_status_streams_and_place(hetlab: Hetlab) -> None:
    command = "pwd; echo wrong >&2; nproc; uname -r; exit 7"
    done = hetlab("exec", "--on", "vm", "--kernel", "6.1", "--", "sh", "-c", command, cwd=TOP / "tools" / "ci")
    assert done.returncode == 7
    place, _cpus, release = done.stdout.splitlines()
    assert place == "/hetcc/tools/ci"
    assert release.startswith("6.1.")
    assert done.stderr.splitlines()[-1] == "wrong"


def test_a_panic_is_no_result(hetlab: Hetlab) -> None:
    done = hetlab("exec", "--on", "vm", "--", "sh", "-c", "echo c >/proc/sysrq-trigger", cwd=TOP)
    assert done.returncode == 125
    assert "Kernel panic - not syncing: sysrq triggered crash" in done.stderr


def test_a_trace_on_debians_kernel(hetlab: Hetlab, tmp_path: Path) -> None:
    """The lab's qdisc, built for it: saturating UDP gets the opportunities of a trace, its queue is full."""
    udp = 'flow.main={src="s",dst="d",proto="udp",rate_mbit=6,packet_bytes=1500}'
    trace = 'link.cell.forward={trace="cellular:mean_mbit=2,duration_s=7,sigma=0.3",queue_pkts=50}'
    args = ("--set", udp, "--set", trace, "--set", "duration_s=4", "--json", "--out", tmp_path)
    done = hetlab("run", "lte", "--cc", "cubic", *args, "--on", "vm", "--kernel", "6.1", timeout=1800)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["flows"][0]["goodput_mbit"] == pytest.approx(
        result["queue"]["capacity_mbit"], rel=0.15
    )  # and the tail
    assert result["queue"]["max_pkts"] == 50
