# SPDX-License-Identifier: GPL-2.0
"""Tests that passed with the same inputs are left out: pytest --not-again, as make check does.

Inputs of a test file are the paths that tools/ci/changed.py knows to touch it, Debian's packages, Python and the
running kernel. build/passed.json has their hash for each file and the tests that passed. What is marked fast
is always run, as is what failed, was skipped or is new; without git, everything.
"""

import functools
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import changed
from commands import TOP

PACKAGES = Path("/var/lib/dpkg/status")


@functools.cache
def _content(path: str) -> bytes:
    """Hash of a path's bytes, and of what else git would see changed; of one that is gone, too."""
    file = TOP / path
    if file.is_symlink():
        return os.readlink(file).encode()
    if not file.is_file():
        return b"gone"
    return b"%o " % (file.stat().st_mode & 0o111) + hashlib.sha256(file.read_bytes()).digest()


def _environment() -> bytes:
    """What tests use beside this tree."""
    packages = hashlib.sha256(PACKAGES.read_bytes() if PACKAGES.exists() else b"").hexdigest()
    return f"{packages} {platform.python_version()} {platform.release()} {platform.machine()}".encode()


@functools.cache
def touched() -> dict[str, list[str]]:
    """From a test file or folder to the paths that can touch it; empty where git has no list of paths."""
    try:
        listed = changed.git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    except (OSError, subprocess.CalledProcessError):
        return {}
    found: dict[str, list[str]] = {}
    for path in sorted(set(listed.split("\0")) - {""}):
        for test in changed.tests_of_path(path):
            found.setdefault(test, []).append(path)
    return found


def inputs(test: str) -> str | None:
    """Hash of all that decides a test file's outcome; None where that is not known."""
    of = touched()
    if not of:
        return None
    places = [test, *map(str, Path(test).parents)]
    paths = sorted({path for place in places for path in of.get(place, [])})
    parts = [_environment(), *(path.encode() + b"\0" + _content(path) for path in paths)]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


class Passed:
    """build/passed.json: by test file the hash of its inputs, and what passed with them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.files: dict[str, dict[str, Any]] = json.loads(path.read_text())
        except (OSError, ValueError):
            self.files = {}

    def tests(self) -> list[str]:
        """Those that need not be run: their inputs are what they were."""
        current = {name: entry for name, entry in self.files.items() if entry["inputs"] == inputs(name)}
        return [test for entry in current.values() for test in entry["tests"]]

    def add(self, before: dict[str, str | None], good: set[str], bad: set[str]) -> None:
        """Of files whose inputs are still what they were before the run."""
        touched.cache_clear()
        _content.cache_clear()
        for name, digest in before.items():
            if digest is None or inputs(name) != digest:
                self.files.pop(name, None)
                continue
            entry = self.files.get(name, {})
            known = set(entry.get("tests", [])) if entry.get("inputs") == digest else set()
            mine = {test for test in good if test.split("::")[0] == name}
            self.files[name] = {"inputs": digest, "tests": sorted((known | mine) - bad)}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.files, indent=1))
        draft.replace(self.path)


class Plugin:
    """Leaves out what passed, and notes what passes; only the process that has the workers reads and writes."""

    def __init__(self, path: Path, left_out: list[str] | None = None) -> None:
        self.passed = Passed(path) if left_out is None else None
        self.left_out = self.passed.tests() if self.passed else left_out or []
        self.before = {name: inputs(name) for name in changed.imports_of_tests()} if self.passed else {}
        self.good: set[str] = set()
        self.bad: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of pytest-xdist leaves out the same."""
        node.workerinput["left_out"] = self.left_out

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Those that are not run are counted as deselected; what its report is to tell goes with a test."""
        for item in items:
            item.user_properties.append(("fast", item.get_closest_marker("fast") is not None))
        out = set(self.left_out)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
        items[:] = [item for item in items if item.nodeid not in out]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One of the three phases of a test."""
        if report.failed:
            self.bad.add(report.nodeid)
        elif report.when == "call" and report.passed and ("fast", False) in report.user_properties:
            self.good.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Also of a run that was interrupted."""
        if self.passed:
            self.passed.add(self.before, self.good, self.bad)
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How many, and what to do for all of them."""
        if self.left_out:
            terminalreporter.write_line(
                f"left out: {len(self.left_out)} tests that passed with the same inputs; make check AGAIN=1 runs all"
            )
