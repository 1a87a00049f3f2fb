# SPDX-License-Identifier: GPL-2.0
"""The debug kernel: Debian's 6.12 with the Santa Cruz option under the kernel's checkers, for QEMU."""

import re
import shutil
from pathlib import Path

from rich.console import Console

from hetlab.build import kernel
from hetlab.machines.qemu_files import VmKernel
from hetlab.paths import BUILD, KERNEL_DIR

CONFIG = KERNEL_DIR / "config" / "vm-debug.config"
ARCH = "x86_64"
IMAGE = "arch/x86/boot/bzImage"

# What the kernel's checkers say, by checker; the kernel's own order of words
REPORTS = {
    "kasan": r"BUG: KASAN:",
    "ubsan": r"UBSAN:",
    "atomic": r"BUG: (sleeping function|scheduling while atomic|using \w+\(\) in preemptible|workqueue leaked)",
    "lockdep": r"(possible (circular|recursive|irq lock|unsafe)|inconsistent lock state|bad unlock balance"
    r"|held lock freed|lock held when returning|suspicious RCU usage|Invalid wait context|nested lock was not taken"
    r"|DEBUG_LOCKS_WARN_ON)",
    "stall": r"(rcu: INFO: .*(stall|detected)|blocked for more than|BUG: (soft lockup|workqueue lockup)|hard LOCKUP)",
    "refcount": r"(refcount_t:|leaked reference|unregister_netdevice: waiting|ref_tracker:)",
    "objects": r"ODEBUG:",
    "list": r"list_(add|del) corruption",
    "oops": r"(Oops|general protection fault|Kernel panic|kernel BUG at|divide error|BUG: (kernel NULL|unable))",
    "warning": r"WARNING:",
    "leak": r"(unreferenced object|kmemleak: \d+ new suspected)",
    "checker off": r"(MAX_\w+ too low|kmemleak: .*(disabled|exhausted|empty)"
    r"|ODEBUG: .*disabled|turning off the locking correctness validator)",
    "other": r"\b(BUG:|Call Trace:)",
}


def reports(text: str) -> dict[str, list[str]]:
    """Lines of a kernel log, or of kmemleak, that report a fault; by checker, each line once."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        kind = next((kind for kind, pattern in REPORTS.items() if re.search(pattern, line)), None)
        if kind:
            found.setdefault(kind, []).append(line.strip())
    return found


def debug_kernel(console: Console) -> kernel.Kernel:
    """Build it if it is not there yet; the option is off until ``net.ipv4.tcp_santacruz`` says otherwise."""
    patches = [kernel.OPTION_PATCH]
    source_key = kernel.files_digest(patches, kernel.source_version().encode())
    key = kernel.files_digest([CONFIG], source_key.encode(), kernel.compiler())
    root = BUILD / "kernel"
    k = kernel.Kernel(root / f"src-{source_key}", root / f"vm-debug-{key}", key)
    return kernel.ensure(console, k, patches, IMAGE, lambda: kernel.build(console, k, ARCH, "allnoconfig", [CONFIG]))


def debug_vm_kernel(console: Console) -> VmKernel:
    """The kernel with our modules, for ``qemu.boot``."""
    k = debug_kernel(console)
    built = kernel.modules(console, k, ARCH)
    tree = BUILD / "vm" / f"debug-{built.name}"
    ours = tree / "updates" / "dkms"
    ours.mkdir(parents=True, exist_ok=True)
    for ko in built.glob("*.ko"):
        shutil.copy(ko, ours)
    release = (k.out / "include/config/kernel.release").read_text().strip()
    return VmKernel(release, k.out / IMAGE, tree, k.key)


def other_module(console: Console, source: Path) -> Path:
    """A module that is not ours, built for the debug kernel."""
    k = debug_kernel(console)
    files = sorted(source.iterdir())
    directory = BUILD / "modules" / f"{ARCH}-{source.name}-{kernel.files_digest(files, k.key.encode())}"
    with kernel.locked(BUILD / "modules"):
        if not kernel.complete(directory, f"{source.name}.ko"):
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(source, directory)
            kernel.compile_module(k, directory, ARCH)
            (directory / ".complete").touch()
    return next(directory.glob("*.ko"))
