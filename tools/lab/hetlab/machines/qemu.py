# SPDX-License-Identifier: GPL-2.0
"""Emulated machines: Debian's stock kernels, or any other, under QEMU.

The root file system is in memory, made of files of this machine (Debian 12). A
machine with a disk would let its clock leap while it waits for it: with
``clock="icount"`` time is the number of instructions executed, and goes on to
the next timer whenever all CPUs are idle. Results come back over a second serial
line, for which every kernel has a driver.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from hetlab.build import kernel as lab
from hetlab.build import programs
from hetlab.errors import LabError
from hetlab.machines import uml
from hetlab.machines.qemu_files import GUEST_TOP, INIT, INSTALL, LINKS, VM, VmKernel, copy, fresh, pack, root
from hetlab.paths import LAB

QEMU = "qemu-system-x86_64"
# What a machine leaves here comes back
OUT = Path("/out")
Clock = Literal["icount", "real"]
MACHINE = [QEMU, "-M", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-cpu", "max"]
# The day on which virtual-time machines start too
RTC = ["-rtc", "base=2025-01-01T00:00:00,clock=vm"]
KERNEL_ARGS = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable oops=panic"
EMULATED: dict[Clock, list[str]] = {
    "icount": ["-accel", "tcg,tb-size=64", "-icount", "shift={shift},sleep=off"],
    "real": ["-accel", "tcg,thread=multi,tb-size=64"],
}
LAST_WORDS = re.compile(r"BUG:|Oops:|Kernel panic|general protection|stack segment:")
KVM = Path("/dev/kvm")
KVM_PROBE_S = 15.0


def cpus_for(kernel: VmKernel, clock: Clock) -> int:
    """2 CPUs; one where that does not boot.

    Under icount QEMU 7.2 runs one CPU at a time, and Linux 6.1 does not wait for the CPUs that it starts.
    """
    return 1 if clock == "icount" and kernel.release.startswith("6.1.") and not has_kvm(kernel) else 2


@dataclass
class Machine(uml.Machine):
    """A running machine; what it sent is unpacked when its status is asked for."""

    def status(self) -> int | None:
        """As for any machine; afterwards ``out`` beside the job is what was left in /out."""
        sent = self.job.with_name("sent.tar")
        if self.proc.poll() is not None and sent.exists():
            args = ["tar", "-C", str(self.job.parent), "--no-same-owner", "-xf", str(sent)]
            if subprocess.run(args, capture_output=True, check=False).returncode == 0:
                sent.unlink()
        return super().status()

    def console_tail(self, lines: int = 8) -> str:
        """End of the console output, or the beginning of a kernel's oops."""
        said = [p.read_text(errors="replace") for p in (self.job.with_name("qemu.log"), self.log) if p.exists()]
        all_lines = "\n".join(said).splitlines()
        died = next((i for i, line in enumerate(all_lines) if LAST_WORDS.search(line)), None)
        return "\n".join(all_lines[-lines:] if died is None else all_lines[died : died + lines])

    def kill(self) -> None:
        """End the machine."""
        super().kill()
        self.job.with_name("initrd").unlink(missing_ok=True)


def boot(
    kernel: VmKernel,
    script: str,
    directory: Path,
    *,
    files: dict[str, Path] | None = None,
    archives: Sequence[Path] = (),
    cpus: int = 2,
    memory_mb: int = 1024,
    clock: Clock = "icount",
    append: str = "",
    cpu: int | None = None,
    shift: int = 0,
    plugin: str | None = None,
) -> Machine:
    """Boot a machine that runs a shell script as root and stops.

    Its output goes to ``console.log`` in the directory, its exit status to
    ``job.sh.status``, what it leaves in /out to ``out``. ``files``: further files or
    directories by their path in the guest; ``archives``: further cpio archives.
    ``cpus`` 1..16 (see cpus_for), ``memory_mb`` from 256. ``cpu``: the CPU of this machine that it is pinned to.
    ``shift`` 0..10: under icount an instruction takes 2 ** shift ns.
    ``plugin``: a TCG plugin and its arguments, with which the machine is always emulated.
    """
    if not shutil.which(QEMU):
        raise LabError(f"{QEMU} is missing: {INSTALL}")
    job = directory / "job.sh"
    job.write_text(f"{_exports()}\n{script}\n")
    _initrd(kernel, directory, files or {}, archives)
    log = directory / "console.log"
    args = [
        *([] if cpu is None else ["taskset", "-c", str(cpu)]),
        *(*MACHINE, *RTC),
        *(["-accel", "kvm"] if not plugin and has_kvm(kernel) else [a.format(shift=shift) for a in EMULATED[clock]]),
        *(["-plugin", plugin] if plugin else []),
        *("-smp", str(cpus), "-m", str(memory_mb)),
        *("-serial", f"file:{log}", "-serial", f"file:{directory / 'sent.tar'}"),
        *("-kernel", str(kernel.image), "-initrd", str(directory / "initrd")),
        *("-append", f"{KERNEL_ARGS} {append}".strip()),
    ]
    with open(directory / "qemu.log", "wb") as out:
        proc = subprocess.Popen(
            args, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    return Machine(proc, job, log, time.monotonic())


def has_kvm(kernel: VmKernel) -> bool:
    """Whether KVM runs a kernel here, not only has a device; found out once a boot of this machine."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    known = VM / f"kvm-{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
    with lab.locked(VM):
        if not known.exists():
            known.write_text("yes" if _probe_kvm(kernel) else "no")
    return known.read_text() == "yes"


def _probe_kvm(kernel: VmKernel) -> bool:
    """Without a root the kernel panics, which ends the machine: under KVM within seconds."""
    args = [*MACHINE, "-accel", "kvm", "-m", "256", "-kernel", str(kernel.image), "-append", "panic=-1"]
    try:
        done = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, timeout=KVM_PROBE_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _exports() -> str:
    top = GUEST_TOP
    env = {
        "PATH": f"{top}/build/bin:{uml.SYSTEM_PATH}",
        "HETLAB_BIN": f"{top}/build/bin",
        "HETLAB_TRACES": f"{top}/build/traces",
        "PYTHONPATH": f"{top}/tools/lab",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
    }
    return "\n".join(f"export {k}={v}" for k, v in env.items())


def _initrd(kernel: VmKernel, directory: Path, files: dict[str, Path], archives: Sequence[Path]) -> None:
    """The root and, behind it, what belongs to this machine."""
    err = Console(stderr=True, highlight=False)
    own = fresh(directory / "own")
    top = own / str(GUEST_TOP)[1:]
    copy(INIT, own / "init")
    copy(directory / "job.sh", own / "job.sh")
    copy(programs.tools(err), top / "build" / "bin")
    copy(LAB, top / "tools" / "lab")
    if kernel.modules:
        copy(kernel.modules, own / "usr" / "lib" / "modules" / kernel.release)
    for name, path in files.items():
        first, *rest = Path(name).parts[1:]
        copy(path, own.joinpath(LINKS.get(first, first), *rest))  # a directory would take the link's place
    pack(own, directory / "own.cpio")
    shutil.rmtree(own)
    with open(directory / "initrd", "wb") as out:
        for part in (root(err), *archives, directory / "own.cpio"):
            with open(part, "rb") as f:
                shutil.copyfileobj(f, out)
    (directory / "own.cpio").unlink()
