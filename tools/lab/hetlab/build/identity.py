# SPDX-License-Identifier: GPL-2.0
"""What results were measured with: hashes of kernel, modules and code."""

import os
import subprocess
from pathlib import Path

from hetlab.build import packed
from hetlab.build.kernel import Kernel, digest, files_digest, module_sources
from hetlab.paths import BIN, LAB, TOP

# What a run depends on, see lab_digest; that these import nothing else is a test (tests/style/test_imports.py)
RUN_CODE = ("errors.py", "paths.py", "model", "build", "emulation", "machines", "candidates", "results")


def commit() -> str:
    """This tree's commit, with -dirty if it is not clean."""
    if here := packed.manifest():
        return str(here["commit"])
    args = ["git", "-C", str(TOP), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(args, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def hashes(k: Kernel, module_dir: Path) -> dict[str, str]:
    """What results are measured with, of modules all that there are; see hetlab.results.loaded."""
    return {"kernel": k.key, "modules": modules(module_dir), "commit": commit()}


def modules(directory: Path) -> str:
    """Built modules with the hashes of their files, which have no paths in them: alike wherever they are built."""
    return ", ".join(f"{ko.stem} {digest(ko.read_bytes())}" for ko in sorted(directory.glob("*.ko")))


def lab_digest() -> str:
    """Short hash of the lab's own code and tools: what else decides the numbers of a run.

    Of the code the packages that carry out and evaluate runs, which import nothing from the others: a change of a
    report or of a command leaves the results as they are.
    """
    below = [LAB / "hetlab" / name for name in RUN_CODE]
    code = [path for top in below for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    own = [path for path in code if path.is_file() and path.suffix != ".pyc"]
    programs = sorted((TOP / "tools" / "bpf").glob("*.c"))
    return files_digest([*own, *programs, *(BIN / name for name in ("flowgen", "hetprobe", "hetreplay", "hetinit"))])


def host_hashes() -> dict[str, str]:
    """The same for a run on this host: the running kernel, the module sources."""
    return {"kernel": os.uname().release, "modules": files_digest(module_sources()), "commit": commit()}
