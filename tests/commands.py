# SPDX-License-Identifier: GPL-2.0
"""How tests call hetlab and the scripts of this tree, and the types of the fixtures that do (conftest.py)."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent

Done = subprocess.CompletedProcess[str]
Hetlab = Callable[..., Done]  # fixture hetlab: as call_hetlab
Run = Callable[..., list[dict[str, Any]]]  # fixture run_json: arguments of hetlab run, to its results


def call(*args: str | Path, timeout: float = 1800, **env: str) -> Done:
    """Run a command in the top directory, with these environment variables; exit status not checked."""
    words = [str(a) for a in args]
    return subprocess.run(
        words, capture_output=True, text=True, cwd=TOP, timeout=timeout, check=False, env=os.environ | env
    )


def sets(values: Mapping[str, object]) -> list[str]:
    """Options of hetlab run that set these keys of a scenario."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def both_ways(rate_mbit: float, delay_ms: float) -> dict[str, object]:
    """Keys of the bottleneck, which is the same forth and back; delay_ms is that of one way."""
    link = {"rate_mbit": rate_mbit, "delay_ms": delay_ms}
    return {f"link.bottleneck.{way}.{key}": value for way in ("forward", "reverse") for key, value in link.items()}


def call_hetlab(
    *args: str | Path, cwd: Path | None = None, timeout: float = 900, env: dict[str, str] | None = None
) -> Done:
    """Run tools/hetlab; output captured, exit status not checked."""
    return subprocess.run(
        [str(TOP / "tools" / "hetlab"), *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=timeout,
        check=False,
        env=os.environ | {"COLUMNS": "200"} | (env or {}),
    )
