# SPDX-License-Identifier: GPL-2.0
"""Congestion controls that a kernel of ours offers, and their parameters: faults are told before anything boots."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from hetlab.build.kernel import Kernel
from hetlab.errors import LabError, meant
from hetlab.model import congestion
from hetlab.model.job import Job

BUILT_IN = re.compile(r"^tcp_(\w+)\.(file|parm)=([^:]*)")
ALWAYS = "reno"  # is no module
NONE = {"diag", "sigpool"}  # modules whose names begin with tcp_, too

Offered = Mapping[str, set[str]]


def offered(k: Kernel, modules: Path) -> Offered:
    """Names of congestion controls with those of their parameters."""
    found: dict[str, set[str]] = {ALWAYS: set()}
    for text in (k.out / "modules.builtin.modinfo").read_text().split("\0"):
        if match := BUILT_IN.match(text):
            cc, what, name = match.groups()
            if cc in NONE:
                continue
            found.setdefault(cc, set()).update({name} if what == "parm" else ())
    return found | {cc: parameters(modules / f"{module}.ko") for cc, module in congestion.ours().items()}


def parameters(module: Path) -> set[str]:
    """Names of a module's parameters."""
    done = subprocess.run(["modinfo", "-F", "parm", str(module)], capture_output=True, text=True, check=True)
    return {line.partition(":")[0] for line in done.stdout.splitlines()}


def check(jobs: Iterable[Job], have: Offered) -> None:
    """LabError where a job names a congestion control or a parameter that is not there."""
    for job in jobs:
        own = {cc: parameters(Path(candidate.ko)) for candidate in job.candidates for cc in candidate.names}
        have = {**have, **own}
        for cc in sorted(job.ccs):
            if cc not in have:
                raise LabError(f"{job.name}: {cc!r} is no congestion control of this kernel{_choice(cc, have)}")
        for name in job.cc_params:
            if name not in have.get(job.cc, ()):
                raise LabError(f"{job.name}: {job.cc} has no parameter {name!r}{_choice(name, have.get(job.cc, ()))}")


def _choice(word: str, known: Iterable[str]) -> str:
    return f"{meant(word, known)}; there are: {', '.join(sorted(known)) or 'none'}"
