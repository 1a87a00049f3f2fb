# SPDX-License-Identifier: GPL-2.0
"""A build folder that came in a pack: nothing in it is built, and what it lacks cannot be.

The pack's manifest says what its kernels and modules are, since neither the kernel's source nor the compiler is there
to tell. Programs that the machines need and that a host may lack, with their libraries, are in build/root.
"""

import functools
import json
from pathlib import Path
from typing import Any

from hetlab.errors import LabError
from hetlab.paths import BUILD

MANIFEST = "pack.json"
PROGRAMS = BUILD / "root" / "bin"
LIBRARIES = BUILD / "root" / "lib"


@functools.cache
def manifest() -> dict[str, Any] | None:
    """The manifest of the pack; None: this build folder is an ordinary one."""
    path = BUILD / MANIFEST
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def kernel(patched: bool, other: bool) -> dict[str, str] | None:
    """Source, build tree and key of a kernel of the pack; None without a pack; LabError where it has no such kernel."""
    if not (here := manifest()):
        return None
    found: dict[str, str] | None = here["kernels"].get("patched" if patched else "plain")
    if other or not found:
        what = "one with other patches or checkers" if other else "a patched one" if patched else "an unpatched one"
        raise LabError(f"{BUILD} is a pack without a kernel such as is asked for ({what}), and nothing is built there")
    return found


def module_directory(key: str, instead: bool) -> Path | None:
    """Modules of the pack for a kernel; None without a pack."""
    if not (here := manifest()):
        return None
    if instead or key not in here["modules"]:
        raise LabError(f"{BUILD} is a pack: modules of other files need a compiler and a checkout")
    return BUILD / "modules" / str(here["modules"][key])
