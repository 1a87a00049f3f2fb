# SPDX-License-Identifier: GPL-2.0
"""Kernels of other series: which kernel is meant, what is refused."""

from pathlib import Path

import pytest

import rebase
from commands import Hetlab
from hetlab.build import kernel as own
from hetlab.errors import LabError
from hetlab.paths import BUILD
from hetlab.ported import kernel

pytestmark = pytest.mark.fast
VARIANTS = [(False, False), (True, False), (True, True)]


@pytest.fixture(autouse=True)
def sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files in place of Debian's sources."""
    for series in kernel.SERIES:
        (tmp_path / series).write_text(series)
    monkeypatch.setattr(kernel, "tarball", lambda series: tmp_path / series)
    monkeypatch.setattr(own, "source_version", lambda: "6.12.1")


def test_each_is_built_beside_the_others() -> None:
    kernels = [kernel.wanted(series, patched, debug) for series in ("6.1", "7.2") for patched, debug in VARIANTS]
    assert len({k.out for k in kernels}) == len({k.key for k in kernels}) == len(kernels)
    assert {k.source.parent for k in kernels} == {BUILD / "kernel"}


def test_our_own_is_that_of_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hashes, and so the results of before, stay."""
    mine = own.Kernel(Path("src"), Path("out"), "key")
    monkeypatch.setattr(own, "built", lambda patched: mine)
    assert kernel.built(kernel.DEFAULT, patched=True) is mine
    assert kernel.DEFAULT == own.SERIES


def test_a_change_of_what_it_is_made_of_is_another_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = {patched: kernel.wanted("6.1", patched).key for patched in (False, True)}
    (tmp_path / "option.patch").write_text("changed")
    monkeypatch.setattr(own, "OPTION_PATCH", tmp_path / "option.patch")
    assert kernel.wanted("6.1", patched=False).key == before[False]
    assert kernel.wanted("6.1", patched=True).key != before[True]


def test_patches_of_the_users_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"--series 7\.2: --patch is for 6\.12 alone"):
        kernel.kernel(None, "7.2", patches=[tmp_path])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["kernel", "--series", "5.10"], ("6.1", "6.12", "7.2")),
        (["run", "geo", "--series", "6.1", "--on", "vm"], ("--series: the lab's kernel, which --on vm",)),
        (["exec", "--series", "7.2", "--on", "vm", "--", "true"], ("nor of a --series",)),
        (["judge", "reno", "--case", "d-dualpi2"], ("--case d-dualpi2: needs --series 7.2",)),
        (["judge", "reno", "--case", "d-dual"], ("d-dualpi2 (--series 7.2)", "none of these cases is of Linux 6.12")),
        (["judge", "reno", "--case", "a-20", "--series", "5.10"], ("6.1", "6.12", "7.2")),
        (["run", "geo", "--series", "6.1", "--cluster", "slurm"], ("--cluster: workers have this tree's kernel 6.12",)),
    ],
)
def test_what_is_wrong_is_said(hetlab: Hetlab, args: list[str], words: tuple[str, ...]) -> None:
    done = hetlab(*args)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize("lab", [False, True])
@pytest.mark.parametrize("series", rebase.SERIES)
def test_what_does_not_merge_has_its_patch(series: str, lab: bool) -> None:
    what = rebase.Carried(series, lab)
    assert what.rest.read_text().startswith("Conflicts of the merge: ")
    assert len(what.files) == len(set(what.files)) > 5
