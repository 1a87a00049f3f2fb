# SPDX-License-Identifier: GPL-2.0
"""Build what runs in a machine beside its kernel: traffic tools, its first process, BPF programs."""

import compileall
import os
import shutil
from pathlib import Path

from rich.console import Console

from hetlab.build import packed
from hetlab.build.kernel import locked, run
from hetlab.errors import LabError
from hetlab.paths import BIN, BUILD, LAB, LINK_PROGRAM, TOP, skew_object


def tools(console: Console) -> Path:
    """flowgen, hetprobe, hetreplay and hetinit; make decides whether there is anything to do; a pack has them.

    Python leaves no byte code in a machine, and no host imports what runs there: without it each machine would compile
    that again, for a tenth of a second.
    """
    compileall.compile_dir(LAB / "hetlab" / "emulation", quiet=2)
    if packed.manifest():
        return BIN
    BIN.mkdir(parents=True, exist_ok=True)
    with locked(BIN):
        run(["make", "-s", "-C", str(TOP / "tools" / "flowgen"), f"O={BIN}"], BUILD / "flowgen.log", "building flowgen")
    return BIN


def static_flowgen(machine: str) -> Path:
    """flowgen without shared libraries, for other hosts of this architecture."""
    if machine != os.uname().machine:
        raise LabError(f"flowgen is built for {os.uname().machine}, not for {machine}: use --traffic iperf3")
    path = BIN / "static" / "flowgen"
    with locked(BIN):
        make = ["make", "-s", "-C", str(TOP / "tools" / "flowgen"), f"O={path.parent}", "LDFLAGS=-static -s", str(path)]
        run(make, BUILD / "flowgen.log", "building a static flowgen")
    return path


def skew_objects(clocks: set[tuple[float, float, bool]]) -> None:
    """BPF programs for hosts whose clocks are not true, one for each skew (ppm), offset (s) and whether it stands."""
    for ppm, offset_s, stands in sorted(clocks):
        told = [f"-DSKEW_PPB={round(ppm * 1000)}", f"-DOFFSET_US={round(offset_s * 1e6)}LL", f"-DSTANDS={stands:d}"]
        _bpf("skew.c", skew_object(ppm, offset_s, stands), "skew_ppm, offset_s or stands of a clock", told)


def link_program() -> None:
    """The BPF program of links with a policer, ECN bleaching or a black hole."""
    _bpf("link.c", LINK_PROGRAM, "a policer, ecn_bleach or blackhole_above_bytes of a link", [])


def have_clang() -> bool:
    """Whether BPF programs can be compiled."""
    return bool(shutil.which("clang"))


def _bpf(source_name: str, name: str, what: str, told: list[str]) -> None:
    """Compile a program of tools/bpf unless it is there; LabError saying ``what`` needs it."""
    source, out = TOP / "tools" / "bpf" / source_name, BIN / name
    if packed.manifest() and out.exists():
        return
    if not have_clang():
        raise LabError(f"{what} needs clang: run tools/setup.sh --check (as root) or install it")
    with locked(BIN):
        if out.exists() and out.stat().st_mtime >= source.stat().st_mtime:
            return
        args = ["clang", "-O2", "-g", "-target", "bpf", "-Wall", "-Wextra", "-Werror"]
        args += [f"-I/usr/include/{os.uname().machine}-linux-gnu", *told]
        run([*args, "-c", str(source), "-o", str(out)], BUILD / f"{source.stem}-bpf.log", f"building {out.name}")
