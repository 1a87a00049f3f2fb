# SPDX-License-Identifier: GPL-2.0
"""Arguments and options of hetlab's commands, with their help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from hetlab.ported.kernel import Series

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
        metavar="NAME[@PRESET][:param=value,...]",
        help="congestion control, or a .c file of your own (docs/candidates.md); repeatable; default: the scenario's",
    ),
]
SeedOption = Annotated[list[int] | None, typer.Option(metavar="N", help="seed; repeatable")]
SeedsOption = Annotated[int | None, typer.Option(metavar="K", help="seeds 1 to K")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="override a scenario value, e.g. duration_s=10; repeatable"),
]
OnOption = Annotated[
    Literal["virtual", "vm", "host", "hosts"],
    typer.Option(help="User-Mode Linux, Debian's kernel under QEMU (docs/vm.md), here, two hosts (docs/hosts.md)"),
]
KernelOption = Annotated[Literal["6.12", "6.1"], typer.Option("--kernel", help="of --on vm")]
SeriesOption = Annotated[
    Series, typer.Option("--series", help="Linux of the lab's kernel; built on first use (docs/series.md)")
]
ClockOption = Annotated[
    Literal["icount", "real"], typer.Option(help="of --on vm: instructions executed; this machine's (only if idle)")
]
OutOption = Annotated[Path | None, typer.Option(metavar="DIR", help="results; default build/results/TIME")]
JsonOption = Annotated[bool, typer.Option("--json", help="one JSON object per run on stdout")]
PatchedOption = Annotated[
    bool | None, typer.Option(help="kernel with the Santa Cruz option; default: if a scenario sets its sysctl")
]
PatchOption = Annotated[
    list[Path] | None,
    typer.Option("--patch", metavar="FILE", help="patch to the lab's kernel, which is built for it; repeatable"),
]
MachinesOption = Annotated[int | None, typer.Option(min=1, max=64, help="virtual machines side by side")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="what would be run, and about how long it takes; nothing is run")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="take the runs that are in --out already, if nothing has changed since")
]
TraceOption = Annotated[
    bool, typer.Option("--trace", help="what santacruz saw and decided: trace.parquet, trace.png per run")
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
AgainOption = Annotated[
    bool,
    typer.Option(
        "--again", help="run all; default: what an earlier command left is taken, if nothing has changed since"
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URL",
        envvar="HETLAB_STORE",
        help="where all runs are kept by content (docs/cluster.md); none: nowhere; default: build/store",
    ),
]
VerifyOption = Annotated[
    float,
    typer.Option(
        metavar="PERCENT", min=0, max=100, help="of the runs that are taken: run again, and compare the bytes"
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        envvar="HETLAB_CLUSTER",
        help="local (default), a Dask scheduler's ADDRESS, slurm[:JOBS], pbs[:JOBS], ssh:A,B (docs/cluster.md)",
    ),
]
EachOption = Annotated[
    bool, typer.Option("--each", help="a line for each run; default: means over the seeds, ± half their 95 % interval")
]
Format = StrEnum("Format", ["png", "svg", "pdf"])
FormatOption = Annotated[
    list[Format] | None, typer.Option("--format", metavar="png|svg|pdf", help="of pictures; repeatable; default: png")
]
SshOption = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="--on hosts: as ssh -o; repeatable")]
