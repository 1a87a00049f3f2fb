# SPDX-License-Identifier: GPL-2.0
"""The module selftests as kselftests: by themselves and from a kernel tree, in the virtual-time kernel."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from commands import Done, Hetlab
from hetlab.build.kernel import kernel
from hetlab.paths import TOP

pytestmark = pytest.mark.virtual
Exec = Callable[[str], Done]
NAMES = ("diag_info.sh", "cc_switch.py")
SELFTESTS = TOP / "tests" / "modules" / "selftests"
UNLOAD = "rmmod tcp_santacruz tcp_westwood_fr tcp_hybla_ext"


@pytest.fixture
def shell(hetlab: Hetlab) -> Exec:
    """A command line in the machine; through a pipe, since kselftest opens its output a second time."""

    def run(line: str) -> Done:
        return hetlab("exec", "--", "bash", "-c", f"set -o pipefail; ({line}) 2>&1 | cat")

    return run


@pytest.fixture(scope="module")
def built() -> None:
    """Programs are built outside, where clocks agree."""
    subprocess.run(["make", "-s", "-C", SELFTESTS, "all"], check=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of a kernel tree that its selftests need, and ours in it."""
    source, copy = kernel(Console(stderr=True)).source, tmp_path_factory.mktemp("linux")
    for name in ("scripts", "tools/scripts", "tools/testing/selftests/kselftest"):
        shutil.copytree(source / name, copy / name, symlinks=True)
    for name in ("Makefile", *(f"tools/testing/selftests/{n}" for n in ("Makefile", "lib.mk"))):
        shutil.copy(source / name, copy / name)
    subprocess.run([TOP / "tests" / "install_kselftest.sh", copy], check=True)
    subprocess.run(["make", "-s", "-C", copy / "tools/testing/selftests", "TARGETS=hetcc", "all"], check=True)
    return copy


def check(done: Done) -> None:
    """Both tests passed, nothing was skipped, and what they say is there."""
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert [line for line in lines if line.startswith("ok ")] == [
        f"ok {number} selftests: hetcc: {name}" for number, name in enumerate(NAMES, 1)
    ], done.stdout[-3000:]
    assert sum(line.startswith("# ok ") for line in lines) >= 20
    assert not [line for line in lines if "not ok" in line or "SKIP" in line]


@pytest.mark.usefixtures("built")
def test_by_itself(shell: Exec) -> None:
    check(shell(f"make -s -C {TOP}/tests run_tests TARGETS=selftests TESTS='{' '.join(NAMES)}'"))


def test_from_a_kernel_tree(shell: Exec, tree: Path) -> None:
    check(shell(f"make -s -C {tree}/tools/testing/selftests TARGETS=hetcc TEST_PROGS='{' '.join(NAMES)}' run_tests"))


def test_every_test_is_in_the_makefile() -> None:
    listed = subprocess.run(
        ["make", "-s", "-C", SELFTESTS, "--eval", "list: ; @echo $(TEST_PROGS)", "list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(listed.stdout.split()) == sorted(p.name for p in SELFTESTS.iterdir() if p.stat().st_mode & 0o100)


@pytest.mark.usefixtures("built")
def test_modules_are_loaded_and_unloaded(shell: Exec) -> None:
    done = shell(f"{UNLOAD}; make -s -C {SELFTESTS} run_tests TESTS=diag_info.sh; ls /sys/module")
    assert "ok 1 selftests: hetcc: diag_info.sh" in done.stdout.splitlines(), done.stdout + done.stderr
    assert "still in use" not in done.stdout
    assert "tcp_cubic" in done.stdout.splitlines()
    assert "tcp_hybla_ext" not in done.stdout.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_skips_what_the_kernel_cannot_do(shell: Exec, name: str) -> None:
    done = shell(f"{UNLOAD}; HETLAB_MODULES=/nowhere make -s -C {SELFTESTS} run_tests TESTS={name}")
    assert done.returncode == 0
    assert f"ok 1 selftests: hetcc: {name} # SKIP" in done.stdout.splitlines(), done.stdout + done.stderr
    assert "# 1..0 # SKIP tcp_santacruz is neither loaded nor installed" in done.stdout.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_installed_fails(shell: Exec, name: str) -> None:
    done = shell(f"PATH=/usr/bin:/bin {SELFTESTS / name}")
    assert done.returncode == 1
    assert "Bail out! " in done.stdout
    assert "not installed" in done.stdout


def test_install_wants_a_kernel_tree(tmp_path: Path) -> None:
    install = TOP / "tests" / "install_kselftest.sh"
    done = subprocess.run([install, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no kernel tree" in done.stderr
    assert "usage:" in subprocess.run([install, "--help"], capture_output=True, text=True, check=True).stdout
