# SPDX-License-Identifier: GPL-2.0
"""Result directories: one per run, result.json (versioned) and the raw series.

    OUT/SCENARIO/CC/seed-N/result.json    numbers and where they come from
                           flows.parquet  tcp_info of every flow over time
                           queue.parquet  queue lengths over time
                           owd-SRC-DST.parquet  one-way delay of every data packet, NaN: lost
                           delivery-SRC-DST.parquet  of every segment, from its first departure to
                                           the arrival of a copy, NaN: none arrived
                           items.parquet  of workloads: every response, page, segment and so on
                           capacity.parquet  of the trace that the bottleneck plays, if it does
                           trace.parquet, trace-loss.parquet, trace.png
                                          what santacruz saw and decided, with --trace
                           run.json       wall-clock time, hash of the lab's code, arguments of hetlab run

Everything but run.json depends on scenario, seed, kernel and the run's modules alone.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hetlab.errors import LabError
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.keys import as_plain
from hetlab.model.result import FORMAT_VERSION, RunResult, from_json
from hetlab.results import loaded, metrics, path_delay, santacruz_trace, workloads

DRAFT, RESULT = ".draft-", "result.json"
CAPACITY_BIN_S = 0.1


def run_dir(out: Path, run: Job | RunResult) -> Path:
    """Directory of a run; the label of the congestion control includes its parameters."""
    name = run.scenario if isinstance(run, RunResult) else run.scenario.name
    parts = [name, label(run.cc, run.cc_params), f"seed-{run.seed}"]
    return out.joinpath(*(re.sub(r"[^\w.,=+@\-]", "_", p) for p in parts))


def _write_table(rows: list[dict[str, Any]], path: Path) -> None:
    keys = list(dict.fromkeys(k for r in rows for k in r))
    _write_columns({k: [r.get(k) for r in rows] for k in keys}, path)


def _write_columns(columns: dict[str, Any], path: Path) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd")


def save(job: Job, out: Path, hashes: dict[str, str], wall_s: float, lab: str) -> RunResult:
    """Evaluate a finished job, write its directory, return the result; ``lab``: hash of the lab's code, see kept.

    A job that another machine carried out and evaluated has its result there already.
    """
    if (Path(job.dir) / RESULT).exists():
        return _adopt(job, out)
    raw = metrics.read(job)
    directory = run_dir(out, job)
    result = replace(
        metrics.summarise(raw),
        title=raw.scenario.title,
        kernel_release=raw.meta["kernel"],
        reproducible=raw.meta["seeded"],
        hashes=loaded.of_run(job, hashes) | own_hashes(job),
        hosts=raw.meta.get("hosts"),
        wall_s=round(wall_s, 3),
    )
    with whole(directory) as draft:
        _save_series(raw, draft)
        _save_trace(raw, draft)
        for pcap in Path(job.dir).glob("*.pcap"):
            shutil.copy(pcap, draft)
        (draft / "run.json").write_text(json.dumps({"wall_s": result.wall_s, "lab": lab, "asked": job.asked}) + "\n")
        (draft / "result.json").write_text(result.as_json(indent=1) + "\n")
    shutil.rmtree(job.dir)
    return result


def _adopt(job: Job, out: Path) -> RunResult:
    """Take the directory of a result as a run's."""
    directory = run_dir(out, job)
    with whole(directory) as draft:
        shutil.copytree(job.dir, draft, dirs_exist_ok=True)
    shutil.rmtree(job.dir)
    return read(directory / RESULT)


def own_hashes(job: Job) -> dict[str, str]:
    """Hashes of the user's own modules that a run loads."""
    return {"candidates": ",".join(own.digest for own in job.candidates)} if job.candidates else {}


def kept(job: Job, out: Path, hashes: dict[str, str], lab: str) -> RunResult | None:
    """The result of the same job from an earlier command; None: there is none, or something has changed since."""
    directory = run_dir(out, job)
    try:
        result = read(directory / "result.json")
        same_lab = json.loads((directory / "run.json").read_text()).get("lab") == lab
    except (LabError, OSError, ValueError):
        return None
    same_job = (result.scenario_resolved, result.cc, result.cc_params, result.seed) == (
        job.scenario,
        job.cc,
        job.cc_params,
        job.seed,
    )
    wanted = loaded.of_run(job, hashes)
    same_kernel = all(result.hashes.get(key) == wanted[key] for key in ("kernel", "modules"))
    same_kernel &= result.hashes.get("candidates") == own_hashes(job).get("candidates")
    complete = not job.trace or (directory / "trace.parquet").exists()
    return result if same_job and same_lab and same_kernel and complete else None


def other_settings(job: Job, path: Path) -> bool:
    """Whether a result.json is of a run of the same name whose scenario was another one, by --set or in its file."""
    try:
        result = json.loads(path.read_text())
        known = result["format"] == FORMAT_VERSION
        return known and result["scenario_resolved"] != json.loads(json.dumps(as_plain(job.scenario)))
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def whole(directory: Path) -> Iterator[Path]:
    """A directory to write to, which becomes the one that is named at the end: whole, or not at all."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=directory.parent))
    try:
        yield draft
        draft.chmod(0o777 & ~_umask())
        shutil.rmtree(directory, ignore_errors=True)
        draft.rename(directory)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _save_series(raw: metrics.Raw, directory: Path) -> None:
    samples = [r for r in raw.records if r["type"] == "sample"]
    rows = [{k: v for k, v in r.items() if k not in ("type", "cc_info")} | _cc_info(r) for r in samples]
    _write_table(rows, directory / "flows.parquet")
    received = [{k: v for k, v in r.items() if k != "type"} for r in raw.records if r["type"] == "rsample"]
    _write_table(received, directory / "received.parquet")
    columns: dict[str, Any] = {"queue": [], "t": [], "pkts": []}
    for name in raw.queue_labels:
        t, length = metrics.queue_series(raw, name)
        columns["queue"] += [name] * len(t)
        columns["t"] += t.tolist()
        columns["pkts"] += length.tolist()
    _write_columns(columns, directory / "queue.parquet")
    if any(flow.workload for flow in raw.scenario.flows):
        _write_columns(workloads.table(raw.records, raw.scenario.flows), directory / "items.parquet")
    t, mbit = path_delay.capacity_series(raw.scenario, raw.scenario.measure.bottleneck or "", CAPACITY_BIN_S)
    if len(t):
        _write_columns({"t": t, "capacity_mbit": mbit}, directory / "capacity.parquet")
    for src, dst in raw.scenario.owd_pairs:
        for kind, measure in (("owd", metrics.owd_series), ("delivery", metrics.delivery_series)):
            t, d = measure(raw, src, dst)
            _write_columns({"t": t, f"{kind}_ms": d * 1e3}, directory / f"{kind}-{src}-{dst}.parquet")


def _save_trace(raw: metrics.Raw, directory: Path) -> None:
    """Write the tables of a traced run."""
    if not raw.job.trace:
        return
    path = Path(raw.job.dir) / "trace.txt"
    events = santacruz_trace.parse(path.read_text(), str(path))
    ports = {flow.port: flow.id for flow in raw.scenario.flows if flow.proto == "tcp"}
    t0_s = raw.meta["t0_s"]
    table = santacruz_trace.intervals(events, ports, t0_s, raw.meta["n_op_pkts"])
    _write_columns(table, directory / "trace.parquet")
    _write_columns(santacruz_trace.losses(events, ports, t0_s), directory / "trace-loss.parquet")


def _cc_info(record: dict[str, Any]) -> dict[str, Any]:
    info = record.get("cc_info") or {}
    return {f"cc_{k}": v for k, v in info.items()}


def read_all(out: Path, skip: Callable[[str], None] | None = None) -> Iterator[tuple[Path, RunResult]]:
    """Every run below a directory, in a fixed order; ``skip``: called for each that is no result, else an error."""
    for path in sorted(p for p in out.rglob("result.json") if not p.parent.name.startswith(DRAFT)):
        try:
            yield path.parent, read(path)
        except LabError as err:
            if skip is None:
                raise
            skip(str(err))


def read(path: Path) -> RunResult:
    """One result.json; LabError naming the file where it is not one, or of another format."""
    try:
        text = path.read_text()
        version = json.loads(text).get("format")
        if version != FORMAT_VERSION:
            raise LabError(f"{path}: result format {version}; this hetlab reads {FORMAT_VERSION}")
        run = path.with_name("run.json")
        return from_json(text, json.loads(run.read_text())["wall_s"] if run.exists() else None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        raise LabError(f"{path}: no result of a run: {err!r}") from err


def asked(directory: Path) -> tuple[str, ...]:
    """Arguments of hetlab run that gave a run's scenario: its name or file, each --set; empty where it is not known."""
    try:
        words = json.loads((directory / "run.json").read_text()).get("asked")
    except (OSError, ValueError, AttributeError):
        return ()
    return tuple(map(str, words or ()))


def series(directory: Path, name: str) -> dict[str, list[Any]]:
    """Columns of one of a run's tables; empty if the run has none."""
    path = directory / f"{name}.parquet"
    return pq.ParquetFile(path).read().to_pydict() if path.exists() else {}


def columns(directory: Path, name: str, wanted: Sequence[str]) -> dict[str, Any]:
    """Some columns of one of a run's tables, of those that it has, as arrays: a tenth of the time of series()."""
    table = pq.ParquetFile(directory / f"{name}.parquet").read(columns=wanted)
    return {column: table[column].to_numpy() for column in table.column_names}
