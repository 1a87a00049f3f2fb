# SPDX-License-Identifier: GPL-2.0
"""hetlab judge in virtual time: the same again, interrupted, own files, two of one name, our modules."""

import csv
import io
import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from commands import TOP, Hetlab

pytestmark = pytest.mark.virtual
AIMD = TOP / "tests" / "candidates" / "sources" / "tcp_aimd.c"
# Cases of a few seconds; b-01 draws losses, so that seeds differ
SHORT = ("--case", "a-512k", "--case", "a-20", "--case", "e-back")


def verdicts(done: Any) -> list[dict[str, Any]]:
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_same_again_and_after_an_interruption(hetlab: Hetlab, tmp_path: Path) -> None:
    """Interrupted at a random moment, then gone on with: the same to the letter, and what was there is kept."""
    words = ("judge", "reno", "cubic", *SHORT, "--json", "--out")
    whole = hetlab(*words, tmp_path / "whole")
    assert len(verdicts(whole)) > 6
    again = hetlab(*words, tmp_path / "whole")
    assert (again.stdout, again.returncode) == (whole.stdout, whole.returncode)
    assert not re.search(r"^1/\d+ ", again.stderr, re.M), "everything was there"

    command = [str(TOP / "tools" / "hetlab"), *map(str, (*words, tmp_path / "cut"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as proc:
        while proc.poll() is None and not any((tmp_path / "cut").rglob("result.json")):
            time.sleep(0.1)  # on a busy machine it takes seconds before anything is measured
        time.sleep(random.uniform(0, 3))
        proc.send_signal(signal.SIGINT)
        _out, err = proc.communicate(timeout=120)
    assert proc.returncode == 130 and "to go on: the same command" in err
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cut").rglob("result.json")}
    rest = hetlab(*words, tmp_path / "cut")
    assert rest.stdout == whole.stdout
    assert all(path.stat().st_mtime_ns == then for path, then in kept.items())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests below keep their runs: what one has measured, the next one takes from there."""
    return tmp_path_factory.mktemp("judged")


def test_own_file_beside_the_kernels(hetlab: Hetlab, shared: Path) -> None:
    """An AIMD of 60 lines; a page with all in it; a table for other programs."""
    words = ("judge", AIMD, "reno", "--case", "a-20", "--out", shared)
    done = hetlab(*words, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["cc"] for row in rows} == {"aimd", "reno"} and {row["case"] for row in rows} == {"a-20"}
    page = (shared / "scorecard.html").read_text()
    assert f"tools/hetlab judge {AIMD} reno --case a-20" in page, "as it was asked for: aimd is no name of the kernel's"
    assert len(page) < 5e6 and not re.search(r"(?:src|href)=[\"']?https?:", page)
    assert "\\begin{tabular}" in hetlab(*words, "--latex").stdout


@pytest.mark.parametrize("name", ["endless", "divides"])
def test_one_that_breaks_the_kernel_costs_its_own_runs(hetlab: Hetlab, shared: Path, name: str) -> None:
    broken = TOP / "tests" / "candidates" / "sources" / f"tcp_{name}.c"
    done = hetlab("judge", broken, "reno", "--case", "a-20", "--json", "--out", shared)
    found = {row["cc"]: row["verdict"] for row in verdicts(done) if row["measure"] == "time"}
    assert found.pop("reno") == "pass" and list(found.values()) == ["none"]
    assert done.returncode == 1 and "failed: a-20" in done.stderr


def test_two_of_one_name_are_not_better_than_each_other(hetlab: Hetlab, shared: Path) -> None:
    """Other seeds of the same: no case with random loss and none without says that something changed."""
    words = ("judge", "--compare", "reno", "reno", "--case", "b-1", "--case", "a-20", "--case", "f-reorder")
    done = hetlab(*words, "--seeds", "3", "--json", "--out", shared)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line)["change"] for line in done.stdout.splitlines()]
    assert len(found) >= 5 and not {"better", "worse", "changed"} & set(found)


def test_a_difference_is_seen(hetlab: Hetlab, shared: Path, tmp_path: Path) -> None:
    """bbr does not take random losses for congestion; with a limit of its own the exit status says it."""
    words = ("judge", "--compare", "bbr", "reno", "--case", "b-1", "--seeds", "3", "--out", shared)
    done = hetlab(*words, "--json")
    assert done.returncode == 1
    (util,) = [row for row in map(json.loads, done.stdout.splitlines()) if row["asked"].startswith("util")]
    assert util["change"] == "worse" and util["percent"] < -50
    allowed = tmp_path / "limits.toml"
    allowed.write_text("worse_at_most = 9\n")
    assert hetlab(*words, "--limits", allowed).returncode == 0


# Of each module what the gauntlet says today: what passes must go on to pass
HOLD = {
    "hybla_ext": ("a-20", "a-512k", "b-1", "c-police", "d-codel", "e-hole", "e-up", "g-loss"),
    "santacruz": ("a-20", "a-512k", "b-1", "d-codel", "e-up", "g-loss"),
    "westwood_fr": ("a-20", "a-200", "b-1", "e-hole", "e-up", "g-loss", "h-ack"),
}


@pytest.mark.parametrize("cc", HOLD)
def test_our_modules_hold_in_the_gauntlet(hetlab: Hetlab, shared: Path, cc: str) -> None:
    cases = [word for case in HOLD[cc] for word in ("--case", case)]
    found = verdicts(hetlab("judge", cc, *cases, "--seeds", "3", "--json", "--out", shared, timeout=1500))
    ours = [row for row in found if row["cc"] == cc and row["grade"] == "must"]
    assert {row["case"] for row in ours} == set(HOLD[cc])
    assert not [row["case"] for row in ours if row["verdict"] in ("fail", "none")]
