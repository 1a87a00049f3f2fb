# SPDX-License-Identifier: GPL-2.0
"""The command line: help everywhere, one object per line, faults named, nothing lost."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from commands import TOP, Hetlab
from hetlab.model import files, names

pytestmark = pytest.mark.virtual
SHORT = ("--set", "duration_s=4")


@pytest.mark.parametrize("command", [(), ("kernel",), ("run",), ("exec",), ("list",), ("report",), ("table",)])
def test_help(hetlab: Hetlab, command: tuple[str, ...]) -> None:
    done = hetlab(*command, "--help")
    assert done.returncode == 0
    assert "Usage: hetlab" in done.stdout


def test_help_is_not_cut(hetlab: Hetlab) -> None:
    assert not re.search(r"[a-z]\.\.\.", hetlab("--help", env={"COLUMNS": "80"}).stdout)


def test_list_names_every_scenario(hetlab: Hetlab) -> None:
    """On one screen; by a name, or how names begin, with what they model."""
    lines = hetlab("list").stdout.splitlines()
    assert len(lines) <= 40
    shown = {word.strip(" ,") for line in lines for word in line.split(", ")}
    assert {name for name in names.scenarios() if not files.load(name)[0].scenario.abstract} <= shown
    found = hetlab("list", "santacruz-wire").stdout
    assert "santacruz-wireless" in found and "queue of 12, bit errors" in found and "santacruz-basic" not in found
    done = hetlab("list", "santacruz-wife")
    assert done.returncode == 2
    assert "did you mean santacruz-wireless?" in done.stderr


def test_dry_run_says_how_much_there_is_to_do(hetlab: Hetlab, tmp_path: Path) -> None:
    done = hetlab("run", "real_networks-loss", "--cc", "reno", "--seeds", "3", "--dry-run", "--out", tmp_path / "out")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    percents = ("0.1", "1", "3")
    expected = [f"real_networks-loss[link.bottleneck.forward.loss.percent={p}]" for p in percents]
    assert [row[0] for row in rows[1:-1]] == expected
    assert [row[2:5] for row in rows[1:-1]] == [["3", "180", "s"]] * 3
    assert rows[-1][:4] == ["all", "9", "540", "s"]
    assert not (tmp_path / "out").exists()


def test_points_of_a_sweep_and_equal_seeds_are_told_apart(hetlab: Hetlab, tmp_path: Path) -> None:
    sweep = ("--set", 'sweep={"link.bottleneck.forward.rate_mbit"=[5, 10]}')
    done = hetlab("run", "bulk", "--cc", "reno", *SHORT, *sweep, "--seeds", "2", "--out", tmp_path)
    rates = [f"bulk[link.bottleneck.forward.rate_mbit={rate}]" for rate in (5, 10)]
    for rate in rates:
        assert rate in done.stdout
        assert f"{rate}: every seed gave the same numbers" in done.stderr


def test_an_event_that_does_not_happen_is_told(hetlab: Hetlab) -> None:
    done = hetlab("run", "real_networks-handover", "--set", "duration_s=10", "--dry-run")
    assert "event.0: at_s=15 is not before the end, duration_s=10" in done.stderr


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
    "unknown scenario": (("no-such",), ["no scenario 'no-such'", "'hetlab list' shows all"]),
    "bad cc": (("bulk", "--cc", "Reno!"), ["--cc Reno!", "'Reno!'", "did you mean reno?"]),
    "bad parameter syntax": (("bulk", "--cc", "reno:x"), ["'x'", "param=value"]),
    "unknown cc": (("bulk", "--cc", "santacrus"), ["'santacrus'", "did you mean santacruz?"]),
    "unknown cc of a flow": (("bulk", "--set", "flow.main.cc=nosuch"), ["'nosuch'", "there are: ", "highspeed"]),
    "unknown parameter": (("bulk", "--cc", "santacruz:nop=4"), ["santacruz", "'nop'", "did you mean n_op?"]),
    "unknown parameter of the kernel's": (("bulk", "--cc", "cubic:betta=4"), ["'betta'", "did you mean beta?"]),
    "bad seed": (("bulk", "--seed", "-1"), ["0..4294967295"]),
    "bad set": (("bulk", "--set", "duration_s"), ["key=value"]),
    "value out of range": (("bulk", "--set", "duration_s=0"), ["duration_s", "0.01..86400"]),
    "unknown link": (("bulk", "--set", "link.botleneck.mtu=576"), ["no link 'botleneck'", "did you mean bottleneck?"]),
    "two in one": (("bulk", "--cc", "cubic,bbr"), ["give --cc cubic --cc bbr"]),
    "no sweep": (("geo[loss.percent=7]",), ["geo: has no sweep", "--set KEY=VALUE"]),
    "no list": (("bulk", "--set", 'seeds="1,2"'), ["seeds = '1,2': must be a list"]),
    "unknown cc of a dry run": (("bulk", "--dry-run", "--cc", "santacrus"), ["did you mean santacruz?"]),
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
    ccs = ("reno", "hybla_ext:rtt0_ms=2.5", "cubic")
    many = (*(x for c in ccs for x in ("--cc", c)), *SHORT, "--seeds", "2", "--out", tmp_path, "--json")
    done = hetlab("run", "bulk", *many)
    assert done.returncode == 1
    assert done.stderr.count("failed: ") == 1 and "hybla_ext:rtt0_ms=2.5 seeds 1, 2: " in done.stderr
    assert "rtt0_ms: round trip" in done.stderr
    assert {json.loads(line)["cc"] for line in done.stdout.splitlines()} == {"reno", "cubic"}
    assert "rtt0_ms=2.5 refused" in done.stderr
    assert "1..500" in done.stderr
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
    assert "Jain" not in hetlab("table", tmp_path, "--markdown").stdout
    assert "Jain" in hetlab("table", tmp_path, "--markdown", "--column", "Jain").stdout
    shown = hetlab("table", tmp_path, env={"COLUMNS": "80"}).stdout
    assert max(map(len, shown.splitlines())) <= 80
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
    assert f"--resume --out {tmp_path}" in rest
    assert len(list(tmp_path.rglob("result.json"))) == 1


def test_claims_of_a_changed_module(hetlab: Hetlab, tmp_path: Path) -> None:
    """A file in place of the tree's of that name: its default N_op of 30 packets is seen; others are refused."""
    source = (TOP / "tcp_santacruz.c").read_text()
    own = tmp_path / "tcp_santacruz.c"
    own.write_text(source.replace("n_op, 3000,", "n_op, 30000,"))
    assert own.read_text() != source
    done = hetlab("claims", "real_networks-long", "--cc", own, "--out", tmp_path / "out", "--json")
    assert done.returncode in (0, 1) and json.loads(done.stdout)["id"] == "real_networks-long", done.stderr
    (result,) = (json.loads(path.read_text()) for path in (tmp_path / "out").rglob("result.json"))
    assert result["queueing_ms"]["p50"] > 2, "30 packets of 1500 bytes at 100 Mbit/s: 3.6 ms; 3 packets: 0.4"
    other = tmp_path / "tcp_mine.c"
    own.rename(other)
    refused = hetlab("claims", "real_networks-long", "--cc", other)
    assert refused.returncode == 2 and "tcp_mine.c: not the name of one of this tree's modules" in refused.stderr


def test_a_command_goes_on_where_another_ended(hetlab: Hetlab, tmp_path: Path) -> None:
    """Only what is missing, was measured otherwise, or is damaged is run; the table has all."""
    bulk = ("run", "bulk", *SHORT, "--cc", "reno", "--cc", "cubic", "--json")
    hetlab(*bulk, "--seeds", "2", "--out", tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    (tmp_path / "bulk" / "reno" / "seed-2" / "result.json").write_text("{}")
    other = tmp_path / "bulk" / "cubic" / "seed-1" / "run.json"
    other.write_text(json.dumps({"wall_s": 1, "lab": "of another version"}))
    done = hetlab(*bulk, "--seeds", "3", "--out", tmp_path, "--resume")
    assert done.returncode == 0, done.stderr
    assert f"2 runs are in {tmp_path} already" in done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted((r["cc"], r["seed"]) for r in results) == [(cc, n) for cc in ("cubic", "reno") for n in (1, 2, 3)]
    same = {path.parts[-3:-1] for path, then in before.items() if path.stat().st_mtime_ns == then}
    assert same == {("reno", "seed-1"), ("cubic", "seed-2")}
    rest = hetlab(*bulk, "--seeds", "4", "--out", tmp_path, "--resume", "--dry-run")
    assert rest.stdout.splitlines()[-1].split()[:2] == ["all", "2"]
    longer = hetlab("run", "bulk", "--set", "duration_s=5", "--cc", "reno", "--out", tmp_path, "--resume")
    assert "are taken from there" not in longer.stderr
    assert f"{tmp_path} has 5 other runs already" in longer.stderr
    assert f"1 of the runs in {tmp_path} have the same names as these and other settings" in longer.stderr
    assert "other settings" not in done.stderr, "a file that is no result, and another version of the lab"
    assert hetlab(*bulk, "--resume").returncode == 2
