# SPDX-License-Identifier: GPL-2.0
"""Results of the runs of a command, saved as each run ends; failures are listed at the end."""

import json
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hetlab import paths
from hetlab.errors import LabError
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.results import cache, store


@dataclass
class Campaign:
    """Collects the results and failures of the runs of a command; ``shared`` None: they are kept in ``out`` alone."""

    out: Path
    hashes: dict[str, str]
    lab: str
    report: Callable[[RunResult], None]
    draw_trace: Callable[[Path, RunResult], None] | None = None
    shared: cache.Cache | None = None
    failed: list[tuple[Job, str]] = field(default_factory=list)
    done: int = 0
    verifying: dict[str, Job] = field(default_factory=dict)
    verified: int = 0

    def take_kept(self, jobs: Sequence[Job]) -> list[Job]:
        """Report the results that an earlier command left in ``out``; returns the jobs that are still to be run."""
        return [job for job in jobs if not self._take(job, store.kept(job, self.out, self.hashes, self.lab))]

    def take_stored(self, jobs: Sequence[Job]) -> list[Job]:
        """The same of those that the store has, which are then in ``out``, too."""
        return [job for job in jobs if not self._take(job, self._from_store(job))]

    def _take(self, job: Job, result: RunResult | None) -> bool:
        if result:
            self.done += 1
            self.report(result)
        return bool(result)

    def _from_store(self, job: Job) -> RunResult | None:
        """A result of the store, written to ``out``; a bad entry is said, removed and not used."""
        if not self.shared:
            return None
        name = cache.key(job, self.hashes, self.lab)
        try:
            entry = self.shared.get(name)
            if entry is None:
                return None
            with store.whole(store.run_dir(self.out, job)) as draft:
                cache.unpack(entry, draft)
                _asked(draft / "run.json", job)
            result = store.kept(job, self.out, self.hashes, self.lab)
            if not result:
                raise cache.CorruptError("it is the result of another run")
        except (cache.CorruptError, ValueError) as err:
            say(f"store {self.shared.where}: entry {name} is damaged, its run is carried out again: {err}")
            self.shared.remove(name)
            return None
        except OSError as err:
            where, answer = self.shared.where, err.strerror or err
            say(f"store {where}: cannot be read, nothing more is taken from it or kept there: {answer}")
            self.shared = None
            return None
        self._draw(job, result)
        return result

    def outcome(self, job: Job, error: str | None, wall_s: float) -> None:
        """Keep a result as soon as its run ends; a failure does not lose the others."""
        if error is not None:
            self.failed.append((job, error))
            return
        again = job.dir in self.verifying
        try:
            out = paths.scratch("verify-") if again else self.out
            result = store.save(job, out, self.hashes, wall_s, self.lab)
            self._compare(job, out) if again else self._keep(job, result)
        except LabError as err:
            self.failed.append((job, str(err)))
        except (OSError, KeyError, TypeError, ValueError) as err:
            self.failed.append((job, f"cannot evaluate the run: {err!r}"))

    def _keep(self, job: Job, result: RunResult) -> None:
        """A new result: to the store, and to whoever waits for it."""
        self._draw(job, result)
        self._to_store(job, result)
        self.done += 1
        self.report(result)

    def _draw(self, job: Job, result: RunResult) -> None:
        if job.trace and self.draw_trace:
            self.draw_trace(store.run_dir(self.out, job), result)

    def _to_store(self, job: Job, result: RunResult) -> None:
        """A store that cannot be written costs nothing but the runs of later commands; it is said once."""
        if not self.shared or not result.reproducible:
            return
        try:
            self.shared.put(cache.key(job, self.hashes, self.lab), cache.pack(store.run_dir(self.out, job)))
        except OSError as err:
            say(
                f"store {self.shared.where}: cannot be written, this command's results are in {self.out} alone:"
                f" {err.strerror or err}"
            )
            self.shared = None

    def choose(self, taken: Sequence[Job], percent: float) -> list[Job]:
        """A share of the runs that were taken, at least one of them, to be run again and compared."""
        number = min(len(taken), max(1, round(len(taken) * percent / 100))) if percent else 0
        chosen = random.sample(list(taken), number)
        self.verifying |= {job.dir: job for job in chosen}
        return chosen

    def _compare(self, job: Job, again: Path) -> None:
        """LabError naming the files whose bytes differ from those that were taken."""
        pair = store.run_dir(self.out, job), store.run_dir(again, job)
        differ = sorted(name for name in _names(*pair) if _bytes(pair[0] / name) != _bytes(pair[1] / name))
        if differ:
            raise LabError(
                f"run again it gave other bytes: {', '.join(differ)}: what was kept is in {pair[0]}, the new"
                f" in {pair[1]}; machines differ, or what is kept is wrong (--again runs all)"
            )
        shutil.rmtree(again)
        self.verified += 1


def say(text: str) -> None:
    """A line on stderr."""
    print(f"hetlab: {text}", file=sys.stderr)


def _asked(path: Path, job: Job) -> None:
    """The arguments that asked for a run are those of today's command."""
    path.write_text(json.dumps(json.loads(path.read_text()) | {"asked": job.asked}) + "\n")


def _names(*directories: Path) -> set[str]:
    """Files that a repetition must give again."""
    found = {path.name for directory in directories for path in directory.iterdir()}
    return {name for name in found if name != "run.json" and name.endswith(cache.SUFFIXES)}


def _bytes(path: Path) -> bytes | None:
    """A file's contents; of result.json without the commit, which says when it was measured."""
    if not path.exists():
        return None
    if path.name != "result.json":
        return path.read_bytes()
    result = json.loads(path.read_text())
    result["hashes"].pop("commit", None)
    return json.dumps(result).encode()
