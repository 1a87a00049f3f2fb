# SPDX-License-Identifier: GPL-2.0
"""The first commands in a checkout: help without an environment, an interrupted setup, a build of somebody else."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from commands import TOP, Done, Hetlab

pytestmark = pytest.mark.fast
NOBODY = 65534
# Has the version that setup.sh wants, and nothing else
VERSION = re.findall("^UV=(.*)$", (TOP / "tools" / "setup.sh").read_text(), re.M)[0]
UV = f"[ $1 = --version ] && echo uv {VERSION} && exit"


def call(*args: str | Path, **env: str) -> Done:
    """Run something as Python's own subprocess.run does; nothing of a make that called us leaks in."""
    inherited = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "HETCC_BUILD"}}
    words = [str(a) for a in args]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=inherited | env)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with as much as the first command touches; its packages are all installed, its uv does nothing."""
    top = tmp_path / "tree"
    for name in ("tools/hetlab", "tools/setup.sh", "docs/commands.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, top / name)
    (top / "tools" / "requirements.txt").touch()
    (tmp_path / "python" / "hetlab").mkdir(parents=True)
    (tmp_path / "python" / "hetlab" / "__init__.py").touch()
    (tmp_path / "python" / "hetlab" / "__main__.py").write_text("print('ran')")
    program(tmp_path / "bin" / "dpkg-query", "echo install ok installed")
    program(top / "build" / "uv" / "bin" / "uv", f"{UV}; exit 0")
    return top


def program(path: Path, text: str) -> None:
    """A script of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def fakes(tree: Path) -> dict[str, str]:
    return {"PATH": f"{tree.parent}/bin:{os.environ['PATH']}", "PYTHONPATH": str(tree.parent / "python")}


@pytest.mark.parametrize("command", [(), ("run",), ("exec",)])
def test_help_needs_no_environment(hetlab: Hetlab, tmp_path: Path, command: tuple[str, ...]) -> None:
    """The same text as with one, at once, and nothing is made."""
    fresh = call(TOP / "tools" / "hetlab", *command, "--help", HETCC_BUILD=str(tmp_path / "none"))
    assert fresh.returncode == 0 and "tools/setup.sh" in fresh.stderr
    assert not (tmp_path / "none").exists()
    real = hetlab(*command, "--help")
    assert fresh.stdout.split() == real.stdout.split() and "-h, --help" in fresh.stdout


@pytest.mark.parametrize(
    "words", [("list",), ("exec", "--", "prog", "--help"), ("no-such", "--help")], ids=lambda words: words[-1]
)
def test_other_commands_set_up_first(tree: Path, words: tuple[str, ...]) -> None:
    (tree / "tools" / "setup.sh").write_text("#!/bin/sh\necho setting up; exit 3\n")
    done = call(tree / "tools" / "hetlab", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "setting up\n"


@pytest.mark.build
def test_an_interrupted_setup_is_made_anew(tree: Path) -> None:
    """Ctrl-C while uv installs: half an environment is there, and is not taken for a whole one."""
    uv, begun = tree / "build" / "uv" / "bin" / "uv", tree / "begun"
    program(uv, f"{UV}; touch {shlex.quote(str(begun))}; exec sleep 60")
    words, env = [str(tree / "tools" / "hetlab"), "list"], os.environ | fakes(tree)
    env.pop("HETCC_BUILD", None)
    with subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL, start_new_session=True) as first:
        deadline = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(first.pid, signal.SIGINT)
    assert first.returncode != 0
    venv = tree / "build" / "venv"
    left = venv / "left-behind"
    left.touch()
    program(uv, f"{UV}; exit 0")
    done = call(*words, **fakes(tree))
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert f"MB in {venv}" in done.stderr
    assert not left.exists() and (venv / ".requirements").exists()
    again = call(*words, **fakes(tree))
    assert (again.stdout, again.stderr) == ("ran\n", ""), "made twice"


def test_without_uv_pip_installs(tree: Path) -> None:
    """uv has no files for some machines, and not every index that pip knows."""
    program(tree / "build" / "uv" / "bin" / "uv", f"{UV}; echo no such index >&2; exit 2")
    asked = tree.parent / "asked"
    python = tree.parent / "bin" / "python3"
    program(python, f'echo "$@" >> {shlex.quote(str(asked))}')
    text = (tree / "tools" / "setup.sh").read_text()
    (tree / "tools" / "setup.sh").write_text(text.replace("/usr/bin/python3 -m pip", f"{python} -m pip"))
    done = call(tree / "tools" / "hetlab", "list", **fakes(tree))
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert "no such index" in done.stderr and "setup: not by uv: by pip" in done.stderr
    first, second = asked.read_text().splitlines()
    assert first.endswith(f"-r {tree}/tools/requirements.txt") and second.endswith(f"-e {tree}")


def as_another(tmp_path: Path, command: str, **env: str) -> Done:
    """Run a shell command in this tree, which is at ``tmp_path/top``, as a user to whom nothing of it belongs.

    Called by somebody who is not root, as that user, for whom directories must be read-only.
    """
    if os.geteuid() != 0:
        (tmp_path / "top").symlink_to(TOP)
        return call("sh", "-c", f"cd {shlex.quote(str(tmp_path))}/top && {command}", **env)
    (tmp_path / "top").mkdir()
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    drop = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups sh -c"
    inside = f"mount --bind {shlex.quote(str(TOP))} top && cd top && exec {drop} {shlex.quote(command)}"
    return call("unshare", "-m", "sh", "-c", f"cd {shlex.quote(str(tmp_path))} && {inside}", **env)


@pytest.mark.build
@pytest.mark.parametrize(
    "command",
    ["tools/setup.sh", "make setup", "make kernel", "make deb", "tools/hetlab exec -- true", "tools/hetlab run bulk"],
)
def test_a_build_of_somebody_else_is_named(tmp_path: Path, command: str) -> None:
    """In one sentence, with what to do."""
    theirs = tmp_path / "build"
    theirs.mkdir()
    (theirs / "venv").symlink_to(tmp_path / "top" / "build" / "venv")
    theirs.chmod(0o555)
    done = as_another(tmp_path, command, HETCC_BUILD=str(theirs), PYTHONPATH=f"{tmp_path}/top/tools/lab")
    assert done.returncode in (1, 2)
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("make:")]
    assert str(theirs) in line and "set HETCC_BUILD=DIR, a directory of your own" in line


@pytest.mark.build
@pytest.mark.parametrize("command", ["table {}", "report {}", "run {}"])
def test_a_path_of_somebody_else_is_named(tmp_path: Path, command: str) -> None:
    """Ended in a traceback."""
    build, closed = tmp_path / "build", tmp_path / "closed"
    build.mkdir()
    build.chmod(0o777)
    (build / "venv").symlink_to(tmp_path / "top" / "build" / "venv")
    closed.mkdir()
    closed.chmod(0)
    own = {"HETCC_BUILD": str(build), "HOME": str(build), "PYTHONPATH": f"{tmp_path}/top/tools/lab"}
    done = as_another(tmp_path, f"tools/hetlab {command.format(closed / 'x.c')}", **own)
    closed.chmod(0o700)
    assert (done.returncode, done.stderr) == (2, f"hetlab: {closed / 'x.c'}: Permission denied\n")


@pytest.mark.build
def test_modules_are_not_built_in_a_tree_of_somebody_else(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    shutil.copy(TOP / "Makefile", theirs)
    theirs.chmod(0o555)
    done = as_another(tmp_path, f"make -C {theirs} KDIR={theirs}")
    assert done.returncode == 2
    assert f"{theirs}: you cannot write here" in done.stderr


@pytest.mark.parametrize("name", ["quic-go/go.mod", "quic-go/go.sum", "quinn/Cargo.toml", "quinn/Cargo.lock"])
def test_no_source_is_ignored(name: str) -> None:
    """go.mod looks like a product of the kernel's build (``*.mod``), and was missing in every clone."""
    path = TOP / "tools" / "quic" / name
    assert path.is_file()
    assert call("git", "-C", TOP, "check-ignore", "--no-index", path).returncode == 1


@pytest.mark.parametrize(
    ("words", "status"), [(("--room", "2"), 1), (("--room", "1"), 0), (("--room", "0"), 2), (("--room",), 2)]
)
def test_a_disk_with_too_little_room(tree: Path, words: tuple[str, ...], status: int) -> None:
    """Said before anything is installed or built; what build takes already counts."""
    df, build = tree.parent / "bin" / "df", tree / "build"
    df.write_text("#!/bin/sh\necho Filesystem 1M-blocks Used Available\necho disk 9999 8979 1020 89% /\n")
    df.chmod(0o755)
    (build / "taken").write_bytes(b"x" * (5 << 20))
    done = call(tree / "tools" / "setup.sh", *words, **fakes(tree))
    assert done.returncode == status
    assert (build / "venv").exists() == (status == 0)
    if status == 1:
        assert "needs 2 GB" in done.stderr and "has 1020 MB free" in done.stderr
