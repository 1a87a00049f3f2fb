#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""CPU time of the lab, ns-3 and ns-2 for a simulated second of the same network: docs/data/speed.json.

    tools/bench/speed.py [--turns N] [--link FLOWS,MBIT] [--recording yes|no] [--out FILE]        make bench

N hosts - router - router - N hosts: bulk flows of CUBIC over one bottleneck of 20 ms each way with a queue of one
bandwidth-delay product; with the recording of windows, queue and delays, and without. Needs Debian's libns3-dev, g++,
ns2 and perf (linux-perf), which counts the CPU time of all processes that a command begins, its machines' too.

Each program is run for two durations; the difference is the cost of simulated seconds, the rest that of a start. One
turn is each program once, in this order, for both durations: ratios are of the same turn, so that other work on the
machine, which changes slowly, is in both. JSON has every turn.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
NS3_MODULES = "applications core flow-monitor internet network point-to-point traffic-control stats bridge mobility"
PROGRAMS = ("lab", "ns-3", "ns-2")
# Flows and Mbit/s: one flow from slow to fast, then more flows
LINKS = ((1, 10.0), (1, 100.0), (1, 1000.0), (10, 100.0))
SHORT_S = 2.0
# How much longer the other run lasts: as many packets at each rate, and no less than this
MORE_MBIT, MORE_S = 1000.0, 2.0
SCENARIO = """
base = "base"
title = "speed"
hosts = [{hosts}]
routers = ["left", "right"]
duration_s = {duration_s}
remove = ["flow.main"]
[sysctl]
"net.ipv4.tcp_rmem" = "4096 131072 268435456"
"net.ipv4.tcp_wmem" = "4096 65536 268435456"
[measure]
bottleneck = "bottleneck.forward"
{measure}
[link.bottleneck]
ends = ["left", "right"]
forward = {{ rate_mbit = {mbit:g}, delay_ms = 20, queue_pkts = {queue} }}
reverse = {{ rate_mbit = {mbit:g}, delay_ms = 20 }}
"""
FLOW = """
[link.a{i}]
ends = ["s{i}", "left"]
forward = {{ rate_mbit = {access:g} }}
[link.b{i}]
ends = ["right", "d{i}"]
forward = {{ rate_mbit = {access:g} }}
[flow.f{i}]
src = "s{i}"
dst = "d{i}"
start_s = {start_s:g}
"""


@dataclass(frozen=True)
class Cost:
    """What a program took in one turn: CPU seconds for a simulated second and for a start; Mbit/s that it simulated."""

    per_s: float
    start_s: float
    mbit: float


def cpu_s(words: list[str], directory: Path) -> tuple[float, str]:
    """CPU time (s) of a command and of all that it begins, and what it prints."""
    file = directory / "perf"
    measured = ["perf", "stat", "-x,", "-e", "task-clock", "-o", str(file), "--", *words]
    done = subprocess.run(measured, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stderr}")
    found = [line for line in file.read_text().splitlines() if "task-clock" in line]
    return float(found[0].split(",")[0]) / 1e3, done.stdout


def scenario(flows: int, mbit: float, duration_s: float, record: bool) -> str:
    """The network as a scenario of the lab."""
    hosts = ", ".join(f'"{side}{i}"' for side in "sd" for i in range(flows))
    measure = "" if record else "owd = false\nsample_ms = 60000\nqueue_ms = 60000"
    queue = int(mbit * 1e6 * 0.04 / 8 / 1500)
    head = SCENARIO.format(hosts=hosts, duration_s=duration_s, measure=measure, mbit=mbit, queue=queue)
    return head + "".join(FLOW.format(i=i, access=10 * mbit, start_s=i * 0.001) for i in range(flows))


def command(program: str, told: tuple[int, float, float, bool], directory: Path) -> list[str]:
    """How a program is called for flows, Mbit/s, seconds, and whether it records."""
    flows, mbit, duration_s, record = told
    words = [str(flows), f"{mbit:g}", f"{duration_s:g}", str(int(record))]
    if program == "ns-3":
        return [str(directory / "speed_ns3"), *words]
    if program == "ns-2":
        return ["ns", str(HERE / "speed_ns2.tcl"), *words]
    (directory / "speed.toml").write_text(scenario(*told))
    out = ["--out", str(directory / f"out{duration_s:g}"), "--store", "none", "--again", "--json"]
    return [str(TOP / "tools" / "hetlab"), "run", str(directory / "speed.toml"), "--cc", "cubic", *out]


def carried(program: str, said: str) -> float:
    """Mbit/s of data that arrived, as a program says; ns-2 says other things, too."""
    if program == "lab":
        return sum(float(flow["goodput_mbit"]) for flow in json.loads(said)["flows"])
    return float(next(line for line in said.splitlines() if line[:1].isdigit()))


def cost(program: str, flows: int, mbit: float, record: bool, directory: Path) -> Cost:
    """Both durations of a program."""
    more_s = max(MORE_S, MORE_MBIT / mbit)
    short, _said = cpu_s(command(program, (flows, mbit, SHORT_S, record), directory), directory)
    long, said = cpu_s(command(program, (flows, mbit, SHORT_S + more_s, record), directory), directory)
    per_s = (long - short) / more_s
    return Cost(round(per_s, 5), round(short - per_s * SHORT_S, 3), round(carried(program, said), 3))


def link(text: str) -> tuple[int, float]:
    """FLOWS,MBIT."""
    flows, mbit = text.split(",")
    return int(flows), float(mbit)


def turns(
    number: int, links: Sequence[tuple[int, float]], records: Sequence[bool], directory: Path
) -> list[dict[str, object]]:
    """All links, with recording, without, or both; progress on stderr."""
    rows: list[dict[str, object]] = []
    for turn in range(number):
        for flows, mbit in links:
            for record in records:
                row: dict[str, object] = {"turn": turn, "flows": flows, "rate_mbit": mbit, "record": record}
                for program in PROGRAMS:
                    row[program] = asdict(cost(program, flows, mbit, record, directory))
                rows.append(row)
                print(f"{len(rows)}/{number * len(links) * len(records)} {json.dumps(row)}", file=sys.stderr)
    return rows


def prepare(directory: Path) -> None:
    """Build the program for ns-3 and all that the lab needs; what is missing ends us with a message."""
    libraries = [f"-lns3-{name}" for name in NS3_MODULES.split()]
    built = ["g++", "-O2", "-o", str(directory / "speed_ns3"), str(HERE / "speed_ns3.cc"), *libraries]
    for words in (built, ["which", "ns", "perf"], [str(TOP / "tools" / "hetlab"), "kernel"]):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"speed.py: {words[0]}: {done.stderr or 'ns2 or perf is missing'}")


def document(rows: Sequence[dict[str, object]]) -> str:
    """The data file: where its rows come from, then a row a line."""
    asked = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", "libns3-dev", "ns2"]
    versions = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.splitlines()
    known = {"commands": ["tools/bench/speed.py"], "cpus": os.cpu_count(), "kernel": platform.release()}
    text = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f'{{\n "provenance": {json.dumps(known | {"versions": versions})},\n "rows": [\n{text}\n ]\n}}\n'


def main() -> None:
    """Measure, write the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3, help="default: 3, half an hour")
    parser.add_argument(
        "--link", type=link, action="append", metavar="FLOWS,MBIT", help="repeatable; default: 1,10 1,100 1,1000 10,100"
    )
    parser.add_argument("--recording", choices=("yes", "no"), action="append", help="repeatable; default: both")
    parser.add_argument("--out", type=Path, default=TOP / "docs" / "data" / "speed.json")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        prepare(Path(made))
        records = [given == "yes" for given in told.recording or ("yes", "no")]
        rows = turns(told.turns, told.link or LINKS, records, Path(made))
    told.out.write_text(document(rows))


if __name__ == "__main__":
    main()
