# SPDX-License-Identifier: GPL-2.0
"""Congestion controls that a kernel of ours offers, and their parameters: faults are told before anything boots."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hetlab.build.kernel import Kernel
from hetlab.errors import LabError, meant
from hetlab.model import congestion, dualpi2
from hetlab.model.job import Job
from hetlab.model.scenario import WAYS

BUILT_IN = re.compile(r"^tcp_(\w+)\.(file|parm|parmtype)=([^:]*):?(.*)", re.DOTALL)
ALWAYS = "reno"  # is no module
NONE = {"diag", "sigpool"}  # modules whose names begin with tcp_, too
WHOLE = {"int", "uint", "long", "ulong", "short", "ushort", "byte", "ullong"}  # of module_param()
SWITCH = {"bool", "invbool"}
NUMBER = re.compile(r"\d+(\.\d{1,3})?")
# What a description of ours says of the values: "(0.5..1000)", "(0, 1)", or "0: none, 1: on long paths"
RANGE = re.compile(r"(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")
CHOICE = re.compile(r"\b(\d+):|\((\d+), (\d+)\)")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a module: type of module_param(), empty where the module itself checks; description."""

    type: str = ""
    about: str = ""

    def bounds(self) -> tuple[float, float] | None:
        """Smallest and largest value, as the description of a module of ours has them; None: it does not say."""
        if found := RANGE.search(self.about):
            return float(found[1]), float(found[2])
        choices = [int(number) for found in CHOICE.finditer(self.about) for number in found.groups() if number]
        return (min(choices), max(choices)) if len(set(choices)) > 1 else None

    def fault(self, value: str) -> str:
        """What a value must be, where it is not; empty: nothing is known against it."""
        if self.type in WHOLE:
            return "" if re.fullmatch(r"-?(\d+|0[xX][\da-fA-F]+)", value) else "a whole number"
        if self.type in SWITCH:
            return "" if re.fullmatch(r"(?i)[yn01]|on|off", value) else "y or n"
        bounds = None if self.type else self.bounds()
        if not bounds or (NUMBER.fullmatch(value) and bounds[0] <= float(value) <= bounds[1]):
            return ""
        return f"{bounds[0]:g} to {bounds[1]:g}: {self.about}"


Offered = Mapping[str, Mapping[str, Parameter]]


def offered(k: Kernel, modules: Path) -> Offered:
    """Congestion controls by name, with their parameters."""
    found: dict[str, dict[str, dict[str, str]]] = {ALWAYS: {}}
    for text in (k.out / "modules.builtin.modinfo").read_text().split("\0"):
        if match := BUILT_IN.match(text):
            cc, what, name, said = match.groups()
            if cc in NONE:
                continue
            of = found.setdefault(cc, {})
            if what != "file":
                of.setdefault(name, {})[what] = said
    built_in = {cc: {name: _parameter(said) for name, said in of.items()} for cc, of in found.items()}
    return built_in | {cc: parameters(modules / f"{module}.ko") for cc, module in congestion.ours().items()}


def parameters(module: Path) -> dict[str, Parameter]:
    """A module's parameters by name."""
    found: dict[str, dict[str, str]] = {}
    for what in ("parm", "parmtype"):
        done = subprocess.run(["modinfo", "-F", what, str(module)], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            name, _, said = line.partition(":")
            found.setdefault(name, {})[what] = said
    return {name: _parameter(said) for name, said in found.items()}


def _parameter(said: Mapping[str, str]) -> Parameter:
    return Parameter(said.get("parmtype", ""), said.get("parm", ""))


def check(jobs: Iterable[Job], have: Offered) -> None:
    """LabError where a job names a congestion control or a parameter that is not there, or a value that cannot be."""
    for job in jobs:
        own = {cc: parameters(Path(candidate.ko)) for candidate in job.candidates for cc in candidate.names}
        have = {**have, **own}
        for cc in sorted(job.ccs):
            if cc not in have:
                raise LabError(f"{job.name}: {cc!r} is no congestion control of this kernel{_choice(cc, have)}")
        known = have.get(job.cc, {})
        for name, value in job.cc_params.items():
            if name not in known:
                raise LabError(f"{job.name}: {job.cc} has no parameter {name!r}{_choice(name, known)}")
            if fault := known[name].fault(value):
                raise LabError(f"{job.name}: {job.cc}:{name}={value}: must be {fault}")


def check_queues(jobs: Iterable[Job], k: Kernel | None) -> None:
    """LabError naming the direction whose queue discipline a kernel lacks; None: one of Debian 12 or 13."""
    if k and f"sch_{dualpi2.KIND}." in (k.out / "modules.builtin.modinfo").read_text():
        return
    for job in jobs:
        for name, link in job.scenario.links.items():
            for way in WAYS:
                if link.way(way).aqm == dualpi2.KIND:
                    place = f"{job.name}: link.{name}.{way}: aqm={dualpi2.KIND!r}"
                    raise LabError(f"{place}: this kernel lacks it, which came with {dualpi2.SINCE}: --series 7.2")


def _choice(word: str, known: Iterable[str]) -> str:
    return f"{meant(word, known)}; there are: {', '.join(sorted(known)) or 'none'}"
