# SPDX-License-Identifier: GPL-2.0
"""--cluster: who carries out batches of jobs, and what happens to those that a lost worker or scheduler had."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hetlab.engine import packs, work
from hetlab.errors import LabError
from hetlab.machines.runner import Outcome
from hetlab.model.job import Job
from hetlab.results import cache

LOCAL, QUEUES = "local", ("slurm", "pbs")
# Workers of a queue, unless --cluster slurm:N says so
QUEUED_JOBS = 4
# A task shall last so long that sending it costs nothing, and not so long that losing one costs much
BATCH_S = (2.0, 60.0)
# Batches for each worker, so that all end at about the same time
BATCHES_EACH = 4
ATTEMPTS = 3
WAIT_S = 300.0
POLL_S = 0.2


def start(told: str) -> Any:
    """A client of Dask for --cluster; LabError saying what is missing."""
    import distributed

    kind, _colon, more = told.partition(":")
    try:
        if kind in QUEUES:
            return distributed.Client(_queue(kind, more))
        if kind == "ssh":
            hosts = [host for host in more.split(",") if host]
            if not hosts:
                raise LabError("--cluster ssh: name hosts, as ssh:a,b")
            options = {"nthreads": 1, "n_workers": 1}
            return distributed.Client(distributed.SSHCluster([hosts[0], *hosts], worker_options=options))
        return distributed.Client(told, timeout="10s")
    except (OSError, ValueError, ImportError, RuntimeError) as err:
        raise LabError(f"--cluster {told}: {err}") from err


def _queue(kind: str, number: str) -> Any:
    """Workers as jobs of a batch system; everything about them is in Dask's jobqueue.yaml."""
    import dask_jobqueue

    if number and not (number.isdecimal() and int(number)):
        raise LabError(f"--cluster {kind}:{number}: not a number of jobs")
    made = dask_jobqueue.SLURMCluster() if kind == "slurm" else dask_jobqueue.PBSCluster()

    async def submitted() -> None:
        """scale() leaves what the batch system refuses in a log, and one would wait for a worker in vain."""
        while len(made.worker_spec) < int(number or QUEUED_JOBS):
            made.worker_spec.update(made.new_worker_spec())
        try:
            await made._correct_state()
        except RuntimeError:
            made._created.clear()  # its end would fail for workers that never began
            made.workers.clear()
            made.worker_spec.clear()
            raise

    made.sync(submitted)
    return made


def batches(jobs: Sequence[Job], workers: int, cost_s: Callable[[Job], float]) -> list[list[Job]]:
    """Jobs in order, cut where a batch has lasted long enough."""
    least, most = BATCH_S
    enough = min(most, max(least, sum(map(cost_s, jobs)) / (BATCHES_EACH * max(workers, 1))))
    found: list[list[Job]] = []
    room = 0.0
    for job in jobs:
        if room <= 0:
            found.append([])
            room = enough
        found[-1].append(job)
        room -= cost_s(job)
    return found


class ClusterRunner:
    """Jobs on the workers of a Dask scheduler; results come back as entries and are put where a machine leaves raw
    files, so that all that follows is the same.
    """

    def __init__(
        self,
        client: Any,
        patched: bool,
        hashes: dict[str, str],
        lab: str,
        cost_s: Callable[[Job], float],
        store: str | None = None,
    ):
        self.client = client
        self.patched, self.hashes, self.lab = patched, hashes, lab
        self.store = packs.address(store) if store else ""
        self.cost_s = cost_s

    def run(self, jobs: list[Job], outcome: Outcome) -> None:
        """See Runner."""
        if not jobs:
            return
        waiting = {i: batch for i, batch in enumerate(batches(jobs, self._workers(), self.cost_s))}
        attempts = dict.fromkeys(waiting, 0)
        running = {self._submit(i, waiting[i], 0): i for i in waiting}
        try:
            while running:
                over = [future for future in running if future.done()]
                for future in over:
                    number = running.pop(future)
                    if self._ended(future, waiting[number], outcome):
                        continue
                    attempts[number] += 1
                    if attempts[number] >= ATTEMPTS:
                        self._lost(waiting[number], outcome)
                        continue
                    self._workers()
                    running[self._submit(number, waiting[number], attempts[number])] = number
                if not over:
                    time.sleep(POLL_S)
        finally:
            with suppress(Exception):  # a scheduler that has gone
                self.client.cancel(list(running))

    def _workers(self) -> int:
        """How many there are, at least one; LabError if none comes."""
        end = time.monotonic() + WAIT_S
        told = False
        while not (number := len(self.client.scheduler_info(n_workers=-1)["workers"])):
            if not told:
                print(f"waiting for a worker; dashboard {self.client.dashboard_link}", file=sys.stderr)
                told = True
            if time.monotonic() > end:
                raise LabError(f"--cluster: no worker after {WAIT_S:.0f} s")
            time.sleep(1)
        return number

    def _submit(self, number: int, batch: list[Job], attempt: int) -> Any:
        """A task; Dask itself gives those of a worker that died to another one."""
        made = work.batch_of(batch, self.patched, self.hashes, self.lab, self.store)
        key = f"hetlab-{Path(batch[0].dir).parent.name}-{number}-{attempt}"
        return self.client.submit(work.carry_out, made, key=key, pure=False, retries=0)

    def _ended(self, future: Any, batch: list[Job], outcome: Outcome) -> bool:
        """Take the results of a batch; False if it has to be run again: its worker or the scheduler has gone."""
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            if isinstance(error, LabError):
                raise error
            print(
                f"hetlab: {len(batch)} runs are lost and carried out again: {error or future.status}", file=sys.stderr
            )
            return False
        for job, done in zip(batch, future.result(), strict=True):
            if done.error is None:
                Path(job.dir).mkdir(parents=True, exist_ok=True)
                cache.unpack(done.entry, Path(job.dir))
            outcome(job, done.error, done.wall_s)
        return True

    @staticmethod
    def _lost(batch: list[Job], outcome: Outcome) -> None:
        for job in batch:
            outcome(job, f"lost {ATTEMPTS} times with its worker", 0.0)
