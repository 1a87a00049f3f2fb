# SPDX-License-Identifier: GPL-2.0
"""santacruz_opt.patch: builds without messages, also as generated for other kernel series."""

import shutil
from pathlib import Path

import pytest

import rebase
from commands import call

pytestmark = pytest.mark.build


@pytest.mark.parametrize(
    "combinations",
    [
        ["clang-32-in"],
        pytest.param(["gcc-64-out", "clang-64-in", "gcc-32-in", "gcc-32-out"], marks=pytest.mark.series),
    ],
)
def test_option_patch_builds_without_messages(combinations: list[str]) -> None:
    """In and out, gcc and clang, 32 and 64 bit; sparse and W=1. The lab's kernels are gcc-64-in and gcc-64-out."""
    done = call("tools/ci/option_patch.sh", *combinations)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stderr.count("no messages") == len(combinations)


@pytest.mark.series
def test_option_patch_for_6_1_builds_without_messages() -> None:
    """Generated, applied without fuzz, in and out; 7.2: tools/ci/option_patch.sh --series 7.2."""
    done = call("tools/ci/option_patch.sh", "--series", "6.1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stderr.count("no messages") == 2


@pytest.mark.parametrize("change", ["nothing", "what is merged", "what conflicts"])
def test_rebase_follows_the_patch_or_stops(change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A changed patch arrives in the generated one; where it conflicts nothing is generated."""
    old, new = {
        "nothing": ("", ""),
        "what is merged": ("+#define TCP_SC_MAX_LOOK\t\t16\t", "+#define TCP_SC_MAX_LOOK\t\t17\t"),
        "what conflicts": ("!tcp_rsk_used_ao(req);", "!!tcp_rsk_used_ao(req);"),
    }[change]
    truth = rebase.TRUTH.read_text()
    assert truth.count(old) == 1 or not old
    changed = tmp_path / "changed.patch"
    changed.write_text(truth.replace(old, new, 1))
    call("tools/kernel/rebase.py", "6.1")
    shutil.copytree(rebase.BUILD / "rebase", tmp_path / "rebase", symlinks=True)
    monkeypatch.setattr(rebase, "TRUTH", changed)
    monkeypatch.setattr(rebase, "BUILD", tmp_path)
    if change == "what conflicts":
        with pytest.raises(rebase.RebaseError, match="conflict"):
            rebase.generate("6.1")
    else:
        assert (new or "KUNIT_EXPECT_MEMEQ") in rebase.generate("6.1").read_text()


@pytest.mark.parametrize("series", [rebase.BASE, "6.1"])
def test_git_takes_the_patch(series: str, tmp_path: Path) -> None:
    """``git am`` commits each of the series, new files included, on the files that it touches."""
    assert call("tools/kernel/rebase.py", "6.1").returncode == 0
    work = rebase.BUILD / "rebase"
    patch, before = {
        rebase.BASE: (rebase.TRUTH, work / "6.1" / "base"),
        "6.1": (rebase.BUILD / "santacruz_opt-6.1.patch", work / "6.1" / "series"),
    }[series]
    tree = shutil.copytree(before, tmp_path / "tree")
    git = ["git", "-C", str(tree), "-c", "user.name=tester", "-c", "user.email=tester@example.org"]
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", series], ["tag", "before"], ["am", str(patch)]):
        done = call(*git, *args)
        assert done.returncode == 0, done.stdout + done.stderr
    subjects = call(*git, "log", "--format=%s", "before..").stdout.splitlines()
    assert len(subjects) == {rebase.BASE: 6, "6.1": 1}[series]
    assert all(subject.startswith("tcp: ") for subject in subjects)
    added = call(*git, "log", "--diff-filter=A", "--name-only", "--format=", "before..").stdout.split()
    assert sorted(added) == [
        "include/net/tcp_santacruz.h",
        "net/ipv4/tcp_santacruz_opt.c",
        "net/ipv4/tcp_santacruz_opt_test.c",
    ]


def test_rebase_says_what_is_wrong() -> None:
    done = call("tools/kernel/rebase.py", "5.10")
    assert done.returncode != 0
    assert "6.1" in done.stderr and "7.2" in done.stderr
    wrong = call("tools/ci/option_patch.sh", "--series", "5.10")
    assert wrong.returncode != 0
    assert "--series: 6.1, 6.12 or 7.2" in wrong.stderr
