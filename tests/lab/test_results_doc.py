# SPDX-License-Identifier: GPL-2.0
"""docs/results.md against a real run: every key of result.json and every column of every table, and nothing else."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hetlab.paths import TOP
from hetlab.results.columns import COLUMNS

pytestmark = pytest.mark.virtual

TEXT = (TOP / "docs" / "results.md").read_text()
NAME = re.compile(r"`([\w-]+)`")
ELSEWHERE = {"hosts"}  # of runs between two hosts
UNITS = {"s": "s", "ms": "ms", "us": "us", "mbit": "Mbit/s", "bps": "bit/s", "pkts": "packets", "percent": "%"}
SCENARIO = """
base = "bulk"
title = "TCP flows that fill every structure of congestion controls, loss, one UDP flow, a video"
duration_s = 5

[link.bottleneck]
forward = { aqm = "codel", mark_above_ms = 20, police_mbit = 9, loss = { model = "random", percent = 2 } }

[sysctl]
"net.ipv4.tcp_ecn" = 1

[flow.model]
src = "s"
dst = "d"
cc = "bbr"

[flow.rates]
src = "s"
dst = "d"
cc = "vegas"

[flow.marks]
src = "s"
dst = "d"
cc = "dctcp"

[flow.noise]
src = "s"
dst = "d"
proto = "udp"
rate_mbit = 1

[flow.film]
src = "s"
dst = "d"
workload = "video"

[[event]]
at_s = 2
link = "bottleneck"
way = "forward"
delay_ms = 60

[measure]
pcap = true
"""


def section(head: str) -> str:
    """Text below a heading, up to the next one of any level."""
    match = re.search(rf"^#+ {re.escape(head)}\n(.*?)(?=^#|\Z)", TEXT, re.M | re.S)
    assert match, f"docs/results.md has no heading {head!r}"
    return match[1]


def documented(head: str) -> set[str]:
    """Names in the first column of the table below a heading."""
    rows = [line.split("|")[1] for line in section(head).splitlines() if line.startswith("| `")]
    return {name for row in rows for name in NAME.findall(row)}


@pytest.fixture(scope="module")
def run(run_json: Callable[..., list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a run that has everything a run in virtual time can have."""
    directory = tmp_path_factory.mktemp("results-doc")
    file = directory / "all.toml"
    file.write_text(SCENARIO)
    run_json(file, "--cc", "santacruz", "--trace", "--machines", "1", "--out", directory / "out")
    (found,) = (directory / "out").rglob("result.json")
    return found.parent


@pytest.fixture(scope="module")
def result(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result.json").read_text())
    return found


def test_keys_of_a_result(result: dict[str, Any]) -> None:
    assert documented("result.json") - ELSEWHERE == set(result) - ELSEWHERE


@pytest.mark.parametrize("key", ["queue", "hashes"])
def test_keys_of_a_part(result: dict[str, Any], key: str) -> None:
    assert documented(key) == set(result[key])


@pytest.mark.parametrize("key", ["owd_ms", "queueing_ms", "delivery_ms"])
def test_keys_of_delays(result: dict[str, Any], key: str) -> None:
    assert documented("owd_ms, queueing_ms, delivery_ms") == set(result[key])


def test_keys_of_flows(result: dict[str, Any]) -> None:
    assert documented("flows[]") == {key for flow in result["flows"] for key in flow}


@pytest.mark.parametrize("key", ["completion", "video"])
def test_keys_of_workloads(result: dict[str, Any], key: str) -> None:
    (found,) = (flow[key] for flow in result["flows"] if key in flow)
    assert documented(key) == set(found)


def test_keys_of_the_scenario_are_named(result: dict[str, Any]) -> None:
    named = set(NAME.findall(section("scenario_resolved") + (TOP / "docs" / "scenarios.md").read_text()))
    own = {"links", "route", "clock", "sysctl", "params", "aqm_options"}  # below these are names, no keys

    def keys(value: Any, within: str = "") -> set[str]:
        if isinstance(value, list):
            return {key for item in value for key in keys(item)}
        if not isinstance(value, dict):
            return set()
        return (set() if within in own else set(value)) | {k for key, v in value.items() for k in keys(v, key)}

    missing = keys(result["scenario_resolved"]) - named
    assert not missing


def test_files(run: Path) -> None:
    table = TEXT[: TEXT.index("Conventions")]
    named = {name.strip() for row in re.findall(r"^\|([^|]*)\|", table, re.M) for name in row.split(",")}
    there = {re.sub(r"\bs-d\b", "SRC-DST", path.name) for path in run.iterdir()}
    assert named - {"file", "---"} == there


def test_columns(run: Path) -> None:
    for path in run.glob("*.parquet"):
        name = re.sub(r"\bs-d\b", "SRC-DST", path.name)
        assert documented(name) == set(pq.read_schema(path).names), name


@pytest.mark.parametrize("kind", ["vegas", "bbr", "dctcp"])
def test_columns_of_congestion_controls(run: Path, kind: str) -> None:
    """Each structure fills the columns that are named with it, and no other."""
    named = re.findall(rf"^\| `(\w+)` \| {kind} \|", section("flows.parquet"), re.M)
    rows = pq.read_table(run / "flows.parquet").to_pylist()
    filled = {
        k for row in rows if row["cc_kind"] == kind for k, v in row.items() if k.startswith("cc_") and v is not None
    }
    assert filled == {*named, "cc_kind"}


def test_real_time_is_in_run_json(run: Path) -> None:
    assert set(json.loads((run / "run.json").read_text())) == {"wall_s", "lab", "asked"}
    assert "| run.json | `wall_s`" in TEXT and "`lab`" in TEXT


@pytest.mark.fast
def test_units_are_those_of_the_names() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|(?: (?:vegas|bbr|dctcp) \|)?([^|]*)\| ", TEXT, re.M)
    units = [(name, unit.strip()) for names, unit in rows for name in NAME.findall(names) if "," not in names]
    named = [(name, unit) for name, unit in units if name.rpartition("_")[2] in UNITS and "_" in name]
    assert len(named) > 40
    assert [(name, unit) for name, unit in named if unit.partition(":")[0] != UNITS[name.rpartition("_")[2]]] == []


@pytest.mark.fast
def test_columns_of_tables() -> None:
    """Those of hetlab table."""
    fixed = {"scenario", "cc", "cc_params", "seed", "seeds", "kernel_release", "modules"}
    named = documented("Tables over seeds")
    assert named - fixed == {column.key for column in COLUMNS.values()}
    assert fixed - {"seed"} <= named
