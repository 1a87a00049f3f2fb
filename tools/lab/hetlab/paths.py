# SPDX-License-Identifier: GPL-2.0
"""Where things are: the source tree and everything that is built under ``build/``."""

import errno
import os
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HETCC_BUILD", TOP / "build")).resolve()
BIN = BUILD / "bin"
VENV = BUILD / "venv"
TRACES = BUILD / "traces"
LAB = TOP / "tools" / "lab"
SCENARIOS = TOP / "tools" / "scenarios"
PAPERS = LAB / "papers"
KERNEL_DIR = TOP / "tools" / "kernel"
GUEST = LAB / "hetlab" / "machines" / "guest"


LINK_PROGRAM = "link.bpf.o"


def skew_object(ppm: float, offset_s: float = 0, stands: bool = False) -> str:
    """File name of the BPF program that makes a host's clock run this much fast, and be this far ahead, or stand."""
    ahead = f"{round(offset_s * 1e6):+d}us" if offset_s else ""
    return f"skew{round(ppm * 1000):+d}ppb{ahead}{'-stands' if stands else ''}.o"


def not_ours(error: OSError) -> str:
    """Which path this user may not use, and what to do if it is in BUILD; empty if the error is another one."""
    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS) or not isinstance(error.filename, str | bytes):
        return ""
    path = Path(os.fsdecode(error.filename))
    hint = f"; set HETCC_BUILD=DIR, a directory of your own, for all that goes to {BUILD}"
    return f"{path}: {error.strerror}{hint if path.is_relative_to(BUILD) else ''}"


def scratch(prefix: str) -> Path:
    """A new directory below ``build/run`` for the files of a run or a machine."""
    base = BUILD / "run"
    base.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=base))
