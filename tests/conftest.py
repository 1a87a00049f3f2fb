# SPDX-License-Identifier: GPL-2.0
"""Shared by all Python tests: where things are, and how to call hetlab."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    """Of ``pytest -n N`` each process keeps to a CPU of its own: what one measures is not disturbed by another."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if number:
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {available[int(number) % len(available)]})


Hetlab = Callable[..., "subprocess.CompletedProcess[str]"]


def call_hetlab(*args: str | Path, cwd: Path | None = None, timeout: float = 900) -> "subprocess.CompletedProcess[str]":
    """Run tools/hetlab; output captured, exit status not checked."""
    return subprocess.run(
        [str(TOP / "tools" / "hetlab"), *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=timeout,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )


@pytest.fixture(scope="session")
def hetlab() -> Hetlab:
    """The command, as a function."""
    return call_hetlab


@pytest.fixture(scope="session")
def run_json() -> Callable[..., list[dict[str, Any]]]:
    """``hetlab run ... --json`` as a list of results; fails the test if a run fails."""

    def run(*args: str | Path) -> list[dict[str, Any]]:
        done = call_hetlab("run", *args, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
