# SPDX-License-Identifier: GPL-2.0
"""TAP for the selftests in Python; the modules are those of HETLAB_MODULES, a directory, or what modprobe finds."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

KSFT_SKIP = 4
MODULES = ["tcp_santacruz", "tcp_westwood_fr", "tcp_hybla_ext"]
TOOLS = ["ip", "tc", "ethtool", "unshare"]
OWN_NETWORK = "HETCC_OWN_NETWORK"

results: list[bool] = []
loaded: list[str] = []
mark = f"hetcc selftest {os.getpid()}: {Path(sys.argv[0]).name}"
FAULTS = ("WARNING", "BUG", "UBSAN", "Oops", "divide error")


def ok(good: bool, name: str) -> None:
    """One TAP line."""
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


def skip(name: str, reason: str) -> None:
    """One TAP line for what this kernel cannot do."""
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {reason}", flush=True)


def skip_all(reason: str) -> None:
    """This kernel cannot run the test."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(KSFT_SKIP)


def bail(reason: str) -> None:
    """Something is missing that any kernel could have."""
    print(f"Bail out! {reason}")
    sys.exit(1)


def quiet(*args: str) -> bool:
    """Run a command for its exit status."""
    return subprocess.run(args, capture_output=True, check=False).returncode == 0


def load(module: str) -> bool:
    """Load a module."""
    directory = os.environ.get("HETLAB_MODULES")
    return quiet("insmod", f"{directory}/{module}.ko") if directory else quiet("modprobe", module)


def begin() -> None:
    """Go into a network namespace whose loopback device can be a path; load the modules."""
    if not os.environ.get(OWN_NETWORK):
        print("TAP version 13", flush=True)
        if os.geteuid() != 0:
            bail("not root")
        for tool in TOOLS:
            if not shutil.which(tool):
                bail(f"{tool} is not installed")
        if not quiet("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"):
            skip_all("no network namespaces or netem")
        os.environ[OWN_NETWORK] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    Path("/dev/kmsg").write_text(mark)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for module in MODULES:
        if not Path("/sys/module", module).is_dir():
            if not load(module):
                skip_all(f"{module} is neither loaded nor installed")
            loaded.append(module)


def usable(congestion_control: str) -> bool:
    """Does the kernel have it?"""
    with contextlib.suppress(OSError), socket.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
        return True
    return False


def finish() -> None:
    """Look into the kernel log, print the plan, end with the status."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    log = log.rpartition(mark)[2]
    for module in loaded:
        if not quiet("rmmod", module):
            print(f"# {module} is still in use, and loaded")
    ok(not any(word in log for word in FAULTS), "nothing in the kernel log")
    print(f"1..{len(results)}")
    sys.exit(not all(results))
