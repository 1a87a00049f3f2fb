# SPDX-License-Identifier: GPL-2.0
"""make bench: the network that it gives to the lab, how it counts, what it writes."""

import json
from pathlib import Path

import pytest

import speed
from commands import TOP, call
from hetlab.model import files, jobs

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("record", [True, False])
def test_the_lab_knows_the_network(tmp_path: Path, record: bool) -> None:
    """Flows over one link with a queue of one bandwidth-delay product."""
    (tmp_path / "speed.toml").write_text(speed.scenario(3, 30.0, 4.0, record))
    (job,) = jobs.make(files.load(str(tmp_path / "speed.toml")), [jobs.Variant("cubic")], [1])
    told = job.scenario
    assert (len(told.flows), told.duration_s, told.links["bottleneck"].forward.rate_mbit) == (3, 4.0, 30.0)
    assert told.links["bottleneck"].forward.queue_pkts == 30e6 * 0.04 // 8 // 1500 == 100
    assert bool(told.owd_pairs) == record


def test_a_start_is_what_no_simulated_second_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """1.5 s and 0.25 s for each simulated one."""
    monkeypatch.setattr(speed, "cpu_s", lambda words, _directory: (1.5 + 0.25 * float(words[-2]), "9.5\n"))
    assert speed.cost("ns-3", 1, 100.0, True, tmp_path) == speed.Cost(0.25, 1.5, 9.5)


def test_rows_are_those_that_docs_reads() -> None:
    row: dict[str, object] = {"turn": 0, "flows": 1, "rate_mbit": 10.0, "record": True}
    content = json.loads(speed.document([row, row]))
    assert content["rows"] == [row, row] and content["provenance"]["commands"] == ["tools/bench/speed.py"]


def test_it_may_be_called() -> None:
    """As make bench does: it was no executable file."""
    done = call(TOP / "tools" / "bench" / "speed.py", "--help")
    assert done.returncode == 0 and "--turns" in done.stdout
    assert "invalid link value: 'x'" in call(TOP / "tools" / "bench" / "speed.py", "--link", "x").stderr
