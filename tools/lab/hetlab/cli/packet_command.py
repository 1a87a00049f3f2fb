# SPDX-License-Identifier: GPL-2.0
"""hetlab packet: packet scripts against the kernel's TCP."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hetlab.build import kernel as build
from hetlab.build import programs
from hetlab.cli.arguments import SeriesOption
from hetlab.cli.campaigns import err
from hetlab.ported import kernel
from hetlab.ported.kernel import DEFAULT


def command(
    scripts: Annotated[list[Path], typer.Argument(metavar="SCRIPT.pkt...", help="packet scripts, see tests/README")],
    patched: Annotated[bool, typer.Option(help="kernel with the Santa Cruz option")] = False,
    debug: Annotated[bool, typer.Option(help="kernel with KASAN and UBSAN")] = False,
    series: SeriesOption = DEFAULT,
    ip: Annotated[Literal["4", "6"] | None, typer.Option(help="one IP version; default: both")] = None,
    pcap_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="record SCRIPT-ipvN.pcap there, times since the script began")
    ] = None,
    verbose: Annotated[bool, typer.Option(help="print every packet in the notation of scripts")] = False,
    packetdrill: Annotated[bool, typer.Option(help="by packetdrill's rules: the kernel's own scripts")] = False,
    sysctl: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="set for each script; repeatable")
    ] = None,
    wall_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, max=86_400, help="stop after this much real time")
    ] = 600,
) -> None:
    """Play packet scripts against the kernel's TCP: TAP on stdout.

    All in one machine, in order.
    """
    from hetlab.machines.exec_uml import execute
    from hetlab.packet import host

    host.check(scripts, packetdrill)
    k = kernel.kernel(err, series, patched, debug)
    modules = build.modules(err, k)
    programs.tools(err)
    words = host.command(scripts, ip, pcap_dir, verbose, packetdrill=packetdrill, sysctls=sysctl or ())
    raise typer.Exit(execute(k.executable, modules, words, wall_limit))
