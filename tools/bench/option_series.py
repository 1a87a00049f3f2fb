#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The Santa Cruz option on Linux 6.1, 6.12 and 7.2: the same tests on each, one table.

  interop   every group of the interoperation matrix (tests/option/interop) on the patched kernel
  claims    claims of the paper, those about packets and those about connections (hetlab claims)

Prints what fails or is skipped and why, and writes docs/data/option-series.json, which docs/series.md is
filled from (make docs). With --series or --part the other rows stay. All of it is about 40 minutes on
two CPUs.
"""

import argparse
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
DATA = TOP / "docs" / "data" / "option-series.json"
HETLAB = TOP / "tools" / "hetlab"
INTEROP = TOP / "tests" / "option" / "interop"
SERIES = ("6.1", "6.12", "7.2")
GROUPS = ("negotiation", "handshake", "stripping", "traffic", "headers", "offload", "wraps", "holes")
# santacruz-wireless-throughput alone takes as long as all of these
CLAIMS = (
    *("santacruz-t2", "santacruz-t3", "santacruz-t4", "santacruz-f9", "santacruz-f11", "santacruz-f13-cwnd"),
    *("santacruz-wireless-hold", "santacruz-wireless-delay", "santacruz-wireless-state"),
    *("santacruz-early-rexmit", "santacruz-multi-loss", "santacruz-lost-rexmit", "santacruz-rtt-rexmit"),
    *("santacruz-no-needless", "santacruz-reorder-path"),
)
# Claims that a kernel lets nobody judge
NOT_JUDGED = {"6.1": {"santacruz-f13-cwnd": "tcp_info counts timeouts since Linux 6.7"}}
POINT = re.compile(r"^(?P<not>not )?ok \d+ - (?P<name>.*?)(?: # SKIP (?P<reason>.*))?$", re.M)
FAULT = re.compile(r"^# fault: (.*)$", re.M)
WALL_LIMIT_S = 3600
DETAIL_CHARS = 300

Row = dict[str, Any]


def hetlab(*words: str | Path) -> str:
    """What a hetlab command says; its progress goes to our stderr. Status 1 (something does not hold) is a result."""
    done = subprocess.run([str(HETLAB), *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"option_series: hetlab {' '.join(map(str, words))}: status {done.returncode}")
    return done.stdout


def release(series: str) -> str:
    """The kernel's own name."""
    return hetlab("exec", "--patched", "--series", series, "--", "uname", "-r").strip()


def points(group: str, text: str) -> Row:
    """A row of the TAP of a group: how many hold, and the others with what is known of them."""
    found = list(POINT.finditer(text))
    if f"1..{len(found)}" not in text.splitlines():
        sys.exit(f"option_series: group {group} ended too early:\n{text[-2000:]}")
    ends = [match.start() for match in found[1:]] + [len(text)]
    parts = [(match, text[match.start() : end]) for match, end in zip(found, ends, strict=True)]
    failed = {m["name"]: (FAULT.findall(part) or [""])[0][:DETAIL_CHARS] for m, part in parts if m["not"]}
    lacking = {m["name"]: m["reason"] for m in found if m["reason"] and not m["not"]}
    held = len(found) - len(failed) - len(lacking)
    return {"id": group, "held": held, "points": len(found), "failed": failed, "lacking": lacking}


def run_group(series: str, group: str) -> str:
    """TAP of a group of the matrix, in a machine of its own."""
    words = ("exec", "--patched", "--series", series, "--wall-limit", str(WALL_LIMIT_S))
    return hetlab(*words, "--", "python3", INTEROP, group)


def interop(series: str) -> list[Row]:
    """The matrix, two machines side by side."""
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda group: run_group(series, group), GROUPS))
    return [points(group, text) for group, text in zip(GROUPS, said, strict=True)]


def claims(series: str) -> list[Row]:
    """The paper's claims."""
    lacking = NOT_JUDGED.get(series, {})
    wanted = [name for name in CLAIMS if name not in lacking]
    said = [json.loads(line) for line in hetlab("claims", *wanted, "--json", "--series", series).splitlines()]
    rows = [
        {
            "id": row["id"],
            "verdict": row["verdict"],
            "ours": {name: source["ours"] for name, source in row["sources"].items()},
        }
        for row in said
    ]
    return rows + [{"id": name, "verdict": "not judged", "ours": {"why": why}} for name, why in lacking.items()]


PARTS = {"interop": interop, "claims": claims}


def told(row: Row) -> str:
    """A line for a row in which not all is well; empty else."""
    if row["part"] == "claims":
        return "" if row["verdict"] == "holds" else f"{row['series']} {row['id']}: {row['verdict']}: {row['ours']}"
    others = row["failed"] | row["lacking"]
    return "\n".join(f"{row['series']} {row['id']}: {name}: {why}" for name, why in others.items())


def _order(item: tuple[str, str]) -> int:
    """Place of a series and what is kept of it."""
    return SERIES.index(item[0])


def keep(series: str, part: str, fresh: list[Row]) -> None:
    """Put rows into the data file in place of those of the same series and part; a row a line, in a fixed order."""
    name = release(series)
    taken: Row = json.loads(DATA.read_text()) if DATA.exists() else {"provenance": {"kernels": {}}, "rows": []}
    rows = [row for row in taken["rows"] if (row["series"], row["part"]) != (series, part)] + fresh
    rows.sort(key=lambda row: (SERIES.index(row["series"]), list(PARTS).index(row["part"])))
    kernels = taken["provenance"]["kernels"] | {series: name}
    provenance = {"commands": ["tools/bench/option_series.py"], "kernels": dict(sorted(kernels.items(), key=_order))}
    text = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    DATA.write_text(f'{{\n "provenance": {json.dumps(provenance)},\n "rows": [\n{text}\n ]\n}}\n')


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", action="append", choices=SERIES, help="repeatable; default: all")
    parser.add_argument("--part", action="append", choices=PARTS, help="repeatable; default: all")
    args = parser.parse_args()
    for series in args.series or SERIES:
        for part in args.part or PARTS:
            fresh = [{"series": series, "part": part, **row} for row in PARTS[part](series)]
            keep(series, part, fresh)
            print("\n".join(line for row in fresh if (line := told(row))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
