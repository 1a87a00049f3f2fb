# SPDX-License-Identifier: GPL-2.0
"""The modules: which there are, what is loaded and installed, and loading one."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from . import HetccError

MODULES = {
    "tcp_santacruz": ("santacruz",),
    "tcp_westwood_fr": ("westwood_fr", "westwood_gfr"),
    "tcp_hybla_ext": ("hybla_ext", "hybla_paper"),
}
OURS = tuple(cc for ccs in MODULES.values() for cc in ccs)
IPV4 = Path("/proc/sys/net/ipv4")
REJECTED = ("Key was rejected by service", "Operation not permitted")


def module_of(cc: str) -> str:
    """Name of the module that has this congestion control."""
    return next(module for module, ccs in MODULES.items() if cc in ccs)


def read(path: Path) -> str:
    """Text of a file of /proc or /sys without the line's end; empty if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def tool(*command: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of kmod (modinfo, modprobe, rmmod), or systemctl."""
    env = os.environ | {"LC_ALL": "C", "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    except FileNotFoundError as error:
        package = "systemd" if command[0] == "systemctl" else "kmod"
        raise HetccError(f"{command[0]} is missing: install {package}") from error


def module_file(module: str) -> list[tuple[str, str]]:
    """What modinfo says of the installed module, field by field; nothing if there is none."""
    lines = tool("modinfo", module).stdout.splitlines()
    return [(key, value.strip()) for key, _, value in (line.partition(":") for line in lines)]


def parameters(module: str, file: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Value and default of each parameter of a loaded module, and whether they differ."""
    described = (re.match(r"(\w+):.*; default ([\d.]+)$", value) for key, value in file if key == "parm")
    known = {m[1]: m[2] for m in described if m}
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(Path("/sys/module", module, "parameters").glob("*")):
        value, default = read(path), known.get(path.name)
        changed = None if default is None else float(value) != float(default)
        found[path.name] = {"value": value, "default": default, "changed": changed}
    return found


def signature(letters: str, signer: str) -> list[str]:
    """What the kernel notes about a module, and who signed it; E: no signature that this kernel trusts."""
    untrusted = f"signed by {signer}, whose key this kernel does not have" if signer else "unsigned"
    meaning = {"O": "out of tree", "E": f"{untrusted}: Secure Boot would refuse it", "F": "forced"}
    notes = [meaning.get(letter, letter) for letter in letters]
    return [*notes, f"signed by {signer}"] if signer and "E" not in letters else notes


def is_loaded(module: str) -> bool:
    """Whether a module is in the kernel."""
    return Path("/sys/module", module, "refcnt").exists()


def module_status(module: str) -> dict[str, Any]:
    """Everything about one of our modules."""
    sys_dir = Path("/sys/module", module)
    file = module_file(module)
    on_disk = dict(file).get("srcversion", "")
    status: dict[str, Any] = {
        "congestion_controls": list(MODULES[module]),
        "loaded": is_loaded(module),
        "installed": bool(on_disk),
        "signer": dict(file).get("signer"),
    }
    if status["loaded"]:
        srcversion = read(sys_dir / "srcversion")
        status |= {
            "version": read(sys_dir / "version"),
            "srcversion": srcversion,
            "file_differs": bool(on_disk) and on_disk != srcversion,
            "references": int(read(sys_dir / "refcnt") or 0),
            "taint": read(sys_dir / "taint"),
            "parameters": parameters(module, file),
        }
    return status


def available() -> list[str]:
    """Congestion controls that are in the kernel now."""
    return read(IPV4 / "tcp_available_congestion_control").split()


def not_installed(release: str) -> str:
    """Why a module is missing for a kernel, and what to do."""
    if Path("/lib/modules", release, "build", "include").exists():
        return f"not installed for kernel {release}: see 'dkms status hetcc'"
    return (
        f"not installed for kernel {release}, whose headers are missing:\n"
        f"  apt-get install linux-headers-{release} (Debian); DKMS then builds it"
    )


def load(cc: str) -> None:
    """Load the module of a congestion control if it is not loaded; HetccError names the cause if that fails."""
    if cc in available():
        return
    module = module_of(cc)
    said = tool("modprobe", module).stderr.strip()
    if cc in available():
        print(f"loaded {module}")
        return
    if any(words in said for words in REJECTED):
        why = "Secure Boot wants a key that it knows: mokutil --import /var/lib/dkms/mok.pub, then restart (install.md)"
    elif "not found" in said:
        why = not_installed(os.uname().release)
    else:
        why = "see dmesg"
    raise HetccError(f"{module} cannot be loaded: {said.splitlines()[-1] if said else 'no reason given'}\n  {why}")
