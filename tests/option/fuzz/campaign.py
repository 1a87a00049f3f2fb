#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hostile peer, many packets: scfuzz in chunks, each in a machine of its own, one machine for each CPU.

Prints the JSON object of every chunk as it ends, then one with the sums. A chunk
that fails is named with the command that repeats it.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

TOP = Path(__file__).resolve().parents[3]
HETLAB = TOP / "tools" / "hetlab"
PLANS = [
    ("--ip=4", "--role=send"),
    ("--ip=6", "--role=recv"),
    ("--no-gro", "--ip=4", "--role=both"),
    ("--ip=6", "--role=send"),
    ("--no-gro", "--ip=6", "--role=both"),
    ("--ip=4", "--role=recv"),
]
SUMMED = ["packets", "with_options", "lively", "options", "backlogs", "connections", "negotiated"]
SUMMED += ["kernel_segments", "kernel_options", "kernel_faults", "probes", "virtual_s"]
WALL_LIMIT_S = 1800


def kernel_words(plain: bool, series: str) -> list[str]:
    """Options of hetlab that choose the kernel."""
    return ["--patched", *([] if plain else ["--debug"]), *([] if series == "6.12" else ["--series", series])]


@dataclass(frozen=True)
class Chunk:
    """What one machine does."""

    seed: int
    count: int
    plain: bool  # without the checkers, for the rate
    series: str = "6.12"

    def command(self) -> list[str]:
        """The command that does it, and repeats it."""
        kernel = kernel_words(self.plain, self.series)
        fuzz = [*PLANS[self.seed % len(PLANS)], f"--count={self.count}", f"--seed={self.seed}"]
        script = str(Path("tests") / "option" / "fuzz" / "hostile.sh")
        return [str(HETLAB.relative_to(TOP)), "exec", *kernel, f"--wall-limit={WALL_LIMIT_S}", "--", script, *fuzz]


def run(chunk: Chunk, cpus: "SimpleQueue[int]") -> tuple[dict[str, Any], str]:
    """Result of a chunk, and what is wrong with it."""
    cpu = cpus.get()
    begun = time.monotonic()
    command = ["taskset", "-c", str(cpu), *chunk.command()]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    cpus.put(cpu)
    lines = done.stdout.splitlines()
    result = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {"packets": 0, "counters": {}}
    result["wall_s"] = round(time.monotonic() - begun, 1)
    failed = done.returncode or not result.get("ok")
    return result, f"exit status {done.returncode}\n{done.stderr}" if failed else ""


def total(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums of what can be summed."""
    sums: dict[str, Any] = {key: sum(r.get(key, 0) for r in results) for key in SUMMED}
    counters: Counter[str] = Counter()
    for r in results:
        counters.update(r["counters"])
    return {"total": len(results), **sums, "counters": dict(counters)}


def chunks(args: argparse.Namespace) -> Iterator[Chunk]:
    """Consecutive seeds until there are enough packets."""
    for n in range(-(-args.packets // args.chunk)):
        yield Chunk(args.seed + n, min(args.chunk, args.packets - n * args.chunk), args.plain, args.series)


def prepare(plain: bool, series: str) -> None:
    """Build the kernel and scfuzz."""
    kernel = [str(HETLAB), "kernel", *kernel_words(plain, series)]
    for command in (kernel, ["make", "-s", "-C", str(TOP / "tests" / "option" / "fuzz")]):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=10_000_000, help="in all (default: %(default)s)")
    parser.add_argument("--chunk", type=int, default=500_000, help="packets for a machine (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first chunk (default: %(default)s)")
    parser.add_argument("--plain", action="store_true", help="without KASAN and UBSAN")
    parser.add_argument(
        "--series", choices=("6.1", "6.12", "7.2"), default="6.12", help="Linux of the kernel (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> int:
    """Run everything; 1 if anything failed."""
    args = arguments()
    prepare(args.plain, args.series)
    begun = time.monotonic()
    cpus: SimpleQueue[int] = SimpleQueue()
    available = sorted(os.sched_getaffinity(0))
    for cpu in available:
        cpus.put(cpu)
    results, failures = [], 0
    with ThreadPoolExecutor(len(available)) as pool:
        planned = list(chunks(args))
        for chunk, (result, wrong) in zip(planned, pool.map(lambda c: run(c, cpus), planned), strict=True):
            results.append(result)
            print(json.dumps(result), flush=True)
            if wrong:
                failures += 1
                print(f"failed: {shlex.join(chunk.command())}\n{wrong}", file=sys.stderr, flush=True)
    wall_s = time.monotonic() - begun
    sums = total(results)
    print(json.dumps(sums | {"wall_s": round(wall_s, 1), "per_s": round(sums["packets"] / wall_s), "failed": failures}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
