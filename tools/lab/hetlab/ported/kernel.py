# SPDX-License-Identifier: GPL-2.0
"""Build the virtual-time kernel of a series: 6.12 by hetlab.build, others from Debian's source of that series.

Of these the lab's own patches and santacruz_opt.patch are carried over by tools/kernel/rebase.py. Kernels lie beside
those of 6.12, each under a hash of all that it is made of.
"""

import functools
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from rich.console import Console

from hetlab.build import kernel as own
from hetlab.build import packed
from hetlab.build.kernel import Kernel, complete, files_digest, run
from hetlab.errors import LabError
from hetlab.paths import BUILD, KERNEL_DIR, TOP

Series = Literal["6.1", "6.12", "7.2"]
SERIES: tuple[Series, ...] = get_args(Series)
DEFAULT: Series = "6.12"
REBASE = KERNEL_DIR / "rebase.py"


def kernel(
    console: Console, series: str, patched: bool = False, debug: bool = False, patches: Sequence[Path] = ()
) -> Kernel:
    """The lab's kernel of a series, built if it is not there yet; ``debug``, ``patches``: as of hetlab.build.kernel."""
    if series == DEFAULT:
        return own.kernel(console, patched, debug, patches)
    _only_own(series, patches)
    packed.kernel(patched, other=True)
    k = wanted(series, patched, debug)
    if there(k):
        return k
    with own.locked(k.source.parent):
        if not there(k):
            console.print(f"building Linux {series}, once: minutes, 2 GB in {k.source.parent}", soft_wrap=True)
            _make(console, k, series, patched, debug)
    return k


def built(series: str, patched: bool = False) -> Kernel | None:
    """The lab's kernel of a series; None where it is not built yet."""
    if series == DEFAULT:
        return own.built(patched)
    packed.kernel(patched, other=True)
    k = wanted(series, patched)
    return k if there(k) else None


def there(k: Kernel) -> bool:
    """Whether a kernel is built."""
    return complete(k.source, "Makefile") and complete(k.out, "linux")


def _only_own(series: str, patches: Sequence[Path]) -> None:
    if patches:
        raise LabError(f"--series {series}: --patch is for {DEFAULT} alone")


def wanted(series: str, patched: bool, debug: bool = False) -> Kernel:
    """Where the kernel of a series is, or will be."""
    stat = tarball(series).stat()
    base = own.source_version().encode()
    source_key = files_digest(_inputs(series, patched), f"{series} {stat.st_size} {stat.st_mtime_ns}".encode(), base)
    key = files_digest(_configs(series, patched, debug), source_key.encode(), own.compiler())
    source = BUILD / "kernel" / f"src-{source_key}"
    return Kernel(source, source / f"um-{key}", key)


def _inputs(series: str, patched: bool) -> list[Path]:
    """Files that the source tree is made of, beside Debian's."""
    rest = KERNEL_DIR / "rebase"
    lab = [*sorted((KERNEL_DIR / "patches").glob("*.patch")), REBASE, rest / f"lab-{series}.patch"]
    return [*lab, own.OPTION_PATCH, rest / f"{series}.patch"] if patched else lab


def _configs(series: str, patched: bool, debug: bool) -> list[Path]:
    """Configuration fragments; the series' own, behind the lab's, switch off what it does not have."""
    names = ["lab", series, *["santacruz"] * patched, *["debug", f"{series}-debug"] * debug]
    return [path for name in names if (path := KERNEL_DIR / "config" / f"{name}.config").exists()]


@functools.cache
def tarball(series: str) -> Path:
    """Debian's source of a series, downloaded on first use."""
    script = TOP / "tools" / "ci" / "kernel_source.sh"
    done = subprocess.run([script, series], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise LabError(f"--series {series}: there is no source of it (see above)")
    return Path(done.stdout.strip())


def _make(console: Console, k: Kernel, series: str, patched: bool, debug: bool) -> None:
    """Unpack and build. A patched kernel begins with the objects of the one without the patch."""
    if not complete(k.source, "Makefile"):
        _unpack(console, k.source, series, patched)
    begun = patched and not debug and own.reuse(wanted(series, patched=False), k, [_option(series)])
    configs = _configs(series, patched, debug)
    own.build(console, k, "um", "x86_64_defconfig", configs, begun=begun, slim=patched or debug)


def _option(series: str) -> Path:
    """Where rebase.py leaves santacruz_opt.patch."""
    return BUILD / f"santacruz_opt-{series}.patch"


def _unpack(console: Console, source: Path, series: str, patched: bool) -> None:
    """Unpack the source with the carried-over patches."""
    log = source.with_suffix(".log")
    patches = {BUILD / f"lab-{series}.patch": ["--lab"]} | ({_option(series): []} if patched else {})
    for patch, words in patches.items():
        run([str(REBASE), series, *words], log, f"carrying over {patch.stem}")
    own.unpack(console, source, list(patches), tarball(series))
