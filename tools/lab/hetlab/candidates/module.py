# SPDX-License-Identifier: GPL-2.0
"""Compile a candidate against the lab's kernel, outside of the user's tree, and find what it registers."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from hetlab.build import kernel, programs
from hetlab.candidates import adapt, hints
from hetlab.candidates.sources import KBUILD, Sources
from hetlab.errors import LabError
from hetlab.machines import exec_uml, faults
from hetlab.paths import BUILD, TOP

# The kernel's own warnings are of no use to the author of another kernel's code; errors stay errors, but for those that
# compilers took for warnings in earlier kernels
FLAGS = "-g -Wno-error -Wno-error=return-type -Wno-error=strict-prototypes -Wno-error=date-time"
SHOWN_FAULTS = 12
LOAD_LIMIT_S = 30
NOT_IN_NAMES, CHARACTERS = re.compile(r"[^a-z0-9_]"), "a-z, 0-9, _"
TELL_ALL = "echo 7 > /proc/sys/kernel/printk"
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"


@dataclass(frozen=True)
class Module:
    """A loadable module of a candidate.

    ``name``: in the kernel; ``names``: of congestion controls that it registers; ``digest``: of its sources; ``top``:
    where these are; ``notes``: what was changed in the copy of them.
    """

    name: str
    ko: str
    names: tuple[str, ...]
    digest: str
    top: str
    notes: tuple[str, ...]


def module(console: Console, k: kernel.Kernel, s: Sources, taken: Collection[str] = ()) -> Module:
    """The module of a candidate, compiled and loaded once to see that it does; names in ``taken`` are changed.

    LabError with the compiler's words, file and line, or the kernel's, where it cannot be had.
    """
    files, notes, renamed = _copies(k, s, taken)
    built = _module_name(k, s)
    rules, text = _rules(s, built, files)
    files[rules] = text
    ours = (
        kernel.files_digest(kernel.module_sources()) if s.module in kernel.module_names() else ""
    )  # whose headers it may use
    key = kernel.digest(k.key.encode(), built.encode(), ours.encode(), json.dumps(files, sort_keys=True).encode())
    directory = BUILD / "candidates" / key
    known = directory / "module.json"
    with kernel.locked(BUILD / "candidates"):
        if not known.exists():
            console.print(f"building {s.module} from {s.top}")
            shutil.rmtree(directory, ignore_errors=True)
            notes += hints.no_value(_compile(k, s, built, files, directory), str(directory))
            ko = directory / f"{built}.ko"
            programs.tools(console)
            names = _registered(k, ko, s)
            notes += [_called(old, now) for old, now in renamed.items() if now in names]
            if built != s.module:
                notes.append(f"the kernel has a module {s.module} of its own: called {built} here")
            made = Module(built.replace("-", "_"), str(ko), names, s.digest, str(s.top), tuple(notes))
            known.write_text(json.dumps(asdict(made)))
    values = json.loads(known.read_text())
    return Module(**values | {"names": tuple(values["names"]), "notes": tuple(values["notes"])})


def _module_name(k: kernel.Kernel, s: Sources) -> str:
    """Name of the module: another than the file's where the kernel or this tree has one of that name."""
    known = {Path(line).stem for line in (k.out / "modules.builtin").read_text().splitlines()}
    return f"{s.module}_own" if s.module in known | set(kernel.module_names()) else s.module


def _rules(s: Sources, name: str, files: dict[str, str]) -> tuple[str, str]:
    """File and text of the rules for the kernel's build: the user's, this tree's for its modules, or none; and a name.

    What is added at the end makes this module alone, whatever condition the user's rules set (a CONFIG of a tree of
    theirs, a word on the command line), and gives it its name, of whatever objects it is made.
    """
    file = next((file for file in KBUILD if s.kbuild and file in files), KBUILD[0])
    text = files[file] if s.kbuild else ""
    if s.module in kernel.module_names() and not s.kbuild:
        text = (TOP / "Kbuild").read_text().replace("$(src)/include", f"{TOP}/include")
    text += f"\nobj-m := {name}.o\n"
    if name != s.module:
        text += f"{name}-y := $(or $(strip $({s.module}-y) $({s.module}-objs)),{s.module}.o)\n"
    return file, text


def _copies(k: kernel.Kernel, s: Sources, taken: Collection[str]) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """Texts to be compiled, what was changed in them, and other names of congestion controls, also of other modules."""
    texts = {str(file): (s.top / file).read_text(errors="surrogateescape") for file in s.files}
    if wrong := adapt.ill_named(texts):
        raise LabError(f"{s.top}/{wrong[0]}: a congestion control's must have 1 to {adapt.LONGEST}")
    texts, notes = adapt.adapt(texts, (k.source / "include" / "net" / "tcp.h").read_text())
    fitting = {name: NOT_IN_NAMES.sub("_", name.lower()) for name in adapt.names(texts)}
    new = {name: _free(fits, taken) for name, fits in fitting.items() if fits != name or fits in taken}
    return adapt.rename(texts, new), notes, new


def _called(old: str, now: str) -> str:
    """Why a congestion control has another name than in its source."""
    why = f"has other characters than {CHARACTERS}" if NOT_IN_NAMES.search(old) else "is in use"
    return f"the name {old} {why}: called {now} here"


def _free(name: str, taken: Collection[str]) -> str:
    """This name or one like it that is not in use, of at most 15 characters."""
    if name not in taken:
        return name
    for number in range(2, 100):
        end = f"_{number}"
        if (new := name[: adapt.LONGEST - len(end)] + end) not in taken:
            return new
    raise LabError(f"{name}: every name like it is in use")


def _compile(k: kernel.Kernel, s: Sources, name: str, files: dict[str, str], directory: Path) -> str:
    """Write the sources and run the kernel's make; what it said, LabError with the first faults."""
    for file, text in files.items():
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, errors="surrogateescape")
    make = ["make", "-C", str(k.source), "ARCH=um", f"O={k.out}", f"M={directory}", kernel.ABSOLUTE]
    # A file of the kernel's tree may include what lies beside it there, as "tcp_dctcp.h"
    flags = f"{FLAGS} -idirafter {k.source}/net/ipv4"
    done = subprocess.run(
        [*make, f"KCFLAGS={flags}", "CONFIG_WERROR=", f"{name}.ko"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        check=False,
    )
    (directory / "build.log").write_text(done.stdout)
    if done.returncode:
        raise LabError(_told(s, done.stdout, directory))
    return done.stdout


def _told(s: Sources, log: str, directory: Path) -> str:
    """What the compiler said, with files as the user knows them."""
    top = str(directory)
    found = [os.path.join(s.top, line) for line in hints.faults(log, top)] + hints.refused(log, top)
    if more := len(found[SHOWN_FAULTS:]):
        found[SHOWN_FAULTS:] = [f"and {more} more"]
    said = found or [line for line in log.splitlines() if "rror" in line][:SHOWN_FAULTS] or log.splitlines()[-5:]
    explained = [f"hint: {text}" for text in hints.hints(log)]
    return "\n".join(
        [f"{s.module} does not build for the lab's kernel:", *said, *explained, f"all of it: {directory}/build.log"]
    )


def _registered(k: kernel.Kernel, ko: Path, s: Sources) -> tuple[str, ...]:
    """Names that loading the module adds to the kernel's; LabError where it cannot be loaded or adds none."""
    out = ko.with_name("loaded")
    script = (
        f"{TELL_ALL}; cat {AVAILABLE} > {out}; insmod {ko} 2> {out}.err; cat {AVAILABLE} >> {out}; dmesg > {out}.dmesg"
    )
    command, console = ["bash", "-c", script], list[str]()
    with open(os.devnull, "wb") as nowhere:
        status = exec_uml.execute(k.executable, ko.parent / "none", command, LOAD_LIMIT_S, nowhere, lost=console.append)
    if status == exec_uml.STOPPED:
        raise LabError(f"{s.module}: module_init() did not return in {LOAD_LIMIT_S} s of real time: {s.top}")
    if console:
        raise LabError(f"{s.module}: {faults.loading(console[0], ko)}")
    lines = out.read_text(errors="replace").splitlines()
    before, after = (set(line.split()) for line in lines[:2])
    names = tuple(sorted(after - before))
    if long := [name for name in names if len(name) > adapt.LONGEST]:
        raise LabError(f"{s.module}: registers a name of more than {adapt.LONGEST} characters, {long[0]!r}")
    if names:
        return names
    raise LabError(_not_registered(s, ko))


def _not_registered(s: Sources, ko: Path) -> str:
    """Why a module that was compiled is of no use: the words of insmod, and of the kernel behind its name."""
    said = ko.with_name("loaded.err").read_text().strip() or "it registers no congestion control"
    lines = [line.partition("] ")[2] for line in ko.with_name("loaded.dmesg").read_text().splitlines()]
    begin = next((i for i, line in enumerate(lines) if s.module in line), len(lines))
    words = [line for line in lines[begin:] if "taints kernel" not in line][-5:]
    return "\n".join([f"{s.module}: {said}", *words, *(f"hint: {text}" for text in hints.hints("\n".join(words)))])
