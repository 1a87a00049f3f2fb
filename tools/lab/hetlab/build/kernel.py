# SPDX-License-Identifier: GPL-2.0
"""Build the virtual-time kernel and the modules for it, cached by their inputs."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from hetlab.build import packed
from hetlab.errors import LabError
from hetlab.paths import BUILD, KERNEL_DIR, TOP

SERIES = "6.12"
TARBALL = Path(f"/usr/src/linux-source-{SERIES}.tar.xz")
OPTION_PATCH = TOP / "santacruz_opt.patch"
# Lines that make prints for a whole build; only the progress bar depends on it
BUILD_STEPS = {"um": 1800, "x86_64": 2150}
TARGETS = {"um": ["linux", "modules"], "x86_64": ["bzImage", "modules"]}
PATCHED_FILE = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.M)
ADDED_CONTROL = re.compile(r"^\+config (TCP_CONG_\w+)", re.M)
# Of modules: so that messages about the kernel's headers have whole paths
ABSOLUTE = "KBUILD_ABS_SRCTREE=1"
COMPILERS = re.compile(r"^\s+(CC|AS|AR|LD|HOSTCC|GEN)\b")


@dataclass(frozen=True)
class Kernel:
    """A built kernel: source tree, build tree, executable, identity."""

    source: Path
    out: Path
    key: str

    @property
    def executable(self) -> Path:
        """The kernel as a program."""
        return self.out / "linux"


def digest(*parts: bytes) -> str:
    """Short hash of everything a build depends on."""
    h = hashlib.sha256()
    for part in parts:
        h.update(len(part).to_bytes(8, "little") + part)
    return h.hexdigest()[:16]


def files_digest(paths: list[Path], *more: bytes) -> str:
    """Short hash of files (names and contents) and other inputs."""
    parts = [p for path in paths for p in (path.name.encode(), path.read_bytes())]
    return digest(*parts, *more)


def module_sources() -> list[Path]:
    """Everything the modules are built from."""
    return [TOP / "Kbuild", *sorted(TOP.glob("tcp_*.c")), *sorted((TOP / "include" / "hetcc").glob("*.h"))]


def module_names() -> list[str]:
    """Names of this tree's modules."""
    return [path.stem for path in module_sources() if path.suffix == ".c"]


def qdisc_sources() -> list[Path]:
    """Everything the qdisc of trace links is built from; its Kbuild adds to the modules' own."""
    directory = TOP / "tools" / "qdisc"
    return [directory / "Kbuild", *sorted(directory.glob("*.[ch]"))]


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """One builder at a time."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(args: list[str], log: Path, what: str) -> None:
    """Run a build step; its output goes to a log whose end is shown on failure."""
    with open(log, "a") as out:
        code = subprocess.run(args, stdout=out, stderr=subprocess.STDOUT, check=False, env=_env()).returncode
    if code:
        raise LabError(f"{what} failed; {log}:\n{_tail(log)}")


def _env() -> dict[str, str]:
    """A caller's make must not leak into ours."""
    drop = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "KBUILD_OUTPUT", "ARCH")
    return {k: v for k, v in os.environ.items() if k not in drop} | {"LC_ALL": "C"}


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def _inputs(patched: bool, debug: bool, own: Sequence[Path] = ()) -> tuple[list[Path], list[Path]]:
    """Patches and configuration fragments of a variant; ``own``: patches of the user's."""
    patches = sorted((KERNEL_DIR / "patches").glob("*.patch"))
    if patched:
        if not OPTION_PATCH.is_file():
            raise LabError("--patched: this tree has no santacruz_opt.patch")
        patches.append(OPTION_PATCH)
    names = ["lab.config", *(["santacruz.config"] if patched else []), *(["debug.config"] if debug else [])]
    return [*patches, *own], [*(KERNEL_DIR / "config" / name for name in names), *_switched_on(own)]


def _switched_on(own: Sequence[Path]) -> list[Path]:
    """A configuration fragment with the congestion controls that patches of the user's add; LabError for no patch."""
    found: list[str] = []
    for patch in own:
        try:
            text = patch.read_text(errors="replace")
        except OSError as err:
            raise LabError(f"--patch {patch}: {err.strerror or err}") from err
        if not PATCHED_FILE.search(text):
            raise LabError(f"--patch {patch}: no patch: it has no line '+++ FILE'")
        found += [f"CONFIG_{name}=y\n" for name in ADDED_CONTROL.findall(text)]
    if not found:
        return []
    fragment = BUILD / "kernel" / f"own-{digest(*(line.encode() for line in found))}.config"
    fragment.parent.mkdir(parents=True, exist_ok=True)
    fragment.write_text("".join(found))
    return [fragment]


def source_version() -> str:
    """Version of Debian's source package."""
    if not TARBALL.is_file():
        raise LabError(f"{TARBALL} is missing: run 'make setup' (as root) or install linux-source-{SERIES}")
    out = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", f"linux-source-{SERIES}"], capture_output=True, text=True, check=False
    )
    return out.stdout.strip() or str(TARBALL.stat().st_size)


def compiler() -> bytes:
    """What the compiler says of itself."""
    return subprocess.run(["gcc", "--version"], capture_output=True, check=False).stdout.split(b"\n")[0]


def cached_compiler() -> list[str]:
    """An argument for the kernel's make where ccache is installed: what was compiled in any build tree is taken."""
    return ["CC=ccache gcc"] if shutil.which("ccache") else []


def _wanted(patches: list[Path], configs: list[Path]) -> Kernel:
    """Where the lab's kernel of these patches and fragments is, or will be."""
    source_key = files_digest(patches, source_version().encode())
    key = files_digest(configs, source_key.encode(), compiler())
    root = BUILD / "kernel"
    source = root / f"src-{source_key}"
    # Below the source, the kernel's build names every file relative to there: see reuse()
    return Kernel(source, source / f"um-{key}", key)


def _of_pack(has: dict[str, str]) -> Kernel:
    """A kernel that came with a pack."""
    source = BUILD / "kernel" / has["source"]
    return Kernel(source, source / has["out"], has["key"])


def built(patched: bool = False) -> Kernel | None:
    """The lab's kernel; None where it is not built yet."""
    if has := packed.kernel(patched, other=False):
        return _of_pack(has)
    k = _wanted(*_inputs(patched, debug=False))
    return k if complete(k.source, "Makefile") and complete(k.out, "linux") else None


def kernel(console: Console, patched: bool = False, debug: bool = False, own: Sequence[Path] = ()) -> Kernel:
    """The lab's kernel, built if it is not there yet; ``debug`` has KASAN and UBSAN, ``own``: patches of the user's."""
    if has := packed.kernel(patched, other=debug or bool(own)):
        return _of_pack(has)
    patches, configs = _inputs(patched, debug, own)
    k = _wanted(patches, configs)
    plain, fragments = _inputs(False, False)
    more = patches[len(plain) :]

    def make() -> None:
        begun = bool(more) and not debug and reuse(_wanted(plain, fragments), k, more)
        build(console, k, "um", "x86_64_defconfig", configs, begun=begun, slim=bool(more) or debug)

    return ensure(console, k, patches, "linux", make)


def ensure(console: Console, k: Kernel, patches: list[Path], image: str, make: Callable[[], None]) -> Kernel:
    """The kernel, unpacked and built where it is not there; ``image``: the file in its build tree that is booted."""
    if complete(k.source, "Makefile") and complete(k.out, image):
        return k
    with locked(k.source.parent):
        if not complete(k.out, image):
            console.print(f"building a kernel, once: minutes, 2 GB in {k.source.parent}", soft_wrap=True)
        if not complete(k.source, "Makefile"):
            unpack(console, k.source, patches)
        if not complete(k.out, image):
            make()
    return k


def complete(directory: Path, *files: str) -> bool:
    """Whether a build is there: its stamp and these files. A stamp alone proves nothing."""
    return all((directory / name).exists() for name in (".complete", *files))


def unpack(console: Console, source: Path, patches: list[Path], tarball: Path | None = None) -> None:
    """Unpack the source (None: that of the lab's series) and apply the patches; complete or not at all."""
    tarball = tarball or TARBALL
    console.print(f"unpacking {tarball.name} and applying {len(patches)} patches")
    log = source.with_suffix(".log")
    log.unlink(missing_ok=True)
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    run(["tar", "xf", str(tarball), "-C", str(source), "--strip-components=1"], log, "unpacking")
    for patch in patches:
        # Patches of others are for other releases, too
        fuzz = 0 if patch.is_relative_to(TOP) else 2
        how = ["-p1", f"--fuzz={fuzz}", "-i", str(patch.resolve())]
        run(["patch", "-d", str(source), *how], log, f"applying {patch.name}")
    made = tarball.stat().st_mtime
    for file in (file for patch in patches for file in _patched(source, patch)):
        os.utime(file, (made, made))  # what is compiled from it is newer, also in another tree: see reuse()
    (source / ".complete").touch()


def _patched(source: Path, patch: Path) -> list[Path]:
    """Files of a source tree that a patch changes or adds."""
    names = PATCHED_FILE.findall(patch.read_text(errors="replace"))
    found = (source / name for name in names if not name.startswith("/"))  # /dev/null: a file that is removed
    return [file for file in found if file.exists()]


def reuse(base: Kernel, k: Kernel, more: Sequence[Path]) -> bool:
    """Begin a build with the objects of a built kernel that lacks the patches in ``more``.

    The kernel's make compiles again what depends on a file that is newer than its object: those of ``more``, which
    are touched, and what the configuration switches on. False where the other kernel is not built.
    """
    if not complete(base.out, "linux"):
        return False
    shutil.rmtree(k.out, ignore_errors=True)
    run(["cp", "-a", str(base.out), str(k.out)], k.out.with_suffix(".log"), "copying objects")
    (k.out / ".complete").unlink()
    for file in (file for patch in more for file in _patched(k.source, patch)):
        file.touch()
    return True


def build(
    console: Console,
    k: Kernel,
    arch: str,
    base: str,
    configs: list[Path],
    *,
    begun: bool = False,
    slim: bool = True,
) -> None:
    """Configure (fragments over a base configuration) and compile, with a progress bar.

    ``begun``: with objects that are there, see reuse(); ``slim``: without those that nobody reuses.
    """
    log = k.out.with_suffix(".log")
    log.unlink(missing_ok=True)
    if not begun:
        shutil.rmtree(k.out, ignore_errors=True)
        k.out.mkdir(parents=True)
    make = ["make", "-C", str(k.source), f"ARCH={arch}", f"O={k.out}", *cached_compiler()]
    run([*make, base], log, "configuring")
    merge = [str(k.source / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(k.out), str(k.out / ".config")]
    run(merge + [str(c) for c in configs], log, "merging the configuration")
    run([*make, "olddefconfig"], log, "configuring")
    _check_config(k.out / ".config", configs)
    _compile(console, [*make, f"-j{os.cpu_count()}", *TARGETS[arch]], log, BUILD_STEPS[arch])
    if slim:
        _slim(k.out)
    (k.out / ".complete").touch()


def _check_config(config: Path, fragments: list[Path]) -> None:
    """Every option that the fragments switch on must have survived; the last word on an option counts."""
    have = set(config.read_text().splitlines())
    said: dict[str, str] = {}
    for line in (text.strip() for f in fragments for text in f.read_text().splitlines()):
        if match := re.match(r"(?:# )?(CONFIG_\w+)(?:=[ym\d\"]| is not set)", line):
            said[match[1]] = line
    lost = [line for line in said.values() if not line.startswith("#") and line not in have]
    if lost:
        raise LabError(f"kernel configuration: these options did not survive: {', '.join(lost)}")


def _compile(console: Console, args: list[str], log: Path, steps: int) -> None:
    label, count = TextColumn("building the kernel"), TextColumn("{task.completed} steps")
    columns = (label, BarColumn(), count, TimeElapsedColumn())
    done = 0
    with (
        open(log, "a") as out,
        Progress(*columns, console=console, transient=True) as bar,
        subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_env()) as proc,
    ):
        task = bar.add_task("", total=steps)
        assert proc.stdout
        for line in proc.stdout:
            out.write(line)
            if COMPILERS.match(line):
                done += 1
                bar.advance(task)
                if not console.is_terminal and done % 500 == 0:
                    console.print(f"building the kernel: {done} of about {steps} steps")
    if proc.returncode:
        raise LabError(f"the kernel does not build; {log}:\n{_tail(log)}")


def _slim(out: Path) -> None:
    """Object files are not needed any more; what modules build against stays."""
    keep = {"scripts", "tools"}
    for path in out.rglob("*.o"):
        if path.relative_to(out).parts[0] not in keep and path.name not in ("module.lds.o", "module-common.o"):
            path.unlink()
    for path in out.rglob("*.a"):
        path.unlink()


def modules(console: Console, k: Kernel, arch: str = "um", instead: Sequence[Path] = ()) -> Path:
    """Directory with our modules built for a kernel; files of ``instead`` stand for those of the same names."""
    if (has := packed.module_directory(k.key, bool(instead))) and arch == "um":
        return has
    other = {path.name: path for path in instead}
    known = [f"{name}.c" for name in module_names()]
    if unknown := sorted(set(other) - set(known)):
        raise LabError(
            f"{', '.join(unknown)}: not the name of one of this tree's modules, which are: {', '.join(known)}"
        )
    sources = [*(other.get(path.name, path) for path in module_sources()), *qdisc_sources()]
    key = files_digest(sources, k.key.encode())
    directory = BUILD / "modules" / f"{arch}-{key}"
    with locked(BUILD / "modules"):
        if complete(directory, *(f"{path.stem}.ko" for path in sources if path.suffix == ".c")):
            return directory
        console.print("building the modules")
        shutil.rmtree(directory, ignore_errors=True)
        stage(directory)
        for name, path in other.items():
            shutil.copy(path, directory / name)
        compile_module(k, directory, arch)
        (directory / ".complete").touch()
    return directory


def stage(directory: Path) -> None:
    """What the modules and the qdisc are built from, in one directory with one Kbuild."""
    (directory / "include" / "hetcc").mkdir(parents=True)
    for path in module_sources():
        shutil.copy(path, directory / path.relative_to(TOP))
    stage_qdisc(directory)


def stage_qdisc(directory: Path) -> None:
    """The qdisc's sources; its Kbuild behind one that is there."""
    kbuild, *sources = qdisc_sources()
    with open(directory / "Kbuild", "ab") as out:
        out.write(kbuild.read_bytes())
    for path in sources:
        shutil.copy(path, directory)


def compile_module(k: Kernel, directory: Path, arch: str) -> None:
    """Run a kernel's make over a directory with a Kbuild file."""
    make = ["make", "-C", str(k.source), f"ARCH={arch}", f"O={k.out}", f"M={directory}", ABSOLUTE, "W=1", "modules"]
    run(make, directory.with_suffix(".log"), "building the modules")
