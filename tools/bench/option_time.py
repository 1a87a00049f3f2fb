#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Time that a receiver with 8000 runs of one byte needs for a packet and its ACK, with the option and without.

A module in a machine of virtual time (timed_rx) reads the processor's time stamp counter before TCP gets a packet and
when it returns: by then the ACK has been made and given to the device. Two connections to a receiver with the patch, of
which one has the option, take turns packet by packet, so that whatever else this computer does hits both. What counts
is the median difference within a turn, and that of the quickest twentieth of either kind: caches are warm then. (What
the patch costs where it is not in use is some 25 instructions: option_steps.py.) Prints a line for each machine and
writes docs/data/option-time.json, which docs/option.md is filled from (make docs).
"""

import argparse
import ctypes
import json
import shlex
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from hetlab import paths
from hetlab.build import kernel, programs
from hetlab.errors import LabError
from hetlab.machines import uml
from hetlab.paths import BUILD, VENV

HERE = Path(__file__).resolve().parent
DATA = paths.TOP / "docs" / "data" / "option-time.json"
LIBRARY = BUILD / "steps" / "ticks.so"
RUNS, TURNS = 8000, 4000
CALIBRATED_S = 0.5
TWENTIETH = 20

Row = dict[str, Any]


def module(k: kernel.Kernel) -> Path:
    """timed_rx.ko for a kernel, built anew."""
    directory = BUILD / "steps" / f"timed_rx-{k.key}"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(HERE / "timed_rx", directory)
    kernel.compile_module(k, directory, "um")
    return directory / "timed_rx.ko"


def ticks_per_us() -> float:
    """How fast the counter counts."""
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    words = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(LIBRARY), str(HERE / "ticks.c")]
    kernel.run(words, LIBRARY.with_suffix(".log"), "building ticks")
    library = ctypes.CDLL(str(LIBRARY))
    library.ticks.restype = ctypes.c_uint64
    begun, then = library.ticks(), time.monotonic()
    time.sleep(CALIBRATED_S)
    return float(library.ticks() - begun) / (time.monotonic() - then) / 1e6


def turns(console: Console, runs: int, wanted: int) -> list[tuple[int, int]]:
    """Ticks with and without the option, of each turn of one machine."""
    k = kernel.kernel(console, patched=True)
    directory = paths.scratch("time-")
    words = [VENV / "bin" / "python", HERE / "option_runs_guest.py", "pair", runs, wanted, module(k)]
    job = f"{shlex.join(map(str, words))} >{directory}/stdout 2>&1"
    machine = uml.boot(k.executable, kernel.modules(console, k), job, directory, uml.cpus()[-1])
    machine.proc.wait()
    said = (directory / "stdout").read_text()
    if machine.status() != 0:
        raise LabError(f"it failed:\n{said}{machine.console_tail(20)}")
    shutil.rmtree(directory, ignore_errors=True)
    pairs = [line.split() for line in said.splitlines()]
    return [(int(used), int(not_used)) for used, not_used in pairs]


def row_of(found: list[tuple[int, int]], per_us: float) -> Row:
    """A row of the data file: medians in us, quartiles of the differences, the quickest twentieth of either kind."""
    used, not_used = zip(*found, strict=True)
    low, more, high = statistics.quantiles([a - b for a, b in found], n=4)
    quick, quick_used = (statistics.quantiles(ticks, n=TWENTIETH)[0] for ticks in (not_used, used))
    values = {
        "without_us": statistics.median(not_used),
        "with_us": statistics.median(used),
        "more_us": more,
        "lower_quartile_us": low,
        "upper_quartile_us": high,
        "quick_without_us": quick,
        "quick_with_us": quick_used,
        "quick_more_us": quick_used - quick,
    }
    return {key: round(value / per_us, 3) for key, value in values.items()}


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=5, help="one after the other (default 5)")
    args = parser.parse_args()
    console = Console(stderr=True, highlight=False)
    rows: list[Row] = []
    try:
        per_us = ticks_per_us()
        programs.tools(console)
        for _ in range(args.machines):
            rows.append({"machine": len(rows) + 1} | row_of(turns(console, RUNS, TURNS), per_us))
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    except LabError as error:
        console.print(f"option_time: {error}", markup=False)
        return 1
    provenance = {"commands": ["tools/bench/option_time.py"], "kernels": [kernel.kernel(console, patched=True).key]}
    text = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    DATA.write_text(f'{{\n "provenance": {json.dumps(provenance)},\n "rows": [\n{text}\n ]\n}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
