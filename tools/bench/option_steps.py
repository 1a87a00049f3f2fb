#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the Santa Cruz option costs, in instructions of the kernel: a count, not a time.

A machine's kernel process is stepped one instruction at a time (count_steps.c) between two packets,
far into a transfer: both hosts, the router between them, timers; not the programs. In virtual time
the same happens in each variant, so that the counts differ by what the patch adds and by nothing
else. Prints a table and writes docs/data/option-steps.json, which docs/option.md is filled from
(make docs).

  off      patched, net.ipv4.tcp_santacruz 0, to the unpatched kernel: packets travel alone
  in use   the same with 1
  runs     instructions that a receiver with 8000 runs of one byte out of order needs for a packet
"""

import argparse
import bisect
import json
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from hetlab import paths
from hetlab.build import kernel, programs
from hetlab.errors import LabError
from hetlab.machines import uml
from hetlab.paths import BUILD, VENV

HERE = Path(__file__).resolve().parent
DATA = paths.TOP / "docs" / "data" / "option-steps.json"
COUNTER = BUILD / "steps" / "count_steps"
# Called for each packet that a host gets
PER_PACKET = "tcp_v4_rcv"
BYTES = 6_000_000
RUNS = 8000
FUNCTIONS = 200


@dataclass(frozen=True)
class Case:
    """What a machine does, from which packet on it is counted, and for how many."""

    name: str
    command: tuple[str, ...]
    skip: int
    packets: int


def transfer(mode: str) -> Case:
    """Bulk data, each segment by itself, 1 Gbit/s, 4 ms."""
    return Case("transfer", (str(HERE / "option_cost_guest.sh"), mode, str(BYTES), "none", "-"), 1500, 300)


def runs(mode: str, count: int = RUNS) -> Case:
    """A peer that leaves out every other byte; the counted packets are further ones of its kind."""
    words = (str(VENV / "bin" / "python"), str(HERE / "option_runs_guest.py"), mode, str(count + 50))
    return Case("runs", words, count, 20)


CASES = {"transfer": transfer, "runs": runs}
# Kernel and sysctl
VARIANTS = {"unpatched": (False, "-"), "off": (True, "0"), "in use": (True, "1")}


def build_counter() -> None:
    """The program that steps, compiled if need be."""
    source = HERE / "count_steps.c"
    COUNTER.parent.mkdir(parents=True, exist_ok=True)
    if not COUNTER.exists() or COUNTER.stat().st_mtime < source.stat().st_mtime:
        flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
        kernel.run(
            ["gcc", *flags, "-o", str(COUNTER), str(source)], COUNTER.with_suffix(".log"), "building count_steps"
        )


def symbols(executable: Path) -> list[tuple[int, str]]:
    """Functions by address."""
    text = subprocess.run(["nm", "-n", str(executable)], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in text.splitlines())
    return [(int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tT"]


def by_function(counts: Path, known: list[tuple[int, str]]) -> Counter[str]:
    """Instructions by function; a part that the compiler has split off belongs to it."""
    addresses, found = [at for at, _ in known], Counter[str]()
    for line in counts.read_text().splitlines():
        at, times = line.split()
        name = known[bisect.bisect_right(addresses, int(at, 16)) - 1][1]
        found[name.split(".")[0]] += int(times)
    return found


def measure(console: Console, variant: str, case: Case) -> dict[str, float]:
    """Instructions per packet by function."""
    k = kernel.kernel(console, VARIANTS[variant][0])
    modules = kernel.modules(console, k)
    known, directory = symbols(k.executable), paths.scratch("steps-")
    counts, wrapper = directory / "counts", directory / "kernel"
    start = next(at for at, name in known if name == PER_PACKET)
    words = [COUNTER, counts, f"{start:x}", case.skip, case.packets, k.executable]
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
    wrapper.chmod(0o755)
    job = f"{shlex.join(case.command)} >{directory}/stdout 2>&1"
    machine = uml.boot(wrapper, modules, job, directory, uml.cpus()[-1])
    if machine.proc.wait():
        said = (directory / "stdout").read_text() if (directory / "stdout").exists() else ""
        raise LabError(f"{variant}, {case.name}: it ended too early:\n{said}{machine.console_tail(20)}")
    found = by_function(counts, known)
    shutil.rmtree(directory, ignore_errors=True)
    return {name: n / case.packets for name, n in found.most_common()}


def row_of(case: str, variant: str, counts: dict[str, float]) -> dict[str, Any]:
    """A row of the data file: the sum, and the functions that make most of it."""
    functions = {name: round(n, 2) for name, n in list(counts.items())[:FUNCTIONS]}
    return {"case": case, "variant": variant, "per_packet": round(sum(counts.values()), 2), "functions": functions}


def save(rows: list[dict[str, Any]], kernels: list[str]) -> None:
    """The data file, a row a line."""
    text = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    provenance = {"commands": ["tools/bench/option_steps.py"], "kernels": kernels}
    DATA.write_text(f'{{\n "provenance": {json.dumps(provenance)},\n "rows": [\n{text}\n ]\n}}\n')


def table(rows: list[dict[str, Any]]) -> str:
    """Instructions per packet and ratios to the unpatched kernel."""
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        total = {row["variant"]: row["per_packet"] for row in rows if row["case"] == case}
        cells = (f"{v} {n:.0f} ({n / total['unpatched']:.4f})" for v, n in total.items())
        lines.append(f"{case}: {', '.join(cells)}")
    return "\n".join(lines)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    args = parser.parse_args()
    console = Console(stderr=True)
    taken = json.loads(DATA.read_text())["rows"] if DATA.exists() else []
    rows = [row for row in taken if row["case"] not in (args.case or CASES)]
    try:
        build_counter()
        programs.tools(console)
        for name in args.case or CASES:
            for variant, (_, mode) in VARIANTS.items():
                rows.append(row_of(name, variant, measure(console, variant, CASES[name](mode))))
                console.print(f"{name}, {variant}: counted")
    except LabError as error:
        console.print(f"option_steps: {error}", markup=False)
        return 1
    save(rows, [kernel.kernel(console, patched).key for patched in (False, True)])
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
