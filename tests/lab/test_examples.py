# SPDX-License-Identifier: GPL-2.0
"""The Mininet scripts that docs/lab.md shows: each runs, prints what it should, and is shown as it is."""

import re
from pathlib import Path

import pytest

from commands import Hetlab
from hetlab.paths import TOP

pytestmark = pytest.mark.virtual
EXAMPLES = ("own_network", "exact_link", "measure_path", "two_flows")


def output_of(hetlab: Hetlab, name: str, where: Path) -> str:
    """What a script prints when it is called as the document says, from another directory."""
    done = hetlab("exec", "--", "python3", TOP / "tools" / "mininet" / f"{name}.py", cwd=where)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.fast
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_document_has_the_text_of_the_file(name: str) -> None:
    path = f"tools/mininet/{name}.py"
    text = (TOP / "docs" / "lab.md").read_text()
    assert f"\n```python\n{(TOP / path).read_text()}```\n" in text
    assert f"\n    tools/hetlab exec -- python3 {path}\n" in text


def test_own_network(hetlab: Hetlab, tmp_path: Path) -> None:
    text = output_of(hetlab, "own_network", tmp_path)
    assert "3 received, 0% packet loss" in text
    mbit = {cc: float(rate) for cc, rate in re.findall(r"^(\w+): ([\d.]+) Mbit/s, \d+ retransmissions$", text, re.M)}
    assert mbit.keys() == {"santacruz", "cubic"}
    assert min(mbit.values()) > 0.3 and 8.5 < sum(mbit.values()) < 10


def test_exact_link(hetlab: Hetlab, tmp_path: Path) -> None:
    """98 bytes take 0.1 ms at 8 Mbit/s and 0.7 ms at 1 Mbit/s."""
    text = output_of(hetlab, "exact_link", tmp_path)
    assert "initcwnd 20" in text
    lost = [int(n) for n in re.findall(r"1000 packets transmitted, (\d+) received", text)]
    assert 975 < lost[0] < 1000 and lost[1] == 1000
    means_ms = [float(ms) for ms in re.findall(r"= [\d.]+/([\d.]+)/", text)]
    assert means_ms == pytest.approx([45.8, 100.8], abs=0.1)


def test_measure_path(hetlab: Hetlab, tmp_path: Path) -> None:
    text = output_of(hetlab, "measure_path", tmp_path)
    found = re.findall(r"^(\S+): ([\d.]+) Mbit/s, delay p95 ([\d.]+) ms, window (\d+) packets at 20 s$", text, re.M)
    assert [cc for cc, *_numbers in found] == ["reno", "santacruz:n_op=4"]
    assert all(4.7 < float(mbit) < 5 for _cc, mbit, *_rest in found)
    assert [float(delay) for _cc, _mbit, delay, _window in found] == pytest.approx([126, 42], abs=3)


def test_two_flows(hetlab: Hetlab, tmp_path: Path) -> None:
    text = output_of(hetlab, "two_flows", tmp_path)
    found = re.findall(r"^ *(\d+) s  flow (\d)  cwnd (\d+)  srtt ([\d.]+) ms$", text, re.M)
    assert [int(t) for t, flow, *_rest in found if flow == "1"] == [5, 10, 15, 20, 25, 30]
    assert [int(t) for t, flow, *_rest in found if flow == "2"] == [15, 20, 25, 30]
    assert all(50 < float(srtt) < 105 for *_rest, srtt in found), "50 ms of delay, a queue of at most 50 ms"
