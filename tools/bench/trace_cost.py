#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""CPU time of a run over a trace and over a constant rate that carries as much: what following a trace costs.

build/venv/bin/python tools/bench/trace_cost.py [TRACE [SECONDS]]

TRACE is a file or a recipe (docs/traces.md), by default a synthetic LTE link of 4.6 Mbit/s. Prints the CPU time (s) of
the machines alone: what a run of 1 s costs, with hetlab's own start, is taken off.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from hetlab.model import traces

TOP = Path(__file__).resolve().parents[2]
SCENARIO = """
base = "bulk"
remove = ["link.bottleneck.forward"]
title = "cost of a trace"
[link.bottleneck]
forward = {{ {rate}, delay_ms = 20, queue_pkts = 500 }}
reverse = {{ delay_ms = 20 }}
"""


def cpu_s(file: Path, duration_s: float) -> float:
    """CPU time of a command with one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as out:
        words = [str(file), "--cc", "cubic", "--set", f"duration_s={duration_s:g}", "--json", "--out", out]
        subprocess.run([str(TOP / "tools" / "hetlab"), "run", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print both costs."""
    trace = sys.argv[1] if len(sys.argv) > 1 else "cellular:seed=1,mean_mbit=4.6,duration_s=120"
    duration_s = float(sys.argv[2]) if len(sys.argv) > 2 else 120
    capacity = traces.load(str(Path(trace).absolute()) if Path(trace).exists() else trace).capacity
    if capacity is None:
        sys.exit(f"{trace}: has no capacity")
    mbit = capacity.bits(round(duration_s * 1e9)) / duration_s / 1e6
    named = str(Path(trace).absolute()) if Path(trace).exists() else trace
    with tempfile.TemporaryDirectory() as directory:
        for name, rate in (("trace", f'trace = "{named}"'), ("constant", f"rate_mbit = {mbit:.6f}")):
            file = Path(directory) / f"{name}.toml"
            file.write_text(SCENARIO.format(rate=rate))
            cpu_s(file, 1)  # builds what is missing
            own = cpu_s(file, 1)
            print(f"{name:9} {mbit:7.3f} Mbit/s, {duration_s:g} s: {cpu_s(file, duration_s) - own:6.2f} s of CPU")


if __name__ == "__main__":
    main()
