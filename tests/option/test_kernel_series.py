# SPDX-License-Identifier: GPL-2.0
"""The lab's kernel and the option on Linux 6.1 and 7.2: they run, repeat, and hold the packet scripts."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from commands import call_hetlab
from hetlab.packet import host
from hetlab.packet.model import Env
from hetlab.packet.parser import parse

option_series: Any = importlib.import_module("option_series")

pytestmark = pytest.mark.series
SCRIPTS = host.our_scripts()
# What 6.1 does in another way, whether patched or not, by what 6.12 is tested with
OTHER = {"6.1": {"delayed-ack.pkt"}, "7.2": set[str]()}
# Cases of the matrix about what a kernel does not have
LACKING = {("6.1", "headers"): {"TCP-AO, IPv4: not offered", "TCP-AO, IPv6: not offered"}}
each = pytest.mark.parametrize("series", OTHER)


@each
def test_a_run_repeats(series: str, tmp_path: Path) -> None:
    """All that it measured, to the byte."""
    args = ("--cc", "reno", "--cc", "bbr", "--cc", "hybla_ext", "--set", "sweep={}", "--store", "none")
    for name in "ab":
        done = call_hetlab("run", "geo", "--series", series, *args, "--out", tmp_path / name)
        assert done.returncode == 0, done.stdout + done.stderr
    measured = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*") if path.name != "run.json"]
    results = [path for path in measured if path.name == "result.json"]
    assert len(results) == 3
    for path in measured:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes(), path


@each
@pytest.mark.parametrize("patched", [False, True], ids=["unpatched", "patched"])
def test_packet_scripts(series: str, patched: bool) -> None:
    """As on 6.12, but for what the series does otherwise."""
    done = call_hetlab("packet", "--series", series, "--patched" if patched else "--no-patched", *SCRIPTS)
    assert done.returncode in (0, 1), done.stderr
    held = {key: ok for key, (ok, _said) in host.points(done.stdout).items()}
    assert len(held) >= 2 * len(SCRIPTS) - 4
    wrong = [key for key, ok in held.items() if key[0] not in OTHER[series] and ok != expected(key[0], patched)]
    assert not wrong, done.stdout[-6000:]


def expected(name: str, patched: bool) -> bool:
    """Whether a script is to hold."""
    path = next(path for path in SCRIPTS if path.name == name)
    script = parse(str(path), path.read_text(), Env(4, patched))
    return patched or script.directives.get("unpatched") != "fails"


@each
@pytest.mark.parametrize("group", option_series.GROUPS)
def test_interoperation(series: str, group: str) -> None:
    """Every packet of every case; what a kernel does not have is skipped by name, and nothing else."""
    row = option_series.points(group, option_series.run_group(series, group))
    assert not row["failed"], row["failed"]
    assert set(row["lacking"]) == LACKING.get((series, group), set())
