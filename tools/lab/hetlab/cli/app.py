# SPDX-License-Identifier: GPL-2.0
"""The command line: arguments in, tables or JSON lines out; the work is elsewhere."""

import json
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, NoReturn

import typer

from hetlab.build import kernel
from hetlab.cli.campaigns import carry_out, emulated, err, fail_on, this_machine, two_hosts, virtual
from hetlab.cli.tables import claims_list, claims_table, in_order, scenarios_table, show, show_results
from hetlab.errors import LabError
from hetlab.hosts import options
from hetlab.machines import qemu_files, variables
from hetlab.model import files, jobs
from hetlab.model.result import RunResult
from hetlab.paths import BUILD, not_ours

app = typer.Typer(
    help="Experiments with TCP congestion control on the real kernel stack, in virtual time.",
    epilog="HETCC_BUILD=DIR (an absolute path) in the environment: all that is built or measured goes there.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ScenariosArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO",
        help="names (hetlab list) or TOML files; NAME@VARIANT, NAME[KEY=VALUE,...]: a point of a sweep",
    ),
]
CcOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[@PRESET][:param=value,...]", help="congestion control; repeatable; default: the scenario's"
    ),
]
SenderOption = Annotated[str | None, typer.Option(metavar="[USER@]HOST", help="--on hosts: where flows start")]
ReceiverOption = Annotated[str | None, typer.Option(metavar="[USER@]HOST", help="--on hosts: where flows end")]
SenderAddressOption = Annotated[
    str | None, typer.Option(metavar="IP", help="of the path to measure; default: as the sender's routes say")
]
ReceiverAddressOption = Annotated[
    str | None, typer.Option(metavar="IP", help="of the path to measure; default: where ssh came in")
]
TrafficOption = Annotated[Literal["iperf3", "flowgen"], typer.Option(help="--on hosts: what makes flows")]
NetemOption = Annotated[
    Literal["sender", "receiver", "none"],
    typer.Option(help="--on hosts: where the scenario's links are emulated; none: the real path is measured"),
]
SshOption = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="--on hosts: as ssh -o; repeatable")]


@app.command("kernel")
def kernel_command(
    patched: Annotated[bool, typer.Option(help="with the Santa Cruz option (santacruz_opt.patch)")] = False,
    debug: Annotated[bool, typer.Option(help="with KASAN and UBSAN; several times slower")] = False,
) -> None:
    """Build the User-Mode Linux kernel, the modules for it and the traffic tools; nothing is built twice."""
    begun = time.monotonic()
    k = kernel.kernel(err, patched, debug)
    directory = kernel.modules(err, k)
    kernel.tools(err)
    print(f"kernel   {k.executable}\nmodules  {directory}\nready in {time.monotonic() - begun:.1f} s")


@app.command("run")
def run_command(
    scenarios: ScenariosArgument,
    cc: CcOption = None,
    seed: Annotated[list[int] | None, typer.Option(metavar="N", help="seed; repeatable")] = None,
    seeds: Annotated[int | None, typer.Option(metavar="K", help="seeds 1 to K")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="override a scenario value, e.g. duration_s=10; repeatable"),
    ] = None,
    on: Annotated[
        Literal["virtual", "vm", "host", "hosts"],
        typer.Option(help="User-Mode Linux, Debian's kernel under QEMU (docs/vm.md), here, two hosts (docs/hosts.md)"),
    ] = "virtual",
    kernel_: Annotated[Literal["6.12", "6.1"], typer.Option("--kernel", help="of --on vm")] = "6.12",
    clock: Annotated[
        Literal["icount", "real"], typer.Option(help="of --on vm: instructions executed; this machine's (only if idle)")
    ] = "icount",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="results; default build/results/TIME")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object per run on stdout")] = False,
    patched: Annotated[
        bool | None,
        typer.Option(help="kernel with the Santa Cruz option; default: if a scenario sets its sysctl"),
    ] = None,
    machines: Annotated[int | None, typer.Option(min=1, max=64, help="virtual machines side by side")] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="what santacruz saw and decided: trace.parquet, trace.png per run")
    ] = False,
    sender: SenderOption = None,
    receiver: ReceiverOption = None,
    sender_address: SenderAddressOption = None,
    receiver_address: ReceiverAddressOption = None,
    traffic: TrafficOption = "iperf3",
    netem: NetemOption = "none",
    ssh_option: SshOption = None,
) -> None:
    """Run each congestion control over each scenario and seed."""
    two = options.options(on, sender, receiver, sender_address, receiver_address, traffic, netem, ssh_option)
    loaded = [s for name in scenarios for s in files.load(name, set_)]
    if patched is None:
        patched = any(point.scenario.needs_option for point in loaded)
    variants = [jobs.parse_cc(text) for text in cc or []]
    planned = jobs.make(loaded, variants, jobs.parse_seeds(seed or [], seeds), trace)
    planned = [options.fit(job, two) for job in planned] if two else planned
    directory = out or BUILD / "results" / time.strftime("%Y%m%d-%H%M%S")
    rows: list[RunResult] = []

    def report(result: RunResult) -> None:
        rows.append(result)
        if as_json:
            print(json.dumps(asdict(result)), flush=True)

    places = {"virtual": virtual(machines), "vm": emulated(kernel_, clock, machines), "host": this_machine}
    campaign = carry_out(planned, two_hosts(two) if two else places[on], directory, report, patched)
    if not as_json and rows:
        show_results(in_order(rows, planned))
    err.print(f"results in {directory}" if rows else "no results")
    fail_on(campaign)


@app.command("claims")
def claims_command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="how their ids begin; all")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="results; default build/claims")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object per claim on stdout")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="the table of docs/claims.md on stdout")] = False,
    list_: Annotated[bool, typer.Option("--list", help="what each needs and costs; nothing is run")] = False,
    machines: Annotated[int | None, typer.Option(min=1, max=64, help="virtual machines side by side")] = None,
) -> None:
    """Evaluate the papers' claims: paper, ours by each source of the forward delay, verdict.

    Status 1 if one fails without a known cause, or holds although a cause is named.
    """
    from hetlab.claims import evaluate
    from hetlab.claims.evidence import Evidence, plan

    chosen = evaluate.select(ids or [])
    if list_:
        show(claims_list(chosen))
        return
    evidence = Evidence(out or BUILD / "claims")
    planned = plan((need for c in chosen for need in c.needs), evidence)
    campaign = carry_out(planned, virtual(machines), evidence.out, evidence.add)
    evidence.points = play(list(dict.fromkeys(path for c in chosen for path in c.scripts)))
    judged = evaluate.judge(chosen, evidence)
    if as_json or as_markdown:
        for j in judged:
            print(j.as_json() if as_json else j.as_markdown())
    else:
        show(claims_table(judged))
    fail_on(campaign)
    if not all(j.good for j in judged):
        raise typer.Exit(1)


@app.command("figures")
def figures_command(
    directory: Annotated[Path | None, typer.Argument(metavar="DIR", help="default build/figures")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="how their names begin, e.g. hybla-; repeatable; default: all"),
    ] = None,
    machines: Annotated[int | None, typer.Option(min=1, max=64, help="virtual machines side by side")] = None,
) -> None:
    """Figures and tables of the papers from our runs: PNGs and Markdown; the runs in build/claims."""
    from hetlab.claims.evidence import Evidence, plan
    from hetlab.figures import outputs

    out = directory or BUILD / "figures"
    chosen = outputs.select(only or [])
    evidence = Evidence(BUILD / "claims")
    planned = plan(outputs.needs(chosen), evidence)
    fail_on(carry_out(planned, virtual(machines), evidence.out, evidence.add))
    for path in outputs.write(out, evidence, chosen):
        print(path)


def play(scripts: list[Path]) -> dict[tuple[bool, str, int], bool]:
    """Packet scripts on both kernels: (patched, script, IP version) to whether it held."""
    from hetlab.packet import host

    host.check(scripts)
    found: dict[tuple[bool, str, int], bool] = {}
    for patched in (False, True) if scripts else ():
        k = kernel.kernel(err, patched)
        points = host.play(k.executable, kernel.modules(err, k), scripts)
        found |= {(patched, *key): held for key, (held, _said) in points.items()}
    return found


@app.command("exec", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def exec_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="what to run, after --")],
    patched: Annotated[bool, typer.Option(help="kernel with the Santa Cruz option")] = False,
    debug: Annotated[bool, typer.Option(help="kernel with KASAN and UBSAN")] = False,
    on: Annotated[Literal["virtual", "vm"], typer.Option(help="User-Mode Linux, or Debian's kernel")] = "virtual",
    kernel_: Annotated[Literal["6.12", "6.1"], typer.Option("--kernel", help="of --on vm")] = "6.12",
    clock: Annotated[Literal["icount", "real"], typer.Option(help="of --on vm, see hetlab run")] = "icount",
    environment: Annotated[
        bool, typer.Option("--environment", help="--on vm: with the Python environment, for scripts that plot")
    ] = False,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=VALUE]", help="environment variable for the command, by default yours; repeatable"),
    ] = None,
    wall_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, max=86_400, help="stop the command after this much real time")
    ] = 600,
) -> None:
    """Run any command inside the virtual-time kernel, modules loaded, as root of it.

    Output and exit status are the command's; 124 if it was stopped at the limit. With --on vm it runs on a copy of
    the source tree, and its output comes at the end. Of your environment it sees HOME, TERM (--on vm: neither) and
    what --env names; PATH, SHELL, USER and a few others are set for the machine.
    """
    named = variables.told(env or [])
    if on == "vm":
        from hetlab.machines import exec_qemu

        if patched or debug:
            raise LabError("exec --on vm: Debian's kernels are neither --patched nor --debug")
        libraries = qemu_files.environment(err) if environment else None
        raise typer.Exit(
            exec_qemu.execute(qemu_files.stock(err, kernel_), clock, command, wall_limit, libraries, named)
        )
    from hetlab.machines.exec_uml import execute

    k = kernel.kernel(err, patched, debug)
    modules = kernel.modules(err, k)
    kernel.tools(err)
    raise typer.Exit(execute(k.executable, modules, command, wall_limit, variables=named))


@app.command("packet")
def packet_command(
    scripts: Annotated[list[Path], typer.Argument(metavar="SCRIPT.pkt...", help="packet scripts, see tests/README")],
    patched: Annotated[bool, typer.Option(help="kernel with the Santa Cruz option")] = False,
    debug: Annotated[bool, typer.Option(help="kernel with KASAN and UBSAN")] = False,
    ip: Annotated[Literal["4", "6"] | None, typer.Option(help="one IP version; default: both")] = None,
    pcap_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="record SCRIPT-ipvN.pcap there, times since the script began")
    ] = None,
    verbose: Annotated[bool, typer.Option(help="print every packet in the notation of scripts")] = False,
    wall_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, max=86_400, help="stop after this much real time")
    ] = 600,
) -> None:
    """Play packet scripts against the kernel's TCP: all in one machine, in order, TAP on stdout."""
    from hetlab.machines.exec_uml import execute
    from hetlab.packet import host

    host.check(scripts)
    k = kernel.kernel(err, patched, debug)
    modules = kernel.modules(err, k)
    kernel.tools(err)
    raise typer.Exit(execute(k.executable, modules, host.command(scripts, ip, pcap_dir, verbose), wall_limit))


@app.command("list")
def list_command() -> None:
    """Scenarios and their variants, with what they model."""
    show(scenarios_table())


@app.command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="results of hetlab run")],
    title: Annotated[str, typer.Option(help="heading")] = "hetlab report",
    output: Annotated[Path | None, typer.Option(help="HTML file; default DIR/report.html")] = None,
) -> None:
    """HTML page with tables and plots of a result directory; PNGs beside it."""
    from hetlab.report.page import write_report

    if not directory.is_dir():
        raise LabError(f"{directory}: no such directory")
    path = write_report(directory, output or directory / "report.html", title)
    print(path)


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    """Exit through the handlers that stop machines."""
    sys.exit(128 + number)


def main() -> None:
    """Console entry point: a LabError is a message and exit status 2."""
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
