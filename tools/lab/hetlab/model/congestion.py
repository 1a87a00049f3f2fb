# SPDX-License-Identifier: GPL-2.0
"""Congestion controls: module, looks and presets, all in congestion.toml; standard library only, guests import this."""

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from hetlab.errors import LabError, meant

FILE = Path(__file__).with_suffix(".toml")
CC = re.compile(r"^[a-z0-9_]{1,15}$")
PARAM = re.compile(r"^([A-Za-z0-9_]+)=([^\s,]+)$")


@dataclass(frozen=True)
class Congestion:
    """A congestion control; ``presets``: named sets of module parameters; ``dash``: lengths in points, empty: solid."""

    name: str
    module: str
    colour: str
    dash: tuple[float, ...]
    marker: str
    ours: bool
    order: int
    presets: dict[str, dict[str, str]]


@functools.cache
def known() -> dict[str, Congestion]:
    """Those of congestion.toml, in its order; every other one is the kernel's, without a look of its own."""
    found: dict[str, Congestion] = {}
    for cc, t in tomllib.loads(FILE.read_text()).items():
        presets = {name: {k: str(v) for k, v in params.items()} for name, params in t.get("preset", {}).items()}
        module = t.get("module", f"tcp_{cc}")
        found[cc] = Congestion(
            t["name"], module, t["colour"], tuple(t["dash"]), t["marker"], t["ours"], len(found), presets
        )
    return found


def ours() -> dict[str, str]:
    """Congestion controls of this project, with their modules."""
    return {cc: one.module for cc, one in known().items() if one.ours}


def module_of(cc: str) -> str:
    """Module that holds the parameters of a congestion control."""
    return known()[cc].module if cc in known() else f"tcp_{cc}"


def presets_of(cc: str) -> dict[str, dict[str, str]]:
    """Parameters of each preset of a congestion control."""
    return known()[cc].presets if cc in known() else {}


def family(label: str) -> str:
    """The congestion control of a label, without preset and parameters."""
    return re.split("[@:]", label, maxsplit=1)[0]


def parse(text: str) -> tuple[str, dict[str, str]]:
    """``NAME[@PRESET][:param=value,...]``: the name, and the parameters, those given over the preset's."""
    head, _, rest = text.partition(":")
    cc, at, preset = head.partition("@")
    if not CC.match(cc):
        hint = f"; give --cc {' --cc '.join(cc.split(','))}" if "," in cc else meant(cc.lower(), known())
        raise LabError(f"--cc {text}: {cc!r} is not a congestion control name (a-z, 0-9, _; at most 15){hint}")
    presets = presets_of(cc)
    if at and preset not in presets:
        raise LabError(f"--cc {text}: {cc} has no preset {preset!r}; it has: {', '.join(presets) or 'none'}")
    params = dict(presets.get(preset, {}))
    for item in filter(None, rest.split(",")):
        match = PARAM.match(item)
        if not match:
            raise LabError(f"--cc {text}: {item!r} must be param=value")
        params[match[1]] = match[2]
    return cc, params


def label(cc: str, params: dict[str, str]) -> str:
    """``santacruz:n_op=1.5``; parameters that make up a preset are named by it: ``santacruz@paper:n_op=1.5``."""
    within = [name for name, preset in presets_of(cc).items() if preset and preset.items() <= params.items()]
    preset = max(within, key=lambda name: len(presets_of(cc)[name]), default="")
    rest = params.keys() - presets_of(cc).get(preset, {}).keys()
    return cc + f"@{preset}" * bool(preset) + ":" * bool(rest) + ",".join(f"{k}={params[k]}" for k in sorted(rest))
