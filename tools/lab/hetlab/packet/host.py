# SPDX-License-Identifier: GPL-2.0
"""The side outside the machine: look at the scripts, then boot one machine for all of them."""

import functools
import io
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hetlab.errors import LabError
from hetlab.machines import exec_uml
from hetlab.model import names
from hetlab.packet.model import Env, Script
from hetlab.packet.parser import parse
from hetlab.paths import TOP, VENV

FOLDERS = tuple(TOP / "tests" / folder for folder in ("packet", "option/packet", "modules/packet"))
VERSIONS = (4, 6)
POINT = re.compile(r"^(ok|not ok) \d+ - (\S+) ipv(\d)$")
PACKET = re.compile(r"^# [\d.]+ [<>] ")
Points = dict[tuple[str, int], tuple[bool, str]]


def check(scripts: list[Path], packetdrill: bool = False) -> None:
    """Understand every script in every variant before a machine is started."""
    for path in scripts:
        if not path.is_file():
            raise LabError(f"{path}: no such file")
        for version in VERSIONS:
            for patched in (False, True):
                parse(str(path), path.read_text(), Env(version, patched, packetdrill))


def command(
    scripts: list[Path],
    ip: str | None = None,
    pcap_dir: Path | None = None,
    verbose: bool = False,
    *,
    packetdrill: bool = False,
    sysctls: Sequence[str] = (),
) -> list[str]:
    """What the machine runs."""
    words = [str(VENV / "bin" / "python"), "-m", "hetlab.packet.guest"]
    if ip:
        words.append(f"--ip={ip}")
    if pcap_dir:
        pcap_dir.mkdir(parents=True, exist_ok=True)
        words.append(f"--pcap-dir={pcap_dir.resolve()}")
    words += [*["--verbose"] * verbose, *["--packetdrill"] * packetdrill, *(f"--sysctl={s}" for s in sysctls)]
    return [*words, "--", *map(str, scripts)]


def our_scripts() -> list[Path]:
    """The packet scripts of this tree, by name."""
    return sorted((path for folder in FOLDERS for path in folder.glob("*.pkt")), key=lambda path: path.name)


@functools.cache
def _ours() -> dict[Path, Script]:
    """The same, parsed for the patched kernel and IPv4."""
    return {path: parse(str(path), path.read_text(), Env(VERSIONS[0], True)) for path in our_scripts()}


def scripts_of(claim: str) -> tuple[Path, ...]:
    """Our scripts that name a claim (a line ``// claim: ID``), by its name of today or an older one."""
    known = {claim, *names.old_forms(claim)}
    return tuple(path for path, script in _ours().items() if script.directives.get("claim") in known)


def versions_of(path: Path) -> tuple[int, ...]:
    """IP versions in which one of our scripts is played."""
    only = _ours()[path].settings.ip
    return (only,) if only else VERSIONS


def points(output: str) -> Points:
    """TAP as (script, IP version): (held, diagnostics)."""
    found: Points = {}
    key = None
    for line in output.splitlines():
        if point := POINT.match(line):
            key = point[2], int(point[3])
            found[key] = point[1] == "ok", ""
        elif key and line.startswith("#"):
            found[key] = found[key][0], f"{found[key][1]}{line}\n"
    return found


def traces(output: str) -> dict[tuple[str, int], str]:
    """TAP of ``--verbose`` as (script, IP version): its packets, which stand before its line."""
    found: dict[tuple[str, int], str] = {}
    lines: list[str] = []
    for line in output.splitlines():
        if point := POINT.match(line):
            found[point[2], int(point[3])] = "\n".join(lines)
            lines = []
        else:
            lines += [line] * bool(PACKET.match(line))
    return found


def play(executable: Path, modules: Path, words: list[str], wall_limit_s: float = 600) -> str:
    """TAP of all scripts of a command() in one machine; LabError if it did not come to its end."""
    out = io.BytesIO()
    status = exec_uml.execute(executable, modules, words, wall_limit_s, out)
    if status not in (0, 1):
        raise LabError(f"packet scripts: {shlex.join(words)} ended with {status}")
    return out.getvalue().decode()
