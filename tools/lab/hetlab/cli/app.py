# SPDX-License-Identifier: GPL-2.0
"""The command line: arguments in, tables or JSON lines out; the work is elsewhere."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, NoReturn

import typer
from rich.console import Console

from hetlab.build import kernel, programs
from hetlab.cli import cache_command, judge_command, pack_command, packet_command, papers_command, trace
from hetlab.cli.arguments import (
    AgainOption,
    CcOption,
    ClockOption,
    ClusterOption,
    DryRunOption,
    EachOption,
    FormatOption,
    JsonOption,
    KernelOption,
    MachinesOption,
    NetemOption,
    OnOption,
    OutOption,
    PatchedOption,
    PatchOption,
    ReceiverAddressOption,
    ReceiverOption,
    ResumeOption,
    ScenariosArgument,
    SeedOption,
    SeedsOption,
    SenderAddressOption,
    SenderOption,
    SeriesOption,
    SetOption,
    SshOption,
    StoreOption,
    TraceOption,
    TrafficOption,
    VerifyOption,
)
from hetlab.cli.campaigns import (
    carry_out,
    emulated,
    err,
    fail_on,
    kept,
    still_to_run,
    this_machine,
    two_hosts,
    virtual_on,
)
from hetlab.cli.candidates import loads, variants_of
from hetlab.cli.planned import alike, plan_tables
from hetlab.cli.tables import (
    in_order,
    scenarios_overview,
    scenarios_table,
    show,
    show_results,
    terminal_width,
)
from hetlab.errors import LabError, meant
from hetlab.hosts import options
from hetlab.machines import qemu_files, variables
from hetlab.machines.uml import cpus
from hetlab.model import files, jobs, names
from hetlab.model.job import Job
from hetlab.model.keys import as_plain
from hetlab.model.result import RunResult
from hetlab.paths import BUILD, not_ours
from hetlab.ported import kernel as ported
from hetlab.ported.kernel import DEFAULT, Series
from hetlab.results import cache

# Where Debian has modinfo, which others than root do not have in their PATH
SYSTEM_PROGRAMS = "/usr/sbin:/sbin"

app = typer.Typer(
    help="Experiments with TCP congestion control on the real kernel stack, in virtual time.",
    epilog="HETCC_BUILD=DIR (an absolute path) in the environment: all that is built or measured goes there.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(trace.app, name="trace")
app.add_typer(cache_command.app, name="cache")
app.command("judge")(judge_command.command)
app.command("pack")(pack_command.write)
app.command("unpack")(pack_command.unpack)
app.command("carry-out", hidden=True)(pack_command.carry_out)


@app.command("kernel")
def kernel_command(
    patched: Annotated[bool, typer.Option(help="with the Santa Cruz option (santacruz_opt.patch)")] = False,
    debug: Annotated[bool, typer.Option(help="with KASAN and UBSAN; several times slower")] = False,
    series: SeriesOption = DEFAULT,
    pack: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="of the wheel alone: unpack a file of 'hetlab pack', build nothing"),
    ] = None,
) -> None:
    """Build the lab's kernel, the modules for it and the traffic tools.

    The kernel is a User-Mode Linux; nothing is built twice.
    """
    if pack:
        raise LabError(f"kernel --pack: a checkout has its own lab; 'hetlab unpack {pack} DIR' puts this one beside it")
    begun = time.monotonic()
    k = ported.kernel(err, series, patched, debug)
    directory = kernel.modules(err, k)
    programs.tools(err)
    print(f"kernel   {k.executable}\nmodules  {directory}\nready in {time.monotonic() - begun:.1f} s")


@app.command("run")
def run_command(
    scenarios: ScenariosArgument,
    cc: CcOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    set_: SetOption = None,
    on: OnOption = "virtual",
    kernel_: KernelOption = "6.12",
    clock: ClockOption = "icount",
    series: SeriesOption = DEFAULT,
    out: OutOption = None,
    as_json: JsonOption = False,
    each: EachOption = False,
    patched: PatchedOption = None,
    patch: PatchOption = None,
    machines: MachinesOption = None,
    dry_run: DryRunOption = False,
    resume: ResumeOption = False,
    again: AgainOption = False,
    store: StoreOption = None,
    verify: VerifyOption = 0,
    cluster: ClusterOption = None,
    trace: TraceOption = False,
    sender: SenderOption = None,
    receiver: ReceiverOption = None,
    sender_address: SenderAddressOption = None,
    receiver_address: ReceiverAddressOption = None,
    traffic: TrafficOption = "iperf3",
    netem: NetemOption = "none",
    ssh_option: SshOption = None,
) -> None:
    """Run each congestion control over each scenario and seed."""
    _together(on, bool(patch), resume, out, series)
    two = options.options(on, sender, receiver, sender_address, receiver_address, traffic, netem, ssh_option)
    loaded = [s for name in scenarios for s in files.load(name, set_)]
    patched = any(point.scenario.needs_option for point in loaded) if patched is None else patched
    variants = variants_of(cc or [], patched, on, patches=patch or (), series=series)
    planned = jobs.make(loaded, variants, jobs.parse_seeds(seed or [], seeds), trace)
    planned = [options.fit(job, two) for job in planned] if two else planned
    _tell(f"{p.name}: {text}" for p in loaded for text in p.scenario.unreached())
    if dry_run:
        show_plan(planned, on == "virtual", out if resume else None, machines, series)
        return
    directory = out or BUILD / "results" / time.strftime("%Y%m%d-%H%M%S")
    rows: list[RunResult] = []

    def report(result: RunResult) -> None:
        rows.append(result)
        if as_json:
            print(json.dumps(as_plain(result)), flush=True)

    places = {"hosts": two_hosts(two)} if two else {"vm": emulated(kernel_, clock, machines), "host": this_machine}
    before = kept(store if on == "virtual" else cache.NONE, verify, again, resume)
    place = places.get(on) or virtual_on(cluster, machines, patch or (), series=series, store=before.store)
    campaign = carry_out(planned, place, directory, report, patched, before)
    if not as_json and rows:
        show_results(in_order(rows, planned), each)
    _tell(alike(rows))
    err.print(f"results in {directory}" if rows else "no results")
    fail_on(campaign)


def _together(on: str, patch: bool, resume: bool, out: Path | None, series: Series) -> None:
    """LabError for options that do not go together."""
    if patch and on != "virtual":
        raise LabError(f"--patch: changes the lab's kernel, which --on {on} does not run")
    if series != DEFAULT and on != "virtual":
        raise LabError(f"--series: the lab's kernel, which --on {on} does not run")
    if resume and not out:
        raise LabError("--resume: needs --out DIR, where the runs are")


def _tell(lines: Iterable[str]) -> None:
    """Each line once."""
    for line in dict.fromkeys(lines):
        err.print(f"hetlab: {line}")


def show_plan(planned: list[Job], on_ours: bool, kept_in: Path | None, machines: int | None, series: Series) -> None:
    """What would be run: of our kernel's runs without those that are there already."""
    waiting = still_to_run(planned, kept_in, series) if on_ours else planned
    if waiting:
        show(*plan_tables(waiting, len(cpus()[: machines or None]) if on_ours else None, terminal_width()))
    else:
        print(f"nothing to run, all is in {kept_in}")


app.command("claims")(papers_command.claims)
app.command("figures")(papers_command.figures)


@app.command("exec", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def exec_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="what to run, after --")],
    patched: Annotated[bool, typer.Option(help="kernel with the Santa Cruz option")] = False,
    debug: Annotated[bool, typer.Option(help="kernel with KASAN and UBSAN")] = False,
    series: SeriesOption = DEFAULT,
    patch: PatchOption = None,
    on: Annotated[Literal["virtual", "vm"], typer.Option(help="User-Mode Linux, or Debian's kernel")] = "virtual",
    kernel_: Annotated[Literal["6.12", "6.1"], typer.Option("--kernel", help="of --on vm")] = "6.12",
    clock: Annotated[Literal["icount", "real"], typer.Option(help="of --on vm, see hetlab run")] = "icount",
    environment: Annotated[
        bool, typer.Option("--environment", help="--on vm: with the Python environment, for scripts that plot")
    ] = False,
    cc: Annotated[
        list[str] | None, typer.Option(metavar="FILE.c[:param=value,...]", help="load it, too; repeatable")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=VALUE]", help="environment variable for the command, by default yours; repeatable"),
    ] = None,
    wall_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, max=86_400, help="stop the command after this much real time")
    ] = 600,
) -> None:
    """Run any command inside the virtual-time kernel, modules loaded.

    It is root there. Output and exit status are the command's; 124 if it was stopped at the limit. With --on vm it runs
    on a copy of the source tree, and its output comes at the end. Of your environment it sees HOME, TERM (--on vm:
    neither) and what --env names; PATH, SHELL, USER and a few others are set for the machine.
    """
    named = variables.told(env or [])
    if on == "vm":
        from hetlab.machines import exec_qemu

        if patched or debug or cc or patch or series != DEFAULT:
            raise LabError(
                "exec --on vm: Debian's kernels are neither --patched nor --debug nor of a --series (but --kernel),"
                " have no --patch and load no --cc"
            )
        libraries = qemu_files.environment(err) if environment else None
        raise typer.Exit(
            exec_qemu.execute(qemu_files.stock(err, kernel_), clock, command, wall_limit, libraries, named)
        )
    from hetlab.machines.exec_uml import execute

    k = ported.kernel(err, series, patched, debug, patch or ())
    modules = kernel.modules(err, k)
    programs.tools(err)
    if programs.have_clang():  # HetLink says what is missing where it needs it
        programs.link_program()
    own = loads(variants_of(cc or [], k=k))
    raise typer.Exit(execute(k.executable, modules, command, wall_limit, variables=named, load=own))


app.command("packet")(packet_command.command)


@app.command("list")
def list_command(
    prefix: Annotated[str, typer.Argument(metavar="[NAME]", help="a name, or how names begin: what each models")] = "",
) -> None:
    """Scenarios: their names, or what they model."""
    if not prefix:
        Console(highlight=False, markup=False).print(*scenarios_overview(), sep="\n")
        return
    table = scenarios_table(names.renamed_scenario(prefix))
    if not table.row_count:
        raise LabError(f"no scenario begins with {prefix!r}{meant(prefix, names.scenarios())}; 'hetlab list' shows all")
    show(table)


@app.command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="results of hetlab run")],
    title: Annotated[str, typer.Option(help="heading")] = "hetlab report",
    output: Annotated[Path | None, typer.Option(help="HTML file; default DIR/report.html")] = None,
    format_: FormatOption = None,
) -> None:
    """HTML page with tables and plots of a result directory.

    Its pictures are beside it, in plots/.
    """
    from hetlab.judge.charts import of_groups
    from hetlab.report.page import write_report

    if not directory.is_dir():
        raise LabError(f"{directory}: no such directory")
    path = write_report(directory, output or directory / "report.html", title, format_ or ["png"], of_groups)
    print(path)


@app.command("qlog")
def qlog_command(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="directory of one run, with a result.json")],
    flow: Annotated[str | None, typer.Option(metavar="NAME", help="default: the first TCP flow")] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="default: stdout")] = None,
) -> None:
    """A TCP flow of a run as qlog, for qvis and tools like it."""
    from hetlab.cli.export import writing
    from hetlab.results import qlog

    text = json.dumps(qlog.document(run, flow), separators=(",", ":")) + "\n"
    if output:
        writing(output, lambda: output.write_text(text, encoding="utf-8"))
    else:
        sys.stdout.write(text)


@app.command("table")
def table_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="results of hetlab run")],
    as_csv: Annotated[bool, typer.Option("--csv", help="mean, median, 95 % interval of each column")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="mean ± half interval (median)")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="the same for the package booktabs")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="as --csv; needs --output")] = False,
    each: EachOption = False,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="of these only, e.g. goodput; repeatable; default: all")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="default: stdout")] = None,
) -> None:
    """Numbers of a result directory for papers and programs.

    A row for each scenario, point of a sweep, and congestion control, ours first: the order of the report.
    """
    from hetlab.cli import export

    wanted = {"csv": as_csv, "markdown": as_markdown, "latex": as_latex, "parquet": as_parquet}
    chosen = [kind for kind, asked in wanted.items() if asked]
    if len(chosen) > 1:
        raise LabError(f"--{' and --'.join(chosen)}: one format at a time")
    export.write(directory, "".join(chosen), each, column or [], output)


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    """Exit through the handlers that stop machines."""
    sys.exit(128 + number)


def main() -> None:
    """Console entry point: a LabError is a message and exit status 2."""
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PROGRAMS}"
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    try:
        app(prog_name="hetlab")
    except LabError as error:
        print(f"hetlab: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if not (text := not_ours(error)):
            raise
        print(f"hetlab: {text}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("hetlab: interrupted; finished runs are kept")
        sys.exit(130)
