# SPDX-License-Identifier: GPL-2.0
"""Verdicts of hetlab judge, kept in docs/data/NAME.jsonl, as tables of documents."""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "docs" / "data"
SIGNS = {"pass": "", "fail": " ✗", "open": " ?", "value": "", "none": ""}
WORST = ("none", "fail", "open", "pass")

# A line of a document has room for some of many
DETAILED = ("reno", "cubic", "bbr", "santacruz", "westwood_fr", "westwood_gfr", "hybla_ext")

# Round trip of the first flow of a coexistence matrix
EQUAL_MS = 50

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """Every verdict."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


def kept(old: list[Row], new: list[Row]) -> list[Row]:
    """Old verdicts with new ones in place of those of the same case and congestion control, in the order of the old.

    Without ranks: these would be places among the old.
    """
    again = {(row["case"], row["cc"]) for row in new}
    found = [row for row in old if (row["case"], row["cc"]) not in again] + new
    cases, by_case = _places(old + new, "case"), _places(new + old, "case", "asked")
    ccs_known = _places(old + new, "cc")
    found.sort(key=lambda r: (cases[r["case"],], by_case[r["case"], r["asked"]], ccs_known[r["cc"],]))
    return [{key: value for key, value in row.items() if key != "rank"} for row in found]


def _places(among: list[Row], *keys: str) -> dict[tuple[Any, ...], int]:
    return {key: at for at, key in enumerate(dict.fromkeys(tuple(row[k] for k in keys) for row in among))}


def keep(new: Path, name: str) -> None:
    """Take the verdicts of a file, JSON lines of ``hetlab judge``, into docs/data/NAME.jsonl."""
    judged = [json.loads(line) for line in new.read_text().splitlines()]
    (DATA / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in kept(rows(name), judged)))


def ccs(name: str) -> list[str]:
    """Congestion controls, in the order in which they were judged."""
    return list(dict.fromkeys(row["cc"] for row in rows(name)))


def in_detail(name: str) -> list[str]:
    """Those that have a column in the table of cases: ours, and three to compare with."""
    return [cc for cc in ccs(name) if cc in DETAILED]


def cases(name: str) -> list[Row]:
    """A line for each judgement: case (empty where it is that of the line before), asked, source, text of each cc."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows(name):
        line = found.setdefault(
            (row["case"], row["asked"]), {"group": row["group"], "source": row["source"], "cells": {}}
        )
        unit = f" ({row['unit']})" if row["unit"] else ""
        line |= {
            "case": row["case"],
            "asked": row["asked"].replace(":", f"{unit}:", 1) if ":" in row["asked"] else row["asked"] + unit,
        }
        line["cells"][row["cc"]] = _text(row)
    lines = list(found.values())
    for line, before in zip(reversed(lines), reversed([{"case": ""}, *lines[:-1]]), strict=True):
        line["case"] = "" if line["case"] == before["case"] else line["case"]
    return lines


def _text(row: Row) -> str:
    if row["median"] is None:
        return "none" + SIGNS[row["verdict"]]
    return f"{row['median']:.3g}{SIGNS[row['verdict']]}"


def groups(name: str) -> dict[str, dict[str, str]]:
    """Of each group how many cases each congestion control passed, of those that ask for something."""
    worst: dict[tuple[str, str, str], str] = {}
    for row in rows(name):
        if row["grade"] == "must" and row["verdict"] != "value":
            key = (row["group"], row["case"], row["cc"])
            worst[key] = min(worst.get(key, "pass"), row["verdict"], key=WORST.index)
    found: dict[str, dict[str, list[str]]] = {}
    for (group, _case, cc), word in worst.items():
        found.setdefault(group, {}).setdefault(cc, []).append(word)
    return {
        g: {cc: f"{words.count('pass')}/{len(words)}" for cc, words in by.items()} for g, by in sorted(found.items())
    }


def networks(name: str, other_ms: int) -> list[str]:
    """Bottlenecks of a coexistence matrix with this second round trip: ``8 Mbit/s, 0.5 BDP``."""
    return list(dict.fromkeys(_network(row) for row in rows(name) if row["net"]["other_ms"] == other_ms))


def _network(row: Row) -> str:
    queue = row["net"]["queue"]
    return f"{row['net']['rate_mbit']:g} Mbit/s, {queue if queue == 'fq_codel' else queue + ' BDP'}"


def shares(name: str, other_ms: int) -> dict[str, dict[str, str]]:
    """Of each pair, ``ROW beside COLUMN``, the row's goodput in percent of half of what both get, by network.

    Where the round trips are equal, one side of a pair says it all.
    """
    found: dict[str, dict[str, str]] = {}
    for row in rows(name):
        turned = f"{row['column']} beside {row['row']}"
        if row["net"]["other_ms"] == other_ms and (_network(row) not in found.get(turned, {}) or other_ms != EQUAL_MS):
            found.setdefault(f"{row['row']} beside {row['column']}", {})[_network(row)] = f"{100 * row['share']:.0f}"
    return found
