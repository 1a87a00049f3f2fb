# SPDX-License-Identifier: GPL-2.0
"""The lab as one file: unpacked elsewhere, by a wheel, by make demo and in a container it gives the same bytes, with
nothing of this tree's build folder.
"""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from commands import TOP, Done, Hetlab, call
from hetlab.build import unpack
from hetlab.errors import LabError

RUN = ("run", "bulk", "--set", "duration_s=3", "--cc", "reno")
GEO = ("run", "geo", "--cc", "cubic")
# As on a host that has nothing of the project's
BARE = {"PATH": "/usr/bin:/bin", "HETLAB_STORE": "none"}
CONTAINERFILE = TOP / "tools" / "packaging" / "Containerfile"
# A result within 20 s, while others work on this machine: twice that
START_S = 40


@pytest.mark.fast
def test_what_is_no_pack_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.tar.gz"
    file.write_text("no archive")
    with pytest.raises(LabError, match="cannot be unpacked"):
        unpack.unpack(file, tmp_path / "a")
    for name in ("else/file", f"{unpack.ROOT}/../../file"):
        with tarfile.open(file, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
        with pytest.raises(LabError, match="no pack of hetlab"):
            unpack.unpack(file, tmp_path / "b")
    with pytest.raises(LabError, match="not empty"):
        unpack.unpack(file, tmp_path)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests."""
    file = tmp_path_factory.mktemp("pack") / "lab.tar.gz"
    done = call(TOP / "tools" / "hetlab", "pack", file)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="module")
def home(hetlab: Hetlab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What this tree measures."""
    out = tmp_path_factory.mktemp("home")
    assert hetlab(*RUN, "--out", out).returncode == 0
    return files(out)


def files(top: Path) -> dict[str, bytes]:
    """All of a result directory but what says when and where."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in top.rglob("*.*")
        if path.is_file() and path.suffix in (".json", ".parquet") and path.name != "run.json"
    }


def bare(*words: str | Path, timeout: float = 300, **env: str) -> Done:
    """A command elsewhere."""
    told = [str(word) for word in words]
    return subprocess.run(told, env=BARE | env, cwd="/", capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.virtual
def test_a_pack_gives_the_same_bytes(pack: Path, home: dict[str, bytes], hetlab: Hetlab, tmp_path: Path) -> None:
    moved = Path(hetlab("unpack", pack, tmp_path / "first").stdout.strip()).parents[1]
    lab = moved.rename(tmp_path / "elsewhere") / "tools" / "hetlab"
    done = bare(lab, *RUN, "--out", tmp_path / "there", HETCC_BUILD=str(tmp_path / "other"))
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "there") == home
    assert not (tmp_path / "other").exists(), "what a pack has is in the pack"
    own = bare(lab, *RUN, "--patch", "/dev/null")
    assert own.returncode == 2 and "is a pack without a kernel such as is asked for" in own.stderr


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Made twice, the same bytes."""
    once, twice = ((done := call("tools/packaging/wheel.sh")).stdout.strip(), Path(done.stdout.strip()).read_bytes())
    path = Path(call("tools/packaging/wheel.sh").stdout.strip())
    assert (str(path), path.read_bytes()) == (once, twice)
    return path


@pytest.mark.virtual
def test_a_wheel_takes_its_lab_from_a_pack(wheel: Path, pack: Path, home: dict[str, bytes], tmp_path: Path) -> None:
    """In a Python without any package; what it says before it has a lab, and that nothing is unpacked twice."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "-q", "--python", str(tmp_path / "venv")]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    hetlab, data = tmp_path / "venv" / "bin" / "hetlab", tmp_path / "data"

    def command(*words: str | Path, directory: Path = data) -> Done:
        return bare(hetlab, *words, XDG_DATA_HOME=str(directory))

    for words in ((), ("--help",), ("kernel", "--help")):
        done = command(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
        assert "--pack FILE" in done.stdout or str(data / "hetlab") in done.stdout
    refused: dict[tuple[str | Path, ...], str] = {
        RUN: "there is no lab yet: 'hetlab kernel --pack FILE'",
        ("kernel",): "required: --pack",
        ("kernel", "--pack", tmp_path / "absent"): "absent: No such file or directory",
        ("kernel", "--pack", wheel): "cannot be unpacked",
    }
    for asked, said in refused.items():
        done = command(*asked)
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    done = command("kernel", "--pack", pack, directory=tmp_path / "a blank")
    assert done.returncode == 2 and "set XDG_DATA_HOME" in done.stderr
    for _ in range(2):
        done = command("kernel", "--pack", pack)
        assert done.returncode == 0 and "ready in" in done.stdout, done.stderr
    assert len(list((data / "hetlab").iterdir())) == 2, "the lab and which is current"
    done = command(*RUN, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "out") == home


@pytest.mark.virtual
def test_a_checkout_has_its_own_lab(hetlab: Hetlab) -> None:
    done = hetlab("kernel", "--pack", "x.tar.gz")
    assert done.returncode == 2 and "'hetlab unpack x.tar.gz DIR'" in done.stderr
    script = "from hetlab.launch import main; main()"
    assert "  unpack " in call(sys.executable, "-c", script, "--help").stdout


@pytest.mark.virtual
def test_the_demo_takes_a_pack(pack: Path, tmp_path: Path) -> None:
    """No setup, nothing built, a second time nothing unpacked."""
    words = ("make", "-s", "-C", TOP, "demo", f"PACK={pack}", "DEMO=bulk", "DEMO_CCS=reno cubic")
    for _ in range(2):
        done = bare(*words, HETCC_BUILD=str(tmp_path / "build"), MAKEFLAGS="")
        assert done.returncode == 0, done.stderr
        assert f"with the lab in {pack}: commit " in done.stdout
        assert "bulk" in (tmp_path / "build" / "demo" / "report.html").read_text()
        assert list((tmp_path / "build" / "demo" / "plots").glob("*.png"))
        lab = tmp_path / "build" / "pack" / unpack.ROOT / "tools" / "hetlab"
        begun = (tmp_path / "build" / "pack").stat().st_mtime
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == ["demo", "pack"]
    assert lab.exists() and begun == (tmp_path / "build" / "pack").stat().st_mtime


# What differs there for programs from elsewhere: libraries in /usr/lib64 alone, sh is bash, neither dpkg nor perl
AS_FEDORA = """set -eu
cd "$1/usr" && mv lib/x86_64-linux-gnu/* lib64/ && rmdir lib/x86_64-linux-gnu
echo /usr/lib64 > "$1/etc/ld.so.conf"
ldconfig -r "$1"
ln -sf bash "$1/usr/bin/sh"
rm -rf "$1"/usr/bin/dpkg* "$1"/usr/bin/perl* "$1"/usr/bin/apt* "$1"/var/lib/dpkg "$1"/etc/debian_version
"""


@pytest.fixture(params=["Debian 12", "Debian 13", "as Fedora"])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The files of a bare system, as a tar: of Debian, or one whose files lie as Fedora has them."""
    suite = {"Debian 12": "bookworm"}.get(request.param, "trixie")
    told = ["--variant=minbase", suite, str(tmp_path / "root.tar")]
    if request.param == "as Fedora":
        told.insert(0, f"--customize-hook={AS_FEDORA}")
    alone = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    done = call(*alone, "mmdebstrap", "--mode=root", *told)
    assert done.returncode == 0, done.stderr[-2000:]
    return tmp_path / "root.tar"


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0, reason="makes a bare system, which needs root")
def test_a_container_of_a_bare_system(hetlab: Hetlab, system: Path, pack: Path, tmp_path: Path) -> None:
    """Without a compiler, Python or Mininet, by the Containerfile; a run is a step of a second image."""
    context, more = (tmp_path / name for name in ("context", "more"))
    context.mkdir()
    more.mkdir()
    os.link(pack, context / "hetcc.tar.gz")
    names = [f"localhost/hetcc-test-{tmp_path.name.lower()}-{name}" for name in ("bare", "lab", "run")]
    (more / "Containerfile").write_text(
        f"FROM {names[1]}\n"
        f"RUN ! command -v gcc && ! command -v python3 && HETLAB_STORE=none timeout {START_S}"
        f" /opt/hetcc/tools/hetlab {' '.join(GEO)} --out /out\n"
    )
    build = ("podman", "build", "-q", "--isolation=chroot", "--ulimit=nofile=1024:1024", "-t")
    try:
        assert call("podman", "import", system, names[0]).returncode == 0
        for words in (
            (*build, names[1], f"--build-arg=BASE={names[0]}", "-f", CONTAINERFILE, context),
            (*build, names[2], more),
        ):
            done = call(*words)
            assert done.returncode == 0, done.stderr[-3000:]
        out = Path(call("podman", "image", "mount", names[2]).stdout.strip()) / "out"
        assert hetlab(*GEO, "--out", tmp_path / "home").returncode == 0
        assert files(out) == files(tmp_path / "home")
    finally:
        call("podman", "image", "unmount", names[2])
        call("podman", "image", "rm", "--force", *names)
