# SPDX-License-Identifier: GPL-2.0
"""A checkout in a path with a blank: make and the kernel's build split it there, so everything refuses at once."""

import re
import shutil
from pathlib import Path

import pytest

from commands import TOP, call

pytestmark = pytest.mark.fast
TARGETS = re.findall(r"[\w-]+", re.sub(r"\\\n", " ", (TOP / "Makefile").read_text()).split(".PHONY:")[1].split("\n")[0])
SCRIPTS = ("tools/hetlab", "tools/setup.sh", "tools/ci/lint.sh", "tools/packaging/deb.sh", "tools/packaging/dkms.sh")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a checkout needs to begin any of its commands, in a path with a blank."""
    top = tmp_path / "my checkout"
    for directory in ("tools/ci", "tools/packaging"):
        shutil.copytree(TOP / directory, top / directory)
    for name in ("Makefile", "tools/hetlab", "tools/setup.sh", "tools/flowgen/Makefile"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, top / name)
    return top


def test_targets_are_found() -> None:
    assert {"all", "help", "clean", "check", "dkms-uninstall", "docs-data"} <= set(TARGETS)


def refused(said: str, path: Path) -> None:
    """One line that names the path and what is wrong with it."""
    lines = [line for line in said.splitlines() if "directory '" not in line]
    assert len(lines) == 1 and f'"{path}" ' in lines[0] and "has a blank" in lines[0], said


def test_make_refuses(checkout: Path) -> None:
    """Every target, before anything is made."""
    before = sorted(checkout.rglob("*"))
    for target in TARGETS:
        done = call("make", "-C", checkout, target)
        assert done.returncode == 2, target
        refused(done.stdout + done.stderr, checkout)
    done = call("make", "-C", checkout / "tools" / "flowgen")
    refused(done.stdout + done.stderr, checkout / "tools" / "flowgen")
    assert sorted(checkout.rglob("*")) == before


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_refuse(checkout: Path, script: str) -> None:
    """Also when they are called without make."""
    done = call(checkout / script, "--check")
    assert done.returncode == 1 and not done.stdout
    refused(done.stderr, checkout)
    assert not (checkout / "build").exists()


def test_build_directory(tmp_path: Path) -> None:
    """HETCC_BUILD as well."""
    build = tmp_path / "my build"
    for command in (("make", "help"), ("tools/hetlab", "--help"), ("tools/setup.sh", "--help")):
        done = call(*command, HETCC_BUILD=str(build))
        assert done.returncode in {1, 2}, command
        refused(done.stderr, build)
    assert not build.exists()


def test_missing_headers_are_named() -> None:
    """The package of the kernel that was asked for; no package for a path that says no release."""
    done = call("make", "KDIR=/lib/modules/5.0-none/build")
    assert done.returncode == 2 and "apt-get install linux-headers-5.0-none" in done.stderr, done.stderr
    done = call("make", "KDIR=/nowhere")
    assert done.returncode == 2 and "KDIR=" in done.stderr and "linux-headers" not in done.stderr, done.stderr


def test_help_fits_in_80_columns() -> None:
    assert max(map(len, call("make", "help").stdout.splitlines())) <= 80
