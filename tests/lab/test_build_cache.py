# SPDX-License-Identifier: GPL-2.0
"""What is built is kept, and is built again where it has gone; a stamp alone proves nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hetlab.build.kernel import complete
from hetlab.paths import TOP

pytestmark = pytest.mark.fast
LEFT = ("tcp_x.ko", "tcp_x.o", "tcp_x.mod", "tcp_x.mod.c", ".tcp_x.o.cmd", ".tcp_x.o.d", "Module.symvers")


def test_a_stamp_without_its_files_is_no_build(tmp_path: Path) -> None:
    assert not complete(tmp_path)
    (tmp_path / ".complete").touch()
    assert complete(tmp_path)
    assert not complete(tmp_path, "tcp_x.ko")
    (tmp_path / "tcp_x.ko").touch()
    assert complete(tmp_path, "tcp_x.ko")


def test_clean_leaves_what_is_built_below(tmp_path: Path) -> None:
    """The kernel's clean went through build/ and took the lab's modules, but not their stamps."""
    shutil.copy(TOP / "Makefile", tmp_path)
    below = tmp_path / "build" / "modules" / "um-0"
    below.mkdir(parents=True)
    for directory in (tmp_path, below):
        for name in (*LEFT, "tcp_x.c"):
            (directory / name).touch()
    subprocess.run(["make", "-s", "-C", str(tmp_path), "clean"], check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "build", "tcp_x.c"]
    assert sorted(path.name for path in below.iterdir()) == sorted([*LEFT, "tcp_x.c"])


@pytest.mark.build
def test_traffic_tools_are_the_same_bytes_wherever_the_tree_lies(tmp_path: Path) -> None:
    """The key of a result has their hash: with a path in them no two checkouts would share a store."""
    made: list[dict[str, bytes]] = []
    for top in (tmp_path / "a", tmp_path / "other" / "place"):
        for name in ("flowgen", "qdisc"):
            shutil.copytree(TOP / "tools" / name, top / "tools" / name)
        out = top / "build" / "bin"
        subprocess.run(["make", "-s", "-C", str(top / "tools" / "flowgen"), f"O={out}"], check=True)
        made.append({path.name: path.read_bytes() for path in out.iterdir() if path.is_file()})
    assert set(made[0]) == {"flowgen", "hetprobe", "hetreplay", "hetinit"}
    assert made[0] == made[1]
