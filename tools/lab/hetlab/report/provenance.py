# SPDX-License-Identifier: GPL-2.0
"""Where numbers come from, and the command that repeats them."""

import shlex
from typing import Any

from hetlab.errors import LabError
from hetlab.model import files, jobs, resolve
from hetlab.model.keys import as_plain
from hetlab.model.scenario import Experiment
from hetlab.report.runs import Group, words_of
from hetlab.results import loaded, store

SHOWN = 15


def provenance(g: Group) -> list[tuple[str, str]]:
    """Where the numbers come from."""

    def all_of(key: str) -> str:
        return words_of(sorted({str(run.result.hashes.get(key, "unknown")) for run in g.every}))

    wall = [run.result.wall_s for run in g.every if run.result.wall_s is not None]
    exact = {bool(run.result.reproducible) for run in g.every}
    return [
        ("seeds", words_of(sorted({run.result.seed for run in g.every}))),
        ("runs", f"{len(g.every)}" + (f", {sum(wall):.1f} s of real time" if wall else "")),
        ("kernel", words_of(sorted({run.result.kernel_release for run in g.every})) + f" ({all_of('kernel')})"),
        ("modules", loaded.as_text(g.modules) or "unknown"),
        ("commit", all_of("commit")),
        ("reproducible", "yes, bit by bit" if exact == {True} else "no" if exact == {False} else "only some runs"),
    ]


def command_of(g: Group) -> tuple[str, list[str]]:
    """The command line that repeats the runs, and what it does not say."""
    name, *sets = store.asked(g.every[0].directory) or (g.name.partition("[")[0],)
    words = ["tools/hetlab", "run", name, *sets]
    notes = []
    try:
        points = {s.name: resolve.resolve(s) for s in files.load(name, sets[1::2])}
    except LabError as err:
        notes.append(f"This scenario is not here now: {err}.")
    else:
        if g.name not in points:
            notes.append("The scenario file of this tree has no such point in its sweep.")
        elif changed := _differences(*(_comparable(sc, g) for sc in (points[g.name], g.resolved))):
            notes.append("Not as in the scenario file of this tree: " + words_of(changed))
        if len(points) > 1 and g.name in points:
            notes.append("The command runs every point of the sweep; this is one of them.")
    if not jobs.all_fixed(g.resolved):
        words += [word for runs in g.runs.values() for word in ("--cc", runs[0].label)]
    seeds = sorted({run.result.seed for run in g.every})
    if len(seeds) > 1 and seeds == list(range(1, len(seeds) + 1)):
        words += ["--seeds", str(len(seeds))]
    else:
        words += [word for seed in seeds for word in ("--seed", str(seed))]
    if hosts := g.every[0].result.hosts:
        words += _two_hosts(hosts)
    elif all(run.result.hashes.get("kernel") == run.result.kernel_release for run in g.every):
        words += ["--on", "host"]
    return shlex.join(words), notes


def _two_hosts(hosts: dict[str, Any]) -> list[str]:
    """Options of ``--on hosts``."""
    pairs = {f"--{end}": hosts[end]["name"] for end in ("sender", "receiver")}
    pairs |= {f"--{end}-address": hosts[end]["address"] for end in ("sender", "receiver")}
    pairs |= {f"--{key}": hosts[key] for key in ("traffic", "netem")}
    return ["--on", "hosts", *(word for pair in pairs.items() for word in pair)]


def _comparable(sc: Experiment, g: Group) -> dict[str, Any]:
    """A scenario as a dictionary; of runs between two hosts without what is not measured or emulated there."""
    found = as_plain(sc)
    if hosts := g.every[0].result.hosts:
        left_out = {"measure", "owd_pairs"} | ({"title", "links", "events"} if hosts["netem"] == "none" else set())
        return {key: value for key, value in found.items() if key not in left_out}
    return found


def _flat(value: Any, key: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {k: v for name, part in value.items() for k, v in _flat(part, f"{key}.{name}" if key else name).items()}
    if isinstance(value, tuple) and value and isinstance(value[0], dict):
        return _flat({str(i): part for i, part in enumerate(value)}, key)
    return {key: value}


def _differences(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """Values of a run that the scenario file does not have (any more)."""
    old, new = _flat(then), _flat(now)
    missing = object()
    found = [f"{key} = {value}" for key, value in old.items() if new.get(key, missing) != value]
    found += [f"no {key}" for key in new if key not in old]
    return found if len(found) <= SHOWN else [*found[:SHOWN], f"and {len(found) - SHOWN} more"]
