# SPDX-License-Identifier: GPL-2.0
"""Results of the runs of a command, saved as each run ends; failures are listed at the end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hetlab.errors import LabError
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.results import store


@dataclass
class Campaign:
    """Collects the results and failures of the runs of a command."""

    out: Path
    hashes: dict[str, str]
    lab: str
    report: Callable[[RunResult], None]
    draw_trace: Callable[[Path, RunResult], None] | None = None
    failed: list[tuple[Job, str]] = field(default_factory=list)
    done: int = 0

    def take_kept(self, jobs: list[Job]) -> list[Job]:
        """Report the results that an earlier command left in ``out``; returns the jobs that are still to be run."""
        waiting = []
        for job in jobs:
            if result := store.kept(job, self.out, self.hashes, self.lab):
                self.done += 1
                self.report(result)
            else:
                waiting.append(job)
        return waiting

    def outcome(self, job: Job, error: str | None, wall_s: float) -> None:
        """Keep a result as soon as its run ends; a failure does not lose the others."""
        if error is not None:
            self.failed.append((job, error))
            return
        try:
            result = store.save(job, self.out, self.hashes, wall_s, self.lab)
            if job.trace and self.draw_trace:
                self.draw_trace(store.run_dir(self.out, job), result)
        except LabError as err:
            self.failed.append((job, str(err)))
            return
        except (OSError, KeyError, TypeError, ValueError) as err:
            self.failed.append((job, f"cannot evaluate the run: {err!r}"))
            return
        self.done += 1
        self.report(result)
