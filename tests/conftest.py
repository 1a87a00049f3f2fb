# SPDX-License-Identifier: GPL-2.0
"""Shared by all Python tests: hetlab as fixtures, place markers, and a CPU for each process."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import not_again
from commands import Hetlab, Run, call_hetlab
from hetlab.paths import BUILD


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of our own."""
    parser.addoption("--not-again", action="store_true", help="leave out what passed with the same inputs")


def pytest_configure(config: pytest.Config) -> None:
    """Of ``pytest -n N`` each process keeps to a CPU of its own: what one measures is not disturbed by another.

    An ordinary user's PATH on Debian lacks the directories of tc, ethtool and modinfo, which tests call.
    No test takes a result from the store of results but those that are about it.
    A shell's background job ignores Ctrl-C, and so would every command that a test starts and interrupts.
    """
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    os.environ["HETLAB_STORE"] = "none"  # what is tested is run
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if number:
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {available[int(number) % len(available)]})
    if config.getoption("--not-again"):
        given = getattr(config, "workerinput", {}).get("left_out")
        config.pluginmanager.register(not_again.Plugin(BUILD / "passed.json", given))


PLACES = ("fast", "virtual", "build", "vm", "debug", "quic", "series", "cluster")
# Files of several minutes, the longest first: begun last, one worker would end alone with them
LONG = ("papers", "judge_command", "unchanged", "patch_build", "interop", "hosts", "candidates")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The place marker of a module (``pytestmark``) is that of its tests, but of those that have one of their own."""
    modules = {item: item.getparent(pytest.Module) for item in items}
    places = {m: [mark for mark in m.own_markers if mark.name in PLACES] for m in modules.values() if m}
    for module in places:
        module.own_markers = [mark for mark in module.own_markers if mark.name not in PLACES]
    for item, of in modules.items():
        if of and not any(mark.name in PLACES for mark in item.own_markers):
            for mark in places[of]:
                item.add_marker(mark.name)
    items.sort(key=lambda item: _rank(item.path.stem.removeprefix("test_")))


def _rank(name: str) -> int:
    return LONG.index(name) if name in LONG else len(LONG)


@pytest.fixture(scope="session")
def hetlab() -> Hetlab:
    """The command, as a function."""
    return call_hetlab


@pytest.fixture(scope="session")
def run_json() -> Run:
    """``hetlab run ... --json`` as a list of results; fails the test if a run fails."""

    def run(*args: str | Path) -> list[dict[str, Any]]:
        done = call_hetlab("run", *args, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
