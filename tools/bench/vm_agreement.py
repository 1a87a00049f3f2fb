#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Do runs in virtual time and on Debian's own kernels agree?

Runs each pair of scenario and congestion control in virtual time, for as many
seeds as losses or random phases make necessary, and once on 6.12 and 6.1 under
QEMU. Each quantity measured there must be as far from the mean of the seeds as its
tolerance and four of their standard deviations at the most. Prints the table of
docs/vm.md; status 1 if a value does not agree.
"""

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetlab.cli import campaigns
from hetlab.errors import LabError
from hetlab.machines.qemu_files import SERIES
from hetlab.model import files, jobs
from hetlab.paths import BUILD

# Seeds in virtual time of a pair in which anything is random
SEEDS = 40
DEVIATIONS = 4


@dataclass(frozen=True)
class Pair:
    """A scenario, shortened, with a congestion control."""

    scenario: str
    cc: str
    duration_s: int
    seeds: int = 1

    @property
    def name(self) -> str:
        """As printed."""
        return f"{self.scenario} {self.cc}"


@dataclass(frozen=True)
class Quantity:
    """What is compared; the tolerance is ``share`` of the value and ``absolute`` of its unit."""

    name: str
    unit: str
    share: float
    absolute: float
    places: int

    def of(self, result: dict[str, Any]) -> float:
        """Its value in a result."""
        tcp = [f for f in result["flows"] if f["proto"] == "tcp"]
        found: dict[str, float] = {
            "goodput": sum(f["goodput_mbit"] for f in tcp),
            "retransmits": sum(f["retransmits"] for f in tcp),
            "mean queue": result["queue"]["steady_mean_pkts"],
            "delay p95": result["owd_ms"]["p95"],
        }
        return found[self.name]

    def agrees(self, value: float, seeds: list[float]) -> bool:
        """Whether a value may be another seed's."""
        mean, deviation = statistics.mean(seeds), statistics.pstdev(seeds)
        return abs(value - mean) <= mean * self.share + self.absolute + DEVIATIONS * deviation


PAIRS = (
    Pair("santacruz-basic", "santacruz", 10),
    Pair("santacruz-basic", "reno", 10),
    Pair("santacruz-wireless", "santacruz", 30, SEEDS),
    Pair("santacruz-wireless", "westwood_fr", 30, SEEDS),
    Pair("access-20", "cubic", 20),
    Pair("geo-clean", "reno", 30),
    Pair("geo", "hybla_ext", 60, SEEDS),
)
QUANTITIES = (
    Quantity("goodput", "Mbit/s", 0.03, 0, 3),
    Quantity("retransmits", "packets", 0.05, 3, 0),
    Quantity("mean queue", "packets", 0.05, 0.5, 1),
    Quantity("delay p95", "ms", 0.02, 1, 1),
)
Results = dict[str, list[dict[str, Any]]]


def measure(where: str, pairs: list[Pair], machines: int | None, out: Path) -> Results:
    """Results of all pairs at a place: 'virtual' or a series."""
    found: Results = {p.name: [] for p in pairs}
    planned = []
    for p in pairs:
        loaded = files.load(p.scenario, [f"duration_s={p.duration_s}"])
        seeds = list(range(1, p.seeds + 1)) if where == "virtual" else [1]
        planned += jobs.make(loaded, [jobs.parse_cc(p.cc)], seeds)

    def report(result: dict[str, Any]) -> None:
        found[f"{result['scenario']} {result['cc']}"].append(result)

    place = campaigns.virtual(machines) if where == "virtual" else campaigns.emulated(where, "icount", machines)
    campaign = campaigns.carry_out(planned, place, out / where, report)
    if campaign.failed:
        job, text = campaign.failed[0]
        raise LabError(f"{where}: {job['scenario']['name']} {job['cc']} seed {job['seed']}: {text}")
    return found


def table(pairs: list[Pair], measured: dict[str, Results]) -> tuple[list[str], int]:
    """Lines of the table, and how many values do not agree: they are in bold."""
    heads = ["scenario, congestion control", "on", *(f"{q.name}, {q.unit}" for q in QUANTITIES)]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * len(QUANTITIES)]
    wrong = 0
    for p in pairs:
        seeds = {q: [q.of(r) for r in measured["virtual"][p.name]] for q in QUANTITIES}
        lines.append(f"| {p.name} | virtual time | {' | '.join(_spread(q, seeds[q]) for q in QUANTITIES)} |")
        for series in SERIES:
            cells = []
            for q in QUANTITIES:
                value = q.of(measured[series][p.name][0])
                good = q.agrees(value, seeds[q])
                wrong += not good
                cells.append(f"{value:.{q.places}f}" if good else f"**{value:.{q.places}f}**")
            lines.append(f"| | {series} | {' | '.join(cells)} |")
    return lines, wrong


def _spread(q: Quantity, seeds: list[float]) -> str:
    mean, deviation = (f"{v:.{q.places}f}" for v in (statistics.mean(seeds), statistics.pstdev(seeds)))
    return f"{mean} ± {deviation}" if len(seeds) > 1 else mean


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=BUILD / "vm-agreement", help="results; default build/vm-agreement")
    parser.add_argument("--machines", type=int, choices=range(1, 65), metavar="N", help="side by side; default: CPUs")
    parser.add_argument("pairs", nargs="*", metavar="SCENARIO", help="only these scenarios")
    args = parser.parse_args()
    pairs = [p for p in PAIRS if not args.pairs or p.scenario in args.pairs]
    if not pairs:
        parser.error(f"no such scenario; known: {', '.join(dict.fromkeys(p.scenario for p in PAIRS))}")
    try:
        measured = {where: measure(where, pairs, args.machines, args.out) for where in ("virtual", *SERIES)}
    except LabError as err:
        sys.exit(f"vm_agreement: {err}")
    lines, wrong = table(pairs, measured)
    print("\n".join(lines))
    print(f"\n{wrong} of {len(pairs) * len(SERIES) * len(QUANTITIES)} values do not agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
