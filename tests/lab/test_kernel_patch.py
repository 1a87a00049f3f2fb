# SPDX-License-Identifier: GPL-2.0
"""--patch: a patch of the user's is another kernel, with what it adds switched on."""

import os
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from commands import call_hetlab
from hetlab.build import kernel
from hetlab.errors import LabError

pytestmark = pytest.mark.fast

PATCH = """--- a/net/ipv4/Kconfig
+++ b/net/ipv4/Kconfig
@@ -1,1 +1,3 @@
+config TCP_CONG_MINE
+\ttristate "mine"
"""


def test_another_kernel_with_what_it_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "BUILD", tmp_path)
    own = tmp_path / "mine.patch"
    own.write_text(PATCH)
    patches, configs = kernel._inputs(False, False, [own])
    assert patches[-1] == own and patches[:-1] == kernel._inputs(False, False)[0]
    assert configs[-1].read_text() == "CONFIG_TCP_CONG_MINE=y\n"
    plain, other = kernel._wanted(*kernel._inputs(False, False)), kernel._wanted(patches, configs)
    assert plain.key != other.key and plain.source != other.source
    own.write_text(PATCH.replace("MINE", "OTHER"))
    assert kernel._wanted(*kernel._inputs(False, False, [own])).key != other.key


def test_a_path_from_where_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """patch(1) runs inside the source."""
    (tmp_path / "linux").mkdir()
    (tmp_path / "linux/Kconfig").write_text("old\n")
    subprocess.run(["tar", "cf", "linux.tar", "linux"], cwd=tmp_path, check=True)
    (tmp_path / "mine.patch").write_text("--- a/Kconfig\n+++ b/Kconfig\n@@ -1 +1 @@\n-old\n+new\n")
    monkeypatch.setattr(kernel, "TARBALL", tmp_path / "linux.tar")
    monkeypatch.chdir(tmp_path)
    kernel.unpack(Console(quiet=True), tmp_path / "source", [Path("mine.patch")])
    changed = tmp_path / "source/Kconfig"
    assert changed.read_text() == "new\n"
    assert changed.stat().st_mtime == kernel.TARBALL.stat().st_mtime, "as old as what is beside it"


def test_objects_of_a_kernel_without_the_patch_are_gone_on_with(tmp_path: Path) -> None:
    """What the patch changes is newer than they are, whenever its source was unpacked; the copy is not complete yet."""
    base = kernel.Kernel(tmp_path / "src-a", tmp_path / "src-a/um-a", "a")
    k = kernel.Kernel(tmp_path / "src-b", tmp_path / "src-b/um-b", "b")
    k.source.mkdir()
    for name in ("tcp.c", "udp.c"):
        (k.source / name).touch()
        os.utime(k.source / name, (1, 1))
    patch = tmp_path / "mine.patch"
    patch.write_text("--- a/tcp.c\n+++ b/tcp.c\n--- a/gone.c\n+++ /dev/null\n")
    assert not kernel.reuse(base, k, [patch]) and not k.out.exists()
    base.out.mkdir(parents=True)
    for name in ("linux", "tcp.o", ".complete"):
        (base.out / name).touch()
    assert kernel.reuse(base, k, [patch])
    assert sorted(path.name for path in k.out.iterdir()) == ["linux", "tcp.o"]
    assert (k.out / "tcp.o").stat().st_mtime == (base.out / "tcp.o").stat().st_mtime
    assert (k.source / "tcp.c").stat().st_mtime >= (k.out / "tcp.o").stat().st_mtime
    assert (k.source / "udp.c").stat().st_mtime == 1


@pytest.mark.parametrize(("text", "said"), [("no patch at all", "no patch"), (None, "No such file")])
def test_faults(tmp_path: Path, text: str | None, said: str) -> None:
    own = tmp_path / "mine.patch"
    if text is not None:
        own.write_text(text)
    with pytest.raises(LabError, match=f"mine.patch.*{said}"):
        kernel._inputs(False, False, [own])


def test_only_for_the_labs_kernel(tmp_path: Path) -> None:
    done = call_hetlab("run", "bulk", "--on", "host", "--patch", tmp_path / "x.patch")
    assert done.returncode == 2 and "--patch: changes the lab's kernel" in done.stderr
