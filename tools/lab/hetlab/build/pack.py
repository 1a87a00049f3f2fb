# SPDX-License-Identifier: GPL-2.0
"""The lab as one file: this tree, its kernels and modules, and all programs and libraries that a host may lack.

What is unpacked anywhere runs where it lies, without compiler, root, or packages: a host needs bash, mount, coreutils
and a C library that is not older than the one of the host where it was packed.
"""

import io
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

from hetlab.build import identity, kernel, packed
from hetlab.build.unpack import ROOT
from hetlab.errors import LabError
from hetlab.paths import BIN, BUILD, TOP, VENV

# Programs of the machines that Debian's smallest system lacks, or may lack
NEEDED = (
    "ip",
    "tc",
    "ethtool",
    "insmod",
    "rmmod",
    "modinfo",
    "ifconfig",
    "brctl",
    "mnexec",
    "ping",
    "iperf3",
    "taskset",
)
# Of the tree what runs need; documents for 'hetlab --help'
TREE = re.compile(
    r"(Kbuild|README|tcp_\w+\.c|santacruz_opt\.patch|include/.*|tools/.*|docs/commands\.md|tests/packet/.*)"
)
# What checks and builds, and what belongs to C libraries of their own
TOOLS_OF_CHECKS = (
    r"mypy|mypyc|ruff|pip|_?pytest|xdist|hypothesis|grimp|import_?linter|\w+__mypyc|__editable__|__pycache__"
)
LEFT_OUT = re.compile(rf"({TOOLS_OF_CHECKS})([.\-_].*)?")
STDLIB_LEFT_OUT = re.compile(r"test|tests|idlelib|tkinter|ensurepip|lib2to3|config-.*|__pycache__|sitecustomize\.py")
# The C library and its loader are the host's
OF_THE_HOST = re.compile(r"(ld-linux|libc|libm|libdl|libpthread|librt|libutil|libresolv|libnss_.*|linux-vdso)[.\-].*")
PYTHON = "python3.11"
# Of gzip: a third of the time of its default, 5 % larger
COMPRESSION = 3


def write(console: Console, file: Path) -> Path:
    """Make a pack of what is built; LabError where nothing is."""
    if packed.manifest():
        raise LabError("hetlab pack: this is a pack already; copy the file it came from")
    kernels = {name: k for name, patched in (("plain", False), ("patched", True)) if (k := kernel.built(patched))}
    if not kernels:
        raise LabError("hetlab pack: no kernel is built; run 'hetlab kernel', and 'hetlab kernel --patched' if needed")
    modules = {k.key: kernel.modules(console, k) for k in kernels.values()}
    manifest = {
        "commit": identity.commit(),
        "kernels": {n: {"source": k.source.name, "out": k.out.name, "key": k.key} for n, k in kernels.items()},
        "modules": {key: path.name for key, path in modules.items()},
    }
    draft = file.with_name(f".{file.name}.draft")
    try:
        with tarfile.open(draft, "w:gz", compresslevel=COMPRESSION) as tar:
            for path, name in _contents(kernels.values(), modules.values()):
                tar.add(path, f"{ROOT}/{name}", recursive=False)
            _text(tar, f"build/{packed.MANIFEST}", json.dumps(manifest, indent=1) + "\n")
            _text(tar, "build/venv/.requirements", "pack\n")
            _text(tar, "build/venv/pyvenv.cfg", "")
            _link(tar, "build/venv/bin/python", f"../../root/bin/{PYTHON}")
        draft.rename(file)
    finally:
        draft.unlink(missing_ok=True)
    return file


def _text(tar: tarfile.TarFile, name: str, text: str) -> None:
    info = tarfile.TarInfo(f"{ROOT}/{name}")
    info.size, info.mode = len(text.encode()), 0o644
    tar.addfile(info, io.BytesIO(text.encode()))


def _link(tar: tarfile.TarFile, name: str, to: str) -> None:
    info = tarfile.TarInfo(f"{ROOT}/{name}")
    info.type, info.linkname = tarfile.SYMTYPE, to
    tar.addfile(info)


def _contents(kernels: Iterable[kernel.Kernel], modules: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Every file and its name in the pack."""
    listed = subprocess.run(["git", "-C", str(TOP), "ls-files"], capture_output=True, text=True, check=True).stdout
    yield from ((TOP / name, name) for name in listed.splitlines() if TREE.fullmatch(name))
    for k in kernels:
        for path in (k.source / ".complete", *(k.out / n for n in (".complete", "linux", "modules.builtin.modinfo"))):
            yield path, f"build/{path.relative_to(BUILD)}"
    for directory in modules:
        for path in (directory / ".complete", *directory.glob("*.ko")):
            yield path, f"build/{path.relative_to(BUILD)}"
    yield from ((path, f"build/bin/{path.name}") for path in BIN.iterdir() if path.is_file())
    yield from _python()
    programs = [Path(found) for name in NEEDED if (found := shutil.which(name))]
    if missing := set(NEEDED) - {path.name for path in programs}:
        raise LabError(f"hetlab pack: {', '.join(sorted(missing))} not found: tools/setup.sh (as root) installs them")
    yield from ((path.resolve(), f"build/root/bin/{path.name}") for path in programs)
    yield from _libraries([*programs, *BIN.glob("[fh]*"), _interpreter(), *_stdlib().glob("lib-dynload/*.so")])


def _interpreter() -> Path:
    return (VENV / "bin" / "python").resolve()


def _stdlib() -> Path:
    return Path("/usr/lib") / PYTHON


def _python() -> Iterator[tuple[Path, str]]:
    """The interpreter, its library, the environment's packages, Mininet."""
    yield _interpreter(), f"build/root/bin/{PYTHON}"
    yield from _below(_stdlib(), f"build/root/lib/{PYTHON}", STDLIB_LEFT_OUT)
    site = f"build/venv/lib/{PYTHON}/site-packages"
    yield from _below(VENV / "lib" / PYTHON / "site-packages", site, LEFT_OUT)
    yield from _below(Path("/usr/lib/python3/dist-packages/mininet"), f"{site}/mininet", LEFT_OUT)


def _below(directory: Path, name: str, without: re.Pattern[str]) -> Iterator[tuple[Path, str]]:
    for path in sorted(directory.iterdir()):
        if without.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from _below(path, f"{name}/{path.name}", re.compile("__pycache__|tests?"))
        else:
            yield path, f"{name}/{path.name}"


def _libraries(of: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Shared libraries of programs, without the C library's."""
    said = subprocess.run(["ldd", *map(str, of)], capture_output=True, text=True, check=False).stdout
    found = dict(re.findall(r"^\s+(\S+) => (/\S+)", said, re.M))
    for name, path in sorted(found.items()):
        if not OF_THE_HOST.fullmatch(name):
            yield Path(path).resolve(), f"build/root/lib/{name}"
