# SPDX-License-Identifier: GPL-2.0
"""The lab's kernel with the first patches of the series: one tree that goes from patch to patch.

It begins as a copy of the lab's kernel with its objects; only what the patches touch is compiled.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from rich.console import Console

from hetlab.build import kernel
from hetlab.paths import BUILD, KERNEL_DIR

WORK = BUILD / "series"
SOURCE, APPLIED = WORK / "src", WORK / "applied"
OUT = SOURCE / "um"  # below the source, as the lab's kernel has it: objects know files relative to there
MAIL = re.compile(r"^From [0-9a-f]+ Mon Sep 17 00:00:00 2001$", re.M)
CONFIGS = [KERNEL_DIR / "config" / name for name in ("lab.config", "santacruz.config")]
QUIET = {"MAKEFLAGS": "", "MFLAGS": "", "LC_ALL": "C"}


def patches() -> list[str]:
    """What the patches of the series change, in their order, without their messages."""
    text = kernel.OPTION_PATCH.read_text()
    at = [found.start() for found in MAIL.finditer(text)]
    mails = [text[start:end] for start, end in zip(at, [*at[1:], len(text)], strict=True)]
    return [mail[mail.index("\ndiff --git ") + 1 :] for mail in mails]


def _patch(text: str, *how: str) -> None:
    done = subprocess.run(
        ["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-d", str(SOURCE), *how],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _applied() -> list[Path]:
    return sorted(APPLIED.glob("*.patch"))


def _go_to(first: int) -> None:
    """Take back what differs from the first patches of today, and apply the rest; a patch touches its files only."""
    wanted = patches()[:first]
    there = [path.read_text() for path in _applied()]
    common = next((i for i, (a, b) in enumerate(zip(there, wanted, strict=False)) if a != b), min(len(there), first))
    for path in reversed(_applied()[common:]):
        _patch(path.read_text(), "-R")
        path.unlink()
    for i, text in enumerate(wanted[common:], common + 1):
        _patch(text)
        (APPLIED / f"{i}.patch").write_text(text)


def _make(*words: str) -> None:
    done = subprocess.run(
        ["make", "-s", "-C", str(SOURCE), f"O={OUT}", "ARCH=um", f"-j{os.cpu_count()}", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | QUIET,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def _configure() -> None:
    """The lab's configuration; what later patches bring does not exist yet."""
    merge = [str(SOURCE / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(OUT), str(OUT / ".config")]
    _make("x86_64_defconfig")
    subprocess.run([*merge, *map(str, CONFIGS)], cwd=SOURCE, capture_output=True, check=True)
    _make("olddefconfig")
    assert "CONFIG_TCP_SANTACRUZ=y" in (OUT / ".config").read_text().splitlines()


def _begin() -> None:
    """The lab's kernel, source and objects."""
    base = kernel.kernel(Console(stderr=True))
    for old in (SOURCE, APPLIED, OUT):
        shutil.rmtree(old, ignore_errors=True)
    kernel.run(["cp", "-a", str(base.source), str(SOURCE)], WORK / "copy.log", "copying the lab's kernel")
    (SOURCE / base.out.name).rename(OUT)
    APPLIED.mkdir()


def build(first: int) -> kernel.Kernel:
    """The lab's kernel with the first patches of the series; with all of them it is the lab's own patched one."""
    if first == len(patches()):
        return kernel.kernel(Console(stderr=True), patched=True)
    with kernel.locked(WORK):
        if not (kernel.complete(OUT, "linux") and APPLIED.is_dir()):
            _begin()
        _go_to(first)
        _configure()
        _make("linux", "modules")
    return kernel.Kernel(SOURCE, OUT, f"series-{first}-{kernel.digest(*(p.encode() for p in patches()[:first]))}")
