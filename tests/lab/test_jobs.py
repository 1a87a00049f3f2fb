# SPDX-License-Identifier: GPL-2.0
"""Arguments of hetlab run: congestion controls, parameters, seeds."""

import re
from pathlib import Path

import pytest

from hetlab.cli import campaigns
from hetlab.errors import LabError
from hetlab.model import congestion, files, jobs
from hetlab.model.congestion import label
from hetlab.paths import TOP
from hetlab.results import store

pytestmark = pytest.mark.fast


def test_cc_with_parameters() -> None:
    v = jobs.parse_cc("santacruz:n_op=1.5,delta=0.5")
    assert v.cc == "santacruz"
    assert v.params == {"n_op": "1.5", "delta": "0.5"}
    assert label(v.cc, v.params) == "santacruz:delta=0.5,n_op=1.5"


@pytest.mark.parametrize("bad", ["", "Reno", "a b", "x" * 16, "reno:", "reno:x", "reno:x=", "reno:=1", "reno:a=1 2"])
def test_bad_cc(bad: str) -> None:
    if bad == "reno:":
        assert jobs.parse_cc(bad).params == {}
        return
    with pytest.raises(LabError, match="--cc"):
        jobs.parse_cc(bad)


def test_a_listeners_congestion_control_is_one_of_the_run() -> None:
    """Its module is loaded, whether the kernel has it is asked before anything boots."""
    planned = jobs.make(files.load("bulk", ["route.d.congctl=santacruz"]), [jobs.parse_cc("reno")], [1])
    assert planned[0].scenario.route == {"d": "congctl santacruz"}
    assert planned[0].ccs == {"reno", "santacruz"} and "tcp_santacruz" in planned[0].modules
    bare = jobs.make(files.load("bulk"), [jobs.parse_cc("reno")], [1])
    assert bare[0].ccs == {"reno"} and "tcp_santacruz" not in bare[0].modules


def test_seeds() -> None:
    assert jobs.parse_seeds([], 3) == [1, 2, 3]
    assert jobs.parse_seeds([7], None) == [7]
    assert jobs.parse_seeds([], None) is None


@pytest.mark.parametrize(("seed", "seeds"), [([1], 2), ([-1], None), ([2**32], None), ([], 0), ([], 10_001)])
def test_bad_seeds(seed: list[int], seeds: int | None) -> None:
    with pytest.raises(LabError, match="--seed"):
        jobs.parse_seeds(seed, seeds)


def test_a_preset_is_its_parameters_and_its_label() -> None:
    paper = jobs.parse_cc("santacruz@paper")
    assert paper.cc == "santacruz"
    assert paper.params == congestion.presets_of("santacruz")["paper"] == {"paper": "1"}
    assert label(paper.cc, paper.params) == "santacruz@paper"


def test_parameters_come_over_a_preset() -> None:
    more = jobs.parse_cc("santacruz@paper:n_op=2")
    assert more.params == jobs.parse_cc("santacruz@paper").params | {"n_op": "2"}
    assert label(more.cc, more.params) == "santacruz@paper:n_op=2"
    other = jobs.parse_cc("hybla_paper@unspaced:pacing=1")
    assert other.params["pacing"] == "1"
    assert label(other.cc, other.params) == "hybla_paper:pacing=1", "unspaced is what it is no more"
    assert label("hybla_ext", {"pacing": "0", "hoe": "0"}) == "hybla_ext:hoe=0,pacing=0"


@pytest.mark.parametrize(
    ("bad", "known"), [("santacruz@mine", "paper"), ("reno@paper", "none"), ("stranger@x", "none")]
)
def test_unknown_preset(bad: str, known: str) -> None:
    with pytest.raises(LabError, match=rf"--cc {bad}: .* has no preset .*; it has: {known}"):
        jobs.parse_cc(bad)


def listed(path: str, pattern: str) -> list[str]:
    """Words of a file that must do without hetlab."""
    (found,) = re.findall(pattern, (TOP / path).read_text(), re.M | re.S)
    return re.findall(r"\w+", found)


def test_lists_of_files_that_do_without_hetlab_are_the_same() -> None:
    ours = congestion.ours()
    modules = sorted(set(ours.values()))
    assert sorted(listed("Kbuild", r"^obj-m := (.*?)$")) == sorted([*modules, *["o"] * len(modules)])
    assert sorted(listed("tests/modules/selftests/lib.sh", r"^MODULES=\((.*?)\)$")) == modules
    assert listed("tests/modules/selftests/lib.sh", r"^CCS=\((.*?)\)$") == list(ours)
    assert sorted(listed("tests/modules/selftests/tap.py", r"^MODULES = \[(.*?)\]$")) == modules
    for path in ("tests/modules/selftests/idle_undo.py", "tests/modules/selftests/cc_switch.py"):
        assert listed(path, r"^OURS = \[(.*?)\]$") == list(ours)
    assert listed("tests/modules/stress/world.py", r"^OURS = \{(.*?)\}$") == [
        word for pair in ours.items() for word in pair
    ]
    # hybla_paper is compared with its paper alone
    default = tuple(cc for cc in ours if cc != "hybla_paper")
    assert files.load("bulk")[0].scenario.compare[: len(default)] == default


def test_a_directory_of_results_is_whole_or_not_there(tmp_path: Path) -> None:
    directory = tmp_path / "run" / "seed-1"
    with store.whole(directory) as draft:
        (draft / "result.json").write_text("first")
    with pytest.raises(OSError, match="disk"), store.whole(directory) as draft:
        (draft / "result.json").write_text("half")
        raise OSError("disk full")
    assert (directory / "result.json").read_text() == "first"
    with store.whole(directory) as draft:
        (draft / "trace.parquet").touch()
    assert [path.name for path in directory.iterdir()] == ["trace.parquet"], "an earlier run goes"
    assert list(directory.parent.iterdir()) == [directory]


def test_out_is_tried_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        with pytest.raises(LabError, match=rf"--out {bad}: results cannot be written there"):
            campaigns.carry_out([], campaigns.virtual(None), bad, print)


def test_a_cc_that_no_flow_would_use_is_refused() -> None:
    """Its row would say reno, and be vegas."""
    fixed = files.load("bulk", ["flow.main.cc=vegas"])
    with pytest.raises(LabError, match="bulk: --cc would change nothing"):
        jobs.make(fixed, [jobs.Variant("reno")], [1])
    (job,) = jobs.make(fixed, [], [1])
    assert job.ccs == {"vegas"}


def test_flows_that_name_theirs_are_one_run_whatever_the_scenario_compares() -> None:
    """A row for each of ``compare`` would show the same run under ten names."""
    two = ["flow.main.cc=cubic", 'flow.other={src="s", dst="d", cc="bbr"}', 'compare=["reno", "vegas"]']
    (job,) = jobs.make(files.load("bulk", two), [], [1])
    assert (job.cc, job.ccs) == ("cubic+bbr", {"cubic", "bbr"})
