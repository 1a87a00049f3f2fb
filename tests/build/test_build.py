# SPDX-License-Identifier: GPL-2.0
"""Estimators in user space, modules against Debian's kernels, linters, kernel build."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rebase

from hetlab.paths import TOP


def run(*args: str | Path, timeout: float = 1800, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(a) for a in args],
        capture_output=True,
        text=True,
        cwd=TOP,
        timeout=timeout,
        check=False,
        env=os.environ | env,
    )


def test_estimators() -> None:
    done = run("make", "-C", "tests/user", "run_tests")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " 0 failed" in done.stdout


COMBINATIONS = run("tools/ci/build_matrix.sh", "--list").stdout.split()


def test_build_matrix_has_each_series_architecture_and_compiler() -> None:
    parts = [set(part) for part in zip(*(name.split("-") for name in COMBINATIONS), strict=True)]
    assert parts == [{"6.1", "6.12", "7.2"}, {"amd64", "arm64", "armhf"}, {"gcc", "clang"}]


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_modules_build_without_warnings(combination: str) -> None:
    done = run("tools/ci/build_matrix.sh", combination)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"ok 1 - {combination} (" in done.stdout


def test_option_patch_builds_without_messages() -> None:
    """In and out, gcc and clang, 32 and 64 bit; sparse and W=1."""
    done = run("tools/ci/option_patch.sh")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stderr.count("no messages") == 4


def test_option_patch_for_6_1_builds_without_messages() -> None:
    """Generated, applied without fuzz, in and out; 7.2: tools/ci/option_patch.sh --series 7.2."""
    done = run("tools/ci/option_patch.sh", "--series", "6.1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stderr.count("no messages") == 2


@pytest.mark.parametrize("change", ["nothing", "what is merged", "what conflicts"])
def test_rebase_follows_the_patch_or_stops(change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A changed patch arrives in the generated one; where it conflicts nothing is generated."""
    old, new = {
        "nothing": ("", ""),
        "what is merged": ("+\tmemset(opt, 0, sizeof(*opt));\n", "+\tmemset(opt, 1, sizeof(*opt));\n"),
        "what conflicts": ("tcp_sc_ok(tp))\n \t\treturn;", "!!tcp_sc_ok(tp))\n \t\treturn;"),
    }[change]
    truth = rebase.TRUTH.read_text()
    assert old in truth
    changed = tmp_path / "changed.patch"
    changed.write_text(truth.replace(old, new, 1))
    run("tools/kernel/rebase.py", "6.1")
    shutil.copytree(rebase.BUILD / "rebase", tmp_path / "rebase", symlinks=True)
    monkeypatch.setattr(rebase, "TRUTH", changed)
    monkeypatch.setattr(rebase, "BUILD", tmp_path)
    if change == "what conflicts":
        with pytest.raises(rebase.RebaseError, match="conflict"):
            rebase.generate("6.1")
    else:
        assert (new or "KUNIT_EXPECT_MEMEQ") in rebase.generate("6.1").read_text()


def test_rebase_says_what_is_wrong() -> None:
    done = run("tools/kernel/rebase.py", "5.10")
    assert done.returncode != 0
    assert "6.1" in done.stderr and "7.2" in done.stderr
    wrong = run("tools/ci/option_patch.sh", "--series", "5.10")
    assert wrong.returncode != 0
    assert "--series: 6.1, 6.12 or 7.2" in wrong.stderr


@pytest.mark.parametrize("check", ["checkpatch", "sparse", "fnlen", "shellcheck", "ruff", "mypy"])
def test_style(check: str) -> None:
    done = run("tools/ci/lint.sh", check)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_make_in_a_copy_without_the_lab(tmp_path: Path) -> None:
    """What a user of the modules does: make KDIR=..., no Python, no lab."""
    kdir = sorted(Path("/usr/src").glob("linux-headers-6.12*-amd64"))[-1]
    for name in ("Makefile", "Kbuild"):
        shutil.copy(TOP / name, tmp_path)
    for source in TOP.glob("tcp_*.c"):
        shutil.copy(source, tmp_path)
    shutil.copytree(TOP / "include", tmp_path / "include")
    done = run("make", "-C", tmp_path, f"KDIR={kdir}", MAKEFLAGS="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(p.stem for p in tmp_path.glob("*.ko")) == ["tcp_hybla_ext", "tcp_santacruz", "tcp_westwood_fr"]
    missing = run("make", "-C", tmp_path, "KDIR=/nonexistent", MAKEFLAGS="")
    assert missing.returncode != 0
    assert "KDIR=" in missing.stderr


def test_kernel_is_not_built_twice() -> None:
    done = run("tools/hetlab", "kernel")
    assert done.returncode == 0, done.stderr
    assert "building" not in done.stdout + done.stderr
