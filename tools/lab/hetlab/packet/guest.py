# SPDX-License-Identifier: GPL-2.0
"""The program inside the machine: scripts one after the other, TAP on stdout.

Each script and IP version is a process of its own in a network namespace of its
own, so that none sees what another left: sysctls, counters, cached metrics.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from hetlab.errors import LabError
from hetlab.packet.model import Env, Script
from hetlab.packet.packetdrill import Packetdrill
from hetlab.packet.parser import parse
from hetlab.packet.player import Failure, Player
from hetlab.packet.trace import Trace
from hetlab.packet.tun import Clock, Tun, own_namespace, write_sysctl
from hetlab.packet.wire import ends_of

SYSCTL = Path("/proc/sys/net/ipv4/tcp_santacruz")


def note(text: str) -> None:
    """A diagnostic of TAP."""
    for line in text.splitlines():
        print(f"# {line}", flush=True)


def run(script: Script, env: Env, trace: Trace, sysctls: Sequence[str]) -> str | None:
    """Play a script in a fresh namespace; what was wrong, or None."""
    try:
        own_namespace()
        tun, clock = Tun(script.settings.mtu, ends_of(env).values(), script.settings.mss), Clock()
        write_sysctl("net/ipv4/tcp_congestion_control", script.settings.cc)
        for name, _, value in (text.partition("=") for text in sysctls):
            write_sysctl(name.replace(".", "/"), value)
        (Packetdrill if env.packetdrill else Player)(script, env, tun, clock, trace).play()
    except Failure as failure:
        return str(failure)
    except LabError as error:
        return f"{script.name}: {error}"
    except Exception:  # a fault of the harness is reported like any other
        return f"{script.name}: {traceback.format_exc()}"
    return None


def child(number: int, script: Script, env: Env, trace: Trace, sysctls: Sequence[str]) -> int:
    """One script; prints its line and diagnostics."""
    fault = run(script, env, trace, sysctls)
    trace.close()
    print(f"{'not ok' if fault else 'ok'} {number} - {Path(script.name).name} ipv{env.version}", flush=True)
    note(fault or "")
    return int(bool(fault))


def in_process(number: int, script: Script, env: Env, trace: Trace, sysctls: Sequence[str]) -> bool:
    """Fork, play, return whether it held; a process that dies counts as a failure."""
    pid = os.fork()
    if not pid:
        os._exit(child(number, script, env, trace, sysctls))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, 1):
        print(f"not ok {number} - {Path(script.name).name} ipv{env.version}", flush=True)
        note(f"{script.name}: the process that played it ended with {code}")
    return code == 0


def variants(paths: list[Path], versions: list[int], packetdrill: bool) -> Iterator[tuple[Script, Env]]:
    """Scripts understood for each IP version they are for."""
    for path in paths:
        for version in versions:
            env = Env(version, SYSCTL.exists(), packetdrill)
            script = parse(str(path), path.read_text(), env)
            if script.settings.ip in (None, version):
                yield script, env


def main() -> int:
    """Entry point: ``python -m hetlab.packet.guest [options] SCRIPT...``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ip", type=int, choices=(4, 6))
    parser.add_argument("--pcap-dir", type=Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--packetdrill", action="store_true")
    parser.add_argument("--sysctl", action="append", default=[])
    parser.add_argument("scripts", type=Path, nargs="+")
    args = parser.parse_args()
    try:
        planned = list(variants(args.scripts, [args.ip] if args.ip else [4, 6], args.packetdrill))
    except LabError as error:
        print(f"Bail out! {error}", flush=True)
        return 2
    failed = 0
    for number, (script, env) in enumerate(planned, 1):
        capture = args.pcap_dir and args.pcap_dir / f"{Path(script.name).stem}-ipv{env.version}.pcap"
        failed += not in_process(number, script, env, Trace(capture, args.verbose, note), args.sysctl)
    print(f"1..{len(planned)}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
