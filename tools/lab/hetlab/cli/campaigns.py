# SPDX-License-Identifier: GPL-2.0
"""Where runs are carried out, with a progress bar: virtual machines, QEMU, this host, two hosts."""

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from hetlab.build import identity, kernel, offered, programs
from hetlab.cli.planned import real_s
from hetlab.engine import cluster
from hetlab.engine.cluster import LOCAL
from hetlab.errors import LabError
from hetlab.hosts import options
from hetlab.hosts.runner import HostsRunner
from hetlab.machines import qemu, qemu_files
from hetlab.machines.runner import HostRunner, Outcome, Runner, VirtualRunner, VmRunner
from hetlab.model import jobs
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.paths import BUILD
from hetlab.ported import kernel as ported
from hetlab.ported.kernel import DEFAULT, Series
from hetlab.results import cache, store
from hetlab.results.campaign import Campaign

INTERRUPTED = 130
err = Console(stderr=True, highlight=False, markup=False)
# For jobs and the kernel they need, unpatched or patched: what carries them out, and what they are measured with
RunnerFactory = Callable[[bool, list[Job]], tuple[Runner, dict[str, str]]]


@dataclass(frozen=True)
class Kept:
    """What earlier commands measured, if nothing has changed since: ``resume`` takes it from the command's directory,
    ``store`` names the store of all results (None: no store), from which ``take`` takes as well; ``verify`` percent of
    what was taken is run again and compared.
    """

    resume: bool = False
    store: str | None = None
    take: bool = True
    verify: float = 0


NOTHING, IN_ITS_DIRECTORY = Kept(), Kept(resume=True)


def kept(store: str | None, verify: float, again: bool, resume: bool = True) -> Kept:
    """As --store, --verify, --again and --resume say."""
    where = None if store == cache.NONE else store or str(BUILD / "store")
    return Kept(resume=resume and not again, store=where, take=not again, verify=verify)


def carry_out(
    planned: list[Job],
    make_runner: RunnerFactory,
    out: Path,
    report: Any,
    patched: bool | None = None,
    before: Kept = NOTHING,
    tell_others: bool = True,
) -> Campaign:
    """Run jobs with a progress bar on stderr; ``patched`` None: each on the kernel that its scenario needs.

    ``before``: which results of earlier commands are taken; ``tell_others``: a line where runs of other commands are
    there.
    """
    programs.tools(err)
    programs.skew_objects({clock for job in planned for clock in job.scenario.clocks.values()})
    if any(job.scenario.filtered for job in planned):
        programs.link_program()
    groups = jobs.by_kernel(planned, patched)
    if tell_others:
        _tell_others(out, planned)
    built = {of: make_runner(of, group) for of, group in groups.items()}
    _writable(out)
    results = cache.Cache(before.store) if before.store else None
    campaign = Campaign(out, {}, identity.lab_digest(), report, draw_trace, results)
    with progress(err) as bar:
        outcome = _followed(campaign, bar, len(planned))
        try:
            for of, group in groups.items():
                runner, campaign.hashes = built[of]
                waiting = _taken(campaign, group, before)
                left = {job.dir for job in waiting}
                again = campaign.choose([job for job in group if job.dir not in left], before.verify)
                bar.update(bar.task_ids[0], total=len(planned) + len(campaign.verifying))
                runner.run([*again, *waiting], outcome)
        except KeyboardInterrupt:
            bar.stop()
            print(
                f"hetlab: interrupted; {campaign.done} of {len(planned)} runs are kept in {out}\n"
                f"hetlab: to go on: the same command{'' if before.resume else f' with --resume --out {out}'}",
                file=sys.stderr,
            )
            raise typer.Exit(INTERRUPTED) from None
    if campaign.verified:
        print(f"{campaign.verified} of the runs that were taken gave the same bytes again", file=sys.stderr)
    return campaign


def _taken(campaign: Campaign, group: list[Job], before: Kept) -> list[Job]:
    """Take what is there, say where it was; returns what is still to be run."""
    waiting = campaign.take_kept(group) if before.resume else group
    if number := len(group) - len(waiting):
        print(f"{number} runs are in {campaign.out} already, and are taken from there", file=sys.stderr)
    left = campaign.take_stored(waiting) if before.take else waiting
    if number := len(waiting) - len(left):
        print(f"{number} runs are in the store {before.store}, and are taken from there", file=sys.stderr)
    return left


def progress(console: Console) -> Progress:
    """How far a command is; the name of a run comes last, for it may be longer than the line."""
    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, max_width=console.width - 34)
    )
    bar = BarColumn(bar_width=16)
    return Progress(MofNCompleteColumn(), bar, TimeElapsedColumn(), name, console=console, transient=True)


def name_of(job: Job) -> str:
    """A run in a line of progress: what differs between two runs is at its begin and its end."""
    return f"{job.name} {label(job.cc, job.cc_params)} seed {job.seed}"


def _followed(campaign: Campaign, bar: Progress, total: int) -> Outcome:
    """Keeps the outcome of each run, and shows how many there are: a bar, or lines where stderr is no terminal."""
    task = bar.add_task("running", total=total)

    def outcome(job: Job, error: str | None, wall_s: float) -> None:
        campaign.outcome(job, error, wall_s)
        over, name = campaign.done + campaign.verified + len(campaign.failed), name_of(job)
        bar.update(task, completed=over, description=name)
        if not err.is_terminal:
            print(f"{over}/{total} {name} {error or f'{wall_s:.1f} s'}", file=sys.stderr)

    return outcome


def _tell_others(out: Path, planned: list[Job]) -> None:
    """What a directory has already: runs that are not among these, which its tables and reports show, too, and those
    of the same names with other settings, whose place the new ones take.
    """
    if not out.is_dir():
        return
    ours = {store.run_dir(out, job): job for job in planned}
    others = replaced = 0
    for path in out.rglob("result.json"):
        job = ours.get(path.parent)
        others += job is None
        replaced += job is not None and store.other_settings(job, path)
    if others:
        print(f"hetlab: {out} has {others} other runs already; its report shows them, too", file=sys.stderr)
    if replaced:
        print(
            f"hetlab: {replaced} of the runs in {out} have the same names as these and other settings:"
            " they are replaced (to keep them: Ctrl-C, and another --out)",
            file=sys.stderr,
        )


def _writable(out: Path) -> None:
    """LabError before anything runs where the results could not be kept."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as err:
        raise LabError(f"--out {out}: results cannot be written there: {err.strerror}") from err


def draw_trace(directory: Path, result: RunResult) -> None:
    """trace.png in the directory of a traced run."""
    from hetlab.report import pictures, runs  # takes a second to import

    pictures.draw_trace(runs.Run(directory, result))


def virtual(
    machines: int | None,
    own: Sequence[Path] = (),
    instead: Sequence[Path] = (),
    series: Series = DEFAULT,
) -> RunnerFactory:
    """Virtual-time machines; ``own``: patches of the user's to their kernel, ``instead``: files of ours replaced."""

    def make_runner(patched: bool, planned: list[Job]) -> tuple[Runner, dict[str, str]]:
        k = ported.kernel(err, series, patched, patches=own)
        modules = kernel.modules(err, k, instead=instead)
        offered.check(planned, offered.offered(k, modules))
        offered.check_queues(planned, k)
        return VirtualRunner(k.executable, modules, machines), identity.hashes(k, modules)

    return make_runner


def virtual_on(
    told: str | None,
    machines: int | None,
    own: Sequence[Path] = (),
    instead: Sequence[Path] = (),
    series: Series = DEFAULT,
    store: str | None = None,
) -> RunnerFactory:
    """Virtual-time machines of this host, or (--cluster) of the workers of a Dask scheduler, who take the lab
    from the store where their own is another one.
    """
    here = virtual(machines, own, instead, series)
    if not told or told == LOCAL:
        return here
    if own or instead or machines or series != DEFAULT:
        raise LabError(
            f"--cluster: workers have this tree's kernel {DEFAULT} and modules, and say themselves how many machines"
        )
    client = cluster.start(told)

    def make_runner(patched: bool, planned: list[Job]) -> tuple[Runner, dict[str, str]]:
        _runner, hashes = here(patched, planned)
        return cluster.ClusterRunner(client, patched, hashes, identity.lab_digest(), real_s, store), hashes

    return make_runner


def still_to_run(planned: list[Job], out: Path | None, series: Series = DEFAULT) -> list[Job]:
    """Jobs without those whose results are in ``out``; names that the kernel does not know are a LabError.

    Where the kernel is not built yet nothing is known: all.
    """
    waiting: list[Job] = []
    for patched, group in jobs.by_kernel(planned).items():
        k = ported.built(series, patched)
        if not k:
            waiting += group
            continue
        modules = kernel.modules(err, k)
        offered.check(group, offered.offered(k, modules))
        offered.check_queues(group, k)
        if not out:
            waiting += group
            continue
        programs.tools(err)
        hashes, lab = identity.hashes(k, modules), identity.lab_digest()
        waiting += [job for job in group if not store.kept(job, out, hashes, lab)]
    return waiting


def emulated(series: str, clock: qemu.Clock, machines: int | None) -> RunnerFactory:
    """Machines under QEMU with one of Debian's kernels."""

    def make_runner(patched: bool, planned: list[Job]) -> tuple[Runner, dict[str, str]]:
        offered.check_queues(planned, None)
        if patched:
            raise LabError("--on vm: Debian's kernels have no Santa Cruz option, which these runs ask for")
        vm = qemu_files.stock(err, series)
        return VmRunner(vm, clock, machines), qemu_files.hashes(vm)

    return make_runner


def this_machine(_patched: bool, _planned: list[Job]) -> tuple[Runner, dict[str, str]]:
    """Namespaces of the running kernel."""
    return HostRunner(), identity.host_hashes()


def two_hosts(options: options.Options) -> RunnerFactory:
    """Two others, over ssh."""

    def make_runner(_patched: bool, _planned: list[Job]) -> tuple[Runner, dict[str, str]]:
        runner = HostsRunner(options, err)
        return runner, runner.hashes()

    return make_runner


def fail_on(campaign: Campaign) -> None:
    """Name every failed run, those of one fault together, and exit with 1."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for job, text in campaign.failed:
        seeds.setdefault((f"{job.name} {label(job.cc, job.cc_params)}", text), []).append(job.seed)
    for (run, text), of in seeds.items():
        print(f"failed: {run} seed{'s' * (len(of) > 1)} {', '.join(map(str, sorted(of)))}: {text}", file=sys.stderr)
    if campaign.failed:
        raise typer.Exit(1)
