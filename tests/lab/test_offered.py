# SPDX-License-Identifier: GPL-2.0
"""Faults of parameters that are reported before a machine boots."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from commands import TOP
from hetlab.build.kernel import Kernel
from hetlab.build.offered import Parameter, check_queues
from hetlab.errors import LabError
from hetlab.model import files, jobs

pytestmark = pytest.mark.fast
OURS = sorted(TOP.glob("tcp_*.c"))
DECLARED = re.compile(r"^CC_PARAM_(UINT|MILLI)\((\w+), (\d+), (\d+), (\d+),\s*((?:\"[^\"]*\"\s*)+)\);", re.MULTILINE)


@pytest.mark.parametrize("source", OURS, ids=lambda path: path.stem)
def test_bounds_read_from_descriptions_are_those_of_the_modules(source: Path) -> None:
    """What a description does not say is not checked; what it says must be what the module takes."""
    read = 0
    for scale, name, default, low, high, said in DECLARED.findall(source.read_text()):
        unit = 1000 if scale == "MILLI" else 1
        about = "".join(re.findall(r'"([^"]*)"', said))
        parameter = Parameter(about=about)
        if bounds := parameter.bounds():
            read += 1
            assert bounds == (int(low) / unit, int(high) / unit), f"{name}: {about}"
            assert parameter.fault(f"{int(default) / unit:g}") == ""
            assert parameter.fault(f"{int(high) + 1}").startswith(f"{bounds[0]:g} to ")
    assert read >= 2


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        (Parameter("uint"), ["0", "1000", "0x10"], ["abc", "0.5", ""]),
        (Parameter("int"), ["-1"], ["1e3"]),
        (Parameter("bool"), ["y", "N", "1", "off"], ["2", "maybe"]),
        (Parameter("charp"), ["anything"], []),
        (Parameter(about="packets to keep (0.5..1000); default 3"), ["0.5", "1000", "1.125"], ["0.4", "1001", "x"]),
        (Parameter(about="steps 1: large, 0: small"), ["0", "1"], ["2", "-1"]),
        (Parameter(about="once in so many seconds (0: never)"), ["7"], []),
        (Parameter(), ["what nobody describes"], []),
    ],
)
def test_values(parameter: Parameter, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if parameter.fault(value)] == []
    assert [value for value in bad if not parameter.fault(value)] == []


@pytest.mark.parametrize("way", ["forward", "reverse"])
def test_a_kernel_without_dualpi2_is_told_by_the_place(tmp_path: Path, way: str) -> None:
    """Whoever runs it; None: a kernel that is not the lab's."""
    sets = [f"link.bottleneck.{way}={{rate_mbit=9,aqm='dualpi2'}}"]
    planned = jobs.make(files.load("bulk", sets), [jobs.parse_cc("reno")], [1])
    k = Kernel(tmp_path, tmp_path, "key")
    (tmp_path / "modules.builtin.modinfo").write_text("sch_pie.license=GPL\0")
    said = rf"bulk: link\.bottleneck\.{way}: aqm='dualpi2': .* came with Linux 6\.17: --series 7\.2"
    for lacking in (k, None):
        with pytest.raises(LabError, match=said):
            check_queues(planned, lacking)
        check_queues(jobs.make(files.load("bulk"), [jobs.parse_cc("reno")], [1]), lacking)
    (tmp_path / "modules.builtin.modinfo").write_text("sch_pie.license=GPL\0sch_dualpi2.license=Dual BSD/GPL\0")
    check_queues(planned, replace(k, key="other"))
