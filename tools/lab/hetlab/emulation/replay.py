# SPDX-License-Identifier: GPL-2.0
"""Qdiscs that follow tables (tools/qdisc): their arguments, and hetreplay, which gives them to the kernel."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetlab.model import traces
from hetlab.model.link import Direction
from hetlab.model.trace import CAPACITY, MS, Trace, constant, loss_value

KIND = "replay"
SOURCE = "tools/qdisc"
NOTES = f"sch_replay is the lab's own ({SOURCE}): make -C /lib/modules/$(uname -r)/build M=$PWD/{SOURCE} modules"
DELAY_LIMIT_PKTS = 1_000_000


@dataclass(frozen=True)
class Stages:
    """Tables of the two stages of a direction; None: the stage is netem's, or there is none."""

    queue: Trace | None = None
    delay: Trace | None = None


def stages(way: Direction, mtu: int) -> Stages:
    """What of a direction follows tables."""
    found = traces.of(way)
    queue = found.capacity if found else None
    if way.rate_at_once:
        assert way.rate_mbit is not None
        queue = constant("rate", round(way.rate_mbit * 1e6))
    delay = [t for t in found.tables if t.kind not in CAPACITY] if found else []
    if delay:
        have = {t.kind for t in delay}
        if "delay" not in have and way.delay_ms:
            delay.append(constant("delay", round(way.delay_ms * MS)))
        if "loss" not in have and (percent := 100 * way.loss.probability(mtu)):
            delay.append(constant("loss", loss_value(percent)))
    return Stages(Trace((queue,)) if queue else None, Trace(tuple(delay)) if delay else None)


def queue_args(way: Direction, overhead: int) -> tuple[str, dict[str, Any]]:
    """Arguments of the queue, and what the kernel must then say."""
    wanted = {"limit_pkts": way.limit_pkts, "limit_bytes": way.queue_bytes or 0, "overhead": overhead}
    if way.queue_bytes is not None:
        wanted["limit_pkts"] = 2**32 - 1
    return " ".join(f"{k}={v}" for k, v in ({"stage": "queue"} | wanted).items()), {"stage": "queue"} | wanted


def delay_args() -> tuple[str, dict[str, Any]]:
    """The same of delay and loss."""
    wanted = {"stage": "delay", "limit_pkts": DELAY_LIMIT_PKTS}
    return " ".join(f"{k}={v}" for k, v in wanted.items()), dict(wanted)


def shown(trace: Trace) -> dict[str, int]:
    """What the kernel must say of tables."""
    sizes = {t.kind: len(t.t_ns) for t in trace.tables}
    return sizes | {f"{t.kind}_period_ns": t.period_ns for t in trace.tables}


def program() -> str:
    """hetreplay, of our programs or of the path."""
    return str(Path(os.environ.get("HETLAB_BIN", "")) / "hetreplay")


class Files:
    """Tables in files, which the program reads, as long as the context lasts."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __enter__(self) -> "Files":
        return self

    def __exit__(self, *_exc: object) -> None:
        for name in self.names:
            os.unlink(name)

    def put(self, trace: Trace) -> str:
        """Name of a new file with these tables."""
        handle, name = tempfile.mkstemp(prefix="hetlab-", suffix=traces.SUFFIX)
        self.names.append(name)
        with os.fdopen(handle, "wb") as file:
            file.write(trace.packed())
        return name


def answers(text: str) -> list[dict[str, Any]]:
    """What hetreplay said, among other lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"dev"')]


def changed_rate(rate_mbit: float) -> Trace:
    """A rate from now on; 0 holds packets."""
    return Trace((constant("rate", round(rate_mbit * 1e6)),))
