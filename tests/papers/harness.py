# SPDX-License-Identifier: GPL-2.0
"""Claims judged on results that a test makes up: what all tests of claims share."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hetlab.claims import evaluate
from hetlab.claims.evidence import Evidence, plan
from hetlab.model.job import Job
from hetlab.model.keys import from_plain, keys_of
from hetlab.model.result import DelayResult, QueueResult, RunResult
from hetlab.results import store

Result = dict[str, Any]
FLOW = {"name": "main", "proto": "tcp", "start_s": 0.0, "end_s": 1.0, "goodput_mbit": 0.0}
QUEUE = dict.fromkeys(field.name for field in fields(QueueResult))
DELAY = dict.fromkeys((field.name for field in fields(DelayResult)), 0)


def run_of(job: Job, result: Result) -> RunResult:
    """A job's result: numbers as in result.json, those that a test does not give are left out or 0."""
    full: Result = {"owd_ms": None, "delivery_ms": None, "jain": None, "jain_steady": None} | result
    full |= {"scenario": job.name, "cc": job.cc, "cc_params": job.cc_params, "seed": job.seed}
    full |= {"queue": QUEUE | (result.get("queue") or {})}
    full["flows"] = [FLOW | flow for flow in result.get("flows", [])]
    for key in ("owd_ms", "delivery_ms"):
        full[key] = full[key] and DELAY | full[key]
    made = {name: from_plain(hint, full[name]) for name, hint, _key in keys_of(RunResult) if name in full}
    return RunResult(**made, scenario_resolved=job.scenario)


def claim(name: str) -> evaluate.Claim:
    """The claim of this name, or the only one whose name begins so."""
    (chosen,) = evaluate.select([name])
    return chosen


def judge(name: str, out: Path, result: Callable[[Job], Result]) -> evaluate.Judgement:
    """The judgement of a claim all of whose runs have these results, beside what identifies them."""
    chosen = claim(name)
    evidence = Evidence(out)
    for job in plan(chosen.needs, evidence):
        evidence.add(run_of(job, result(job)))
    return evaluate.judge([chosen], evidence)[0]


def held(judged: evaluate.Judgement) -> bool:
    """Whether a claim holds, be a cause named why it does not or not."""
    return judged.status in ("holds", "stale cause")


def write_table(out: Path, job: Job, name: str, columns: dict[str, Any]) -> None:
    """Write one of a run's tables, ``name``.parquet, below the directory of all runs."""
    directory = store.run_dir(out, job)
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), directory / f"{name}.parquet")
