# SPDX-License-Identifier: GPL-2.0
"""--on vm: Debian's kernel boots under QEMU, with our modules, and runs a scenario; tests/vm has the rest."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hetlab.paths import TOP

pytestmark = pytest.mark.virtual
Hetlab = Callable[..., "subprocess.CompletedProcess[str]"]


def test_scenario_on_debians_kernel(run_json: Callable[..., list[dict[str, Any]]], tmp_path: Path) -> None:
    where = ("--on", "vm", "--kernel", "6.1", "--out", tmp_path)
    (result,) = run_json("bulk", "--cc", "santacruz", "--set", "duration_s=5", *where)
    assert result["kernel_release"].startswith("6.1.") and result["kernel_release"].endswith("-amd64")
    assert result["hashes"]["kernel"] == result["kernel_release"]
    assert not result["reproducible"]
    assert 6 < result["flows"][0]["goodput_mbit"] < 10
    assert result["owd_ms"]["min"] > 50


@pytest.mark.parametrize(
    "args, text",
    [
        (["run", "santacruz-basic", "--patched"], "Debian's kernels have no Santa Cruz option"),
        (["run", "santacruz-basic@option"], "Debian's kernels have no Santa Cruz option"),
        (["exec", "--debug", "--", "true"], "neither --patched nor --debug"),
        (["exec", "--", "true"], f"takes {TOP} along and nothing else"),
    ],
)
def test_what_it_cannot_do(hetlab: Hetlab, tmp_path: Path, args: list[str], text: str) -> None:
    done = hetlab(args[0], "--on", "vm", *args[1:], cwd=tmp_path)
    assert done.returncode == 2
    assert text in done.stderr
