# SPDX-License-Identifier: GPL-2.0
"""Claims judged on results that a test makes up: what all tests of claims share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hetlab.claims import evaluate
from hetlab.claims.evidence import Evidence, plan
from hetlab.results import store

Job = dict[str, Any]
Result = dict[str, Any]


def identity(job: Job) -> Result:
    """The keys of result.json that tell a run from others."""
    return {"scenario": job["scenario"]["name"], "cc": job["cc"], "cc_params": job["cc_params"], "seed": job["seed"]}


def claim(name: str) -> evaluate.Claim:
    """The claim of this name, or the only one whose name begins so."""
    found = evaluate.select([name])
    (chosen,) = [c for c in found if c.id == name] or found
    return chosen


def judge(name: str, out: Path, result: Callable[[Job], Result]) -> evaluate.Judgement:
    """The judgement of a claim all of whose runs have these results, beside what identifies them."""
    chosen = claim(name)
    evidence = Evidence(out)
    for job in plan(chosen.needs, evidence):
        evidence.add(identity(job) | {"scenario_resolved": job["scenario"]} | result(job))
    return evaluate.judge([chosen], evidence)[0]


def write_table(out: Path, job: Job, name: str, columns: dict[str, Any]) -> None:
    """Write one of a run's tables, ``name``.parquet, below the directory of all runs."""
    directory = store.run_dir(out, job)
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), directory / f"{name}.parquet")
