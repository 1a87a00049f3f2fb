#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the Santa Cruz option costs: bytes, merging on arrival, CPU time.

One bulk transfer over a veth pair in the virtual-time kernel, without the
patch, with it and the option off, and with the option in use. The CPU time is
that of the whole machine: both hosts' stacks and flowgen, less that of a
transfer of one byte. Variants take turns, so that what else this computer does
hits all of them. What disturbs adds time and never takes any away: the result
is the ratio of the means of the least disturbed third of the turns, with the
range that a bootstrap over the turns gives (95 %).
"""

import argparse
import json
import os
import random
import shutil
import statistics
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from hetlab import paths
from hetlab.build import kernel, programs
from hetlab.errors import LabError
from hetlab.machines import uml

GUEST = Path(__file__).with_name("option_cost_guest.sh")
OFFLOADS = ("tso", "gro", "none")
ETHERNET = 14
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Variant:
    """A kernel and a value of the sysctl."""

    name: str
    patched: bool
    mode: str


VARIANTS = (
    Variant("unpatched", False, "-"),
    Variant("off", True, "0"),
    Variant("negotiated", True, "1"),
)


class Bench:
    """Runs transfers on both kernels."""

    def __init__(self, console: Console) -> None:
        self.machines = {}
        for patched in (False, True):
            k = kernel.kernel(console, patched)
            self.machines[patched] = (k, kernel.modules(console, k))
        programs.tools(console)

    def run(self, variant: Variant, nbytes: int, offloads: str, capture: Path | None = None) -> float:
        """CPU seconds of a machine that makes one transfer."""
        k, modules = self.machines[variant.patched]
        directory = paths.scratch("cost-")
        command = f"{GUEST} {variant.mode} {nbytes} {offloads} {capture or '-'} >{directory}/stdout 2>&1"
        machine = uml.boot(k.executable, modules, command, directory, uml.cpus()[-1])
        _, _, usage = os.wait4(machine.proc.pid, 0)
        machine.proc.returncode = 0
        text = (directory / "stdout").read_text()
        if machine.status() != 0:
            raise LabError(f"{variant.name} {offloads}: the transfer failed: {text}\n{machine.console_tail()}")
        check(variant, text)
        shutil.rmtree(directory, ignore_errors=True)
        return usage.ru_utime + usage.ru_stime


def check(variant: Variant, text: str) -> None:
    """The option must have been in use exactly where it should, and nothing lost."""
    counters = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
    if counters.get("TcpRetransSegs") != 0:
        raise LabError(f"{variant.name}: packets were lost: {text}")
    if (counters.get("TcpExtTCPSCEstab", 0) > 0) != (variant.mode == "1"):
        raise LabError(f"{variant.name}: option used or not used against expectation: {text}")


def least(values: list[float]) -> float:
    """Mean of the lowest third."""
    return statistics.mean(sorted(values)[: max(1, len(values) // 3)])


def ratio_with_range(values: list[float], base: list[float], rounds: int = 2000) -> tuple[float, float, float]:
    """Ratio of the undisturbed times and its 95 % range by bootstrap (seed 1)."""
    rng = random.Random(1)
    ratios = sorted(
        least(rng.choices(values, k=len(values))) / least(rng.choices(base, k=len(base))) for _ in range(rounds)
    )
    return least(values) / least(base), ratios[rounds // 40], ratios[-rounds // 40 - 1]


def cpu(bench: Bench, offloads: str, nbytes: int, turns: int, console: Console) -> dict[str, dict[str, float]]:
    """CPU milliseconds per megabyte and ratios to the unpatched kernel."""
    spent: dict[str, list[float]] = {v.name: [] for v in VARIANTS}
    idle: dict[str, list[float]] = {v.name: [] for v in VARIANTS}
    for turn in range(turns):
        for variant in VARIANTS if turn % 2 else VARIANTS[::-1]:
            idle[variant.name].append(bench.run(variant, 1, offloads))
            spent[variant.name].append(bench.run(variant, nbytes, offloads))
        console.print(f"{offloads}: turn {turn + 1} of {turns}")
    for name, values in spent.items():
        spent[name] = [(v - least(idle[name])) / nbytes * MEGABYTE for v in values]
    base = spent["unpatched"]
    result = {}
    for name, values in spent.items():
        ratio, low, high = ratio_with_range(values, base)
        result[name] = {"ms_per_mb": 1000 * least(values), "ratio": ratio, "low": low, "high": high}
    return result


def segments(pcap: bytes, mss: int) -> dict[str, float]:
    """Header bytes of data segments and ACKs; wire segments per packet that TCP gets."""
    data: list[tuple[int, int]] = []
    acks: list[int] = []
    offset = 24
    while offset < len(pcap):
        captured, length = struct.unpack_from("<II", pcap, offset + 8)
        frame = pcap[offset + 16 : offset + 16 + captured]
        offset += 16 + captured
        tcp = ETHERNET + (frame[ETHERNET] & 15) * 4
        header, flags = (frame[tcp + 12] >> 4) * 4, frame[tcp + 13]
        payload = length - tcp - header
        if flags & 2:
            continue
        if payload:
            data.append((header, payload))
        else:
            acks.append(header)
    wire = sum(-(-payload // mss) for _, payload in data)
    return {
        "data_header": statistics.mean(h for h, _ in data),
        "ack_header": statistics.mean(acks),
        "segments_per_packet": wire / len(data),
        "acks_per_segment": len(acks) / wire,
    }


def bytes_and_merging(bench: Bench, nbytes: int) -> dict[str, dict[str, float]]:
    """What is on the wire, and what GRO makes of it."""
    result = {}
    for variant in VARIANTS[1:]:
        directory = paths.scratch("cost-pcap-")
        for offloads in ("none", "gro"):
            path = directory / f"{offloads}.pcap"
            bench.run(variant, nbytes, offloads, path)
            mss = 1448 if variant.mode != "1" else 1440
            result[f"{variant.name} {offloads}"] = segments(path.read_bytes(), mss)
        shutil.rmtree(directory, ignore_errors=True)
    return result


def main() -> int:
    """Measure, print a table and one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15, help="turns of all variants (default 15)")
    parser.add_argument("--mbytes", type=int, default=1500, help="size of a transfer (default 1500)")
    parser.add_argument("--offloads", choices=OFFLOADS, action="append", help="default: all three")
    args = parser.parse_args()
    console = Console(stderr=True, highlight=False)
    bench = Bench(console)
    report: dict[str, dict[str, dict[str, float]]] = {"wire": bytes_and_merging(bench, 20 * MEGABYTE)}
    for offloads in args.offloads or OFFLOADS:
        report[offloads] = cpu(bench, offloads, args.mbytes * MEGABYTE, args.turns, console)
    for group, rows in report.items():
        for name, row in rows.items():
            print(f"{group:5} {name:16} " + " ".join(f"{k}={v:.4g}" for k, v in row.items()))
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        print(f"option_cost: {error}", file=sys.stderr)
        sys.exit(2)
