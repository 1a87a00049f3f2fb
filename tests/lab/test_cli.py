# SPDX-License-Identifier: GPL-2.0
"""The command line: help everywhere, one object per line, faults named, nothing lost."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from commands import TOP, Hetlab

pytestmark = pytest.mark.virtual
SHORT = ("--set", "duration_s=4")


@pytest.mark.parametrize("command", [(), ("kernel",), ("run",), ("exec",), ("list",), ("report",), ("table",)])
def test_help(hetlab: Hetlab, command: tuple[str, ...]) -> None:
    done = hetlab(*command, "--help")
    assert done.returncode == 0
    assert "Usage: hetlab" in done.stdout


def test_list_names_every_scenario(hetlab: Hetlab) -> None:
    done = hetlab("list")
    for name in ("santacruz-basic", "santacruz-asym", "santacruz-wireless", "geo"):
        assert name in done.stdout


def test_json_has_the_promised_keys(hetlab: Hetlab, tmp_path: Path) -> None:
    done = hetlab("run", "bulk", "--cc", "reno", "--cc", "santacruz:n_op=4", *SHORT, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {r["cc"] for r in lines} == {"reno", "santacruz"}
    for r in lines:
        assert r.keys() >= {"scenario", "seed", "cc", "cc_params", "flows", "queue", "owd_ms", "jain", "wall_s"}
        assert r["flows"][0].keys() >= {"cc", "goodput_mbit", "retransmits", "timeouts", "rtt_min_ms"}
        assert r["queue"].keys() >= {"steady_mean_pkts", "p95_pkts", "max_pkts", "drops"}
        assert r["owd_ms"].keys() >= {"mean", "variance", "p50", "p95", "p99"}
        assert r["hashes"].keys() == {"kernel", "modules", "commit"}
        assert r["flows"][0]["cc"] == r["cc"]


FAULTS = {
    "unknown scenario": (("no-such",), ["no scenario 'no-such'", "santacruz-basic"]),
    "bad cc": (("bulk", "--cc", "Reno!"), ["--cc Reno!", "'Reno!'"]),
    "bad parameter syntax": (("bulk", "--cc", "reno:x"), ["'x'", "param=value"]),
    "bad seed": (("bulk", "--seed", "-1"), ["0..4294967295"]),
    "bad set": (("bulk", "--set", "duration_s"), ["key=value"]),
    "value out of range": (("bulk", "--set", "duration_s=0"), ["duration_s", "0.01..86400"]),
    "abstract": (("base",), ["base"]),
    "bad backend": (("bulk", "--on", "moon"), ["moon", "virtual", "host"]),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.replace(" ", "-"))
def test_fault_is_named_before_anything_runs(hetlab: Hetlab, tmp_path: Path, fault: str) -> None:
    args, words = FAULTS[fault]
    done = hetlab("run", *args, "--out", tmp_path / "out")
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_fault_of_one_run_keeps_the_others(hetlab: Hetlab, tmp_path: Path) -> None:
    ccs = ("reno", "nosuch", "santacruz:n_op=0.1", "santacruz:color=red", "cubic")
    done = hetlab("run", "bulk", *(x for c in ccs for x in ("--cc", c)), *SHORT, "--out", tmp_path, "--json")
    assert done.returncode == 1
    assert {json.loads(line)["cc"] for line in done.stdout.splitlines()} == {"reno", "cubic"}
    assert "'nosuch' is not in this kernel" in done.stderr
    assert "n_op=0.1 refused" in done.stderr
    assert "0.5..1000" in done.stderr
    assert "no parameter 'color'" in done.stderr
    assert sorted(p.name for p in (tmp_path / "bulk").iterdir()) == ["cubic", "reno"]


def test_a_queue_that_tc_cannot_take_aborts_the_run(hetlab: Hetlab, tmp_path: Path) -> None:
    aqm = "link.bottleneck.forward.aqm"
    args = ("--set", f"{aqm}=fq_codel", "--set", f"{aqm}_options.target=soon")
    done = hetlab("run", "bulk", "--cc", "reno", *args, *SHORT, "--out", tmp_path)
    assert done.returncode == 1
    assert "r1: " in done.stderr and "soon" in done.stderr
    args = ("--set", f"{aqm}=red", "--set", f"{aqm}_options.probability=7")
    done = hetlab("run", "bulk", "--cc", "reno", *args, *SHORT, "--out", tmp_path)
    assert done.returncode == 1
    assert "probability=7: allowed range is 0..1" in done.stderr


def test_parameters_do_not_leak_into_the_next_run(hetlab: Hetlab, tmp_path: Path) -> None:
    ccs = ("santacruz:n_op=9", "santacruz")
    args = ("--machines", "1", "--set", "duration_s=6", "--out", tmp_path, "--json")
    done = hetlab("run", "bulk", *(x for c in ccs for x in ("--cc", c)), *args)
    many, few = (json.loads(line)["queue"]["steady_mean_pkts"] for line in done.stdout.splitlines())
    assert many > few + 3


def test_report(hetlab: Hetlab, tmp_path: Path) -> None:
    hetlab("run", "bulk", "--cc", "reno", "--cc", "cubic", *SHORT, "--out", tmp_path)
    done = hetlab("report", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "cubic" in page and "Mbit/s" in page
    assert list(tmp_path.rglob("*.png"))
    assert hetlab("report", tmp_path / "nothing").returncode == 2
    done = hetlab("report", tmp_path, "--format", "pdf", "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plots" / "bulk-cwnd.pdf").exists() and (tmp_path / "plots" / "bulk-cwnd.svg").exists()


def test_table(hetlab: Hetlab, tmp_path: Path) -> None:
    hetlab("run", "bulk", "--cc", "reno", "--cc", "cubic", "--seeds", "2", *SHORT, "--out", tmp_path)
    done = hetlab("table", tmp_path, "--csv")
    assert done.returncode == 0, done.stderr
    assert [line.split(",")[:2] for line in done.stdout.splitlines()[1:]] == [["bulk", "reno"], ["bulk", "cubic"]]
    done = hetlab("table", tmp_path, "--csv", "--latex")
    assert done.returncode == 2 and "--csv and --latex: one format at a time" in done.stderr


def test_an_interrupted_command_says_what_it_keeps(tmp_path: Path) -> None:
    """As Ctrl-C would, when the first of three runs has ended."""
    words = [str(TOP / "tools" / "hetlab"), "run", "bulk", *SHORT, "--cc", "reno", "--seeds", "3", "--machines", "1"]
    with subprocess.Popen([*words, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr
        first = next(line for line in run.stderr if line.startswith("1/3 "))
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    assert run.returncode == 130, first + rest
    assert f"interrupted; 1 of 3 runs are kept in {tmp_path}" in rest
    assert len(list(tmp_path.rglob("result.json"))) == 1
