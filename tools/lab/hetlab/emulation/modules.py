# SPDX-License-Identifier: GPL-2.0
"""What a run sets in the kernel: parameters of modules, the seed; and whether a congestion control is there."""

import os
import subprocess
from pathlib import Path

from hetlab.errors import LabError
from hetlab.model.congestion import module_of

SEED_FILE = Path("/sys/module/random/parameters/lab_seed")


class Parameters:
    """Module parameters of a run; restored afterwards."""

    def __init__(self, cc: str, params: dict[str, str]) -> None:
        module = module_of(cc)
        self.dir = Path("/sys/module") / module / "parameters"
        self.ko = f"{os.environ.get('HETLAB_MODULES', '')}/{module}.ko"
        self.cc = cc
        self.params = params
        self.before: dict[str, str] = {}

    def __enter__(self) -> "Parameters":
        try:
            for name, value in self.params.items():
                self._set(name, value)
        except LabError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        for name, value in self.before.items():
            (self.dir / name).write_text(value)

    def _set(self, name: str, value: str) -> None:
        path = self.dir / name
        if not path.exists():
            known = sorted(p.name for p in self.dir.iterdir()) if self.dir.is_dir() else []
            raise LabError(f"{self.cc}: no parameter {name!r}; it has: {', '.join(known) or 'none'}")
        before = path.read_text().strip()
        try:
            path.write_text(value)
        except OSError as err:
            raise LabError(f"{self.cc}: {name}={value} refused ({err.strerror}). {described(self.ko, name)}") from err
        self.before[name] = before


def described(ko: str, name: str) -> str:
    """Allowed range of a parameter, from the module's own description."""
    out = subprocess.run(["modinfo", "-F", "parm", ko], capture_output=True, text=True, check=False).stdout
    line = next((line for line in out.splitlines() if line.startswith(f"{name}:")), "")
    return line.replace(":", ": ", 1)


def require_cc(names: set[str]) -> None:
    """Abort when the kernel lacks a congestion control."""
    have = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for name in sorted(names - set(have)):
        raise LabError(f"congestion control {name!r} is not in this kernel; it has: {', '.join(sorted(have))}")


def set_seed(seed: int) -> bool:
    """Restart the kernel's random numbers; False where the kernel has no lab_seed."""
    if not SEED_FILE.exists():
        return False
    SEED_FILE.write_text(str(seed))
    return True


def n_op_pkts() -> float:
    """The present operating point of santacruz."""
    return float(Path("/sys/module/tcp_santacruz/parameters/n_op").read_text())
