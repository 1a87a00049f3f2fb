# SPDX-License-Identifier: GPL-2.0
"""The lab as one file: unpacked elsewhere it gives the same bytes, with nothing of this tree's build folder."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from commands import Hetlab
from hetlab.build import pack
from hetlab.errors import LabError

RUN = ("run", "bulk", "--set", "duration_s=3", "--cc", "reno")


@pytest.mark.fast
def test_what_is_no_pack_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.tar.gz"
    file.write_text("no archive")
    with pytest.raises(LabError, match="cannot be unpacked"):
        pack.unpack(file, tmp_path / "a")
    for name in ("else/file", f"{pack.ROOT}/../../file"):
        with tarfile.open(file, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
        with pytest.raises(LabError, match="no pack of hetlab"):
            pack.unpack(file, tmp_path / "b")
    with pytest.raises(LabError, match="not empty"):
        pack.unpack(file, tmp_path)


@pytest.mark.virtual
def test_a_pack_gives_the_same_bytes(hetlab: Hetlab, tmp_path: Path) -> None:
    file = tmp_path / "lab.tar.gz"
    assert hetlab("pack", file).returncode == 0
    moved = Path(hetlab("unpack", file, tmp_path / "first").stdout.strip()).parents[1]
    moved = moved.rename(tmp_path / "elsewhere")
    assert hetlab(*RUN, "--out", tmp_path / "here").returncode == 0
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HETLAB_STORE": "none"}
    words = list(map(str, (moved / "tools" / "hetlab", *RUN, "--out", tmp_path / "there")))
    done = subprocess.run(words, env=env, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    here, there = (
        {p.relative_to(top): p.read_bytes() for p in top.rglob("*.*") if p.is_file() and p.name != "run.json"}
        for top in (tmp_path / "here", tmp_path / "there")
    )
    assert there == here
    own = subprocess.run([*words, "--patch", "/dev/null"], env=env, capture_output=True, text=True, check=False)
    assert own.returncode == 2 and "is a pack without a kernel such as is asked for" in own.stderr
