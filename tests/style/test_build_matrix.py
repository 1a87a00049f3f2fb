# SPDX-License-Identifier: GPL-2.0
"""The modules build: against Debian's headers, and in a copy without the lab."""

import shutil
from pathlib import Path

import pytest

from commands import TOP, call

pytestmark = pytest.mark.build
COMBINATIONS = call("tools/ci/build_matrix.sh", "--list").stdout.split()


def test_build_matrix_has_each_series_architecture_and_compiler() -> None:
    parts = [set(part) for part in zip(*(name.split("-") for name in COMBINATIONS), strict=True)]
    assert parts == [{"6.1", "6.12", "7.2"}, {"amd64", "arm64", "armhf"}, {"gcc", "clang"}]


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_modules_build_without_warnings(combination: str) -> None:
    done = call("tools/ci/build_matrix.sh", combination)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"ok 1 - {combination} (" in done.stdout


def test_make_in_a_copy_without_the_lab(tmp_path: Path) -> None:
    """What a user of the modules does: make KDIR=..., no Python, no lab."""
    kdir = sorted(Path("/usr/src").glob("linux-headers-6.12*-amd64"))[-1]
    for name in ("Makefile", "Kbuild"):
        shutil.copy(TOP / name, tmp_path)
    for source in TOP.glob("tcp_*.c"):
        shutil.copy(source, tmp_path)
    shutil.copytree(TOP / "include", tmp_path / "include")
    done = call("make", "-C", tmp_path, f"KDIR={kdir}", MAKEFLAGS="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(p.stem for p in tmp_path.glob("*.ko")) == ["tcp_hybla_ext", "tcp_santacruz", "tcp_westwood_fr"]
    missing = call("make", "-C", tmp_path, "KDIR=/nonexistent", MAKEFLAGS="")
    assert missing.returncode != 0
    assert "KDIR=" in missing.stderr
