# SPDX-License-Identifier: GPL-2.0
"""--patch: a patch of the user's is another kernel, with what it adds switched on."""

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
    assert (tmp_path / "source/Kconfig").read_text() == "new\n"


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
