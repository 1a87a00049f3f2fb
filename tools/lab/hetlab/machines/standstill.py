# SPDX-License-Identifier: GPL-2.0
"""Whether a virtual-time machine computes without its time moving on, and where its processor is then.

Both are read from outside, so that no run is changed by being watched.
"""

import ctypes
import functools
import os
import struct
import time
from pathlib import Path

# Kernel code that never returns; 20 s of a CPU are what the whole of most runs takes
LIMIT_CPU_S = 20.0
# A loop with cpu_relax() moves virtual time on, by 1 ns a turn, but no program runs: each wait for one is a voluntary
# switch of the machine's process, some 10,000 a second in the fastest runs, none in such a loop
ALONE_CPU_S = 5.0
SAMPLES, APART_S = 30, 0.003
CLOCK = "time_travel_time"
PTRACE_GETREGS, PTRACE_ATTACH, PTRACE_DETACH = 12, 16, 17
RIP, RSP, REGISTERS = 16, 19, 27  # of struct user_regs_struct on x86-64
STACK_WORDS = 1024  # of 8 bytes: the callers of what a loop calls, also where that prints a trace of the stack
WALL = 0x40000000  # __WALL


@functools.cache
def address_of(executable: Path, symbol: str) -> int | None:
    """Address of a variable of the kernel, from System.map beside it; None where there is none."""
    try:
        lines = executable.with_name("System.map").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[0], 16) for line in lines if line.endswith(f" {symbol}")), None)


class _Still:
    """Since when a number is the same."""

    def __init__(self) -> None:
        self.seen: int | None = None
        self.since_cpu_s = 0.0

    def since(self, now: int | None, cpu_s: float) -> float:
        """CPU time (s) since it last changed; 0 where it is not known."""
        if now is None or now != self.seen:
            self.seen, self.since_cpu_s = now, cpu_s
        return cpu_s - self.since_cpu_s


class Watch:
    """Compares the CPU time that a machine used with its virtual time, and with whether its programs run."""

    def __init__(self, pid: int, executable: Path, programs: bool = False) -> None:
        self.pid = pid
        self.kernel = executable
        self.address = address_of(executable, CLOCK)
        self.programs = programs
        self.clock, self.switches = _Still(), _Still()

    def stands_still(self) -> bool:
        """Whether virtual time did not move in LIMIT_CPU_S of its CPU or, of ``programs``, none ran in ALONE_CPU_S.

        False if that cannot be seen.
        """
        try:
            cpu_s = self._cpu_s()
            still_s = self.clock.since(self._virtual_ns(), cpu_s)
            alone_s = self.switches.since(self._switches(), cpu_s) if self.programs else 0.0
        except (OSError, ValueError, IndexError, StopIteration):
            return False
        return still_s > LIMIT_CPU_S or alone_s > ALONE_CPU_S

    def _virtual_ns(self) -> int | None:
        if self.address is None:
            return None
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self.address)
            return int.from_bytes(memory.read(8), "little")

    def _switches(self) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("voluntary_ctxt_switches:")).split()[1])

    def _cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def instructions(pid: int) -> list[tuple[int, ...]]:
    """Where a process is, again and again: its instruction, then what may be the return addresses of its callers."""
    found = []
    for _ in range(SAMPLES):
        found.append(instruction(pid))
        time.sleep(APART_S)
    return [at for at in found if at]


def instruction(pid: int) -> tuple[int, ...]:
    """Address of the instruction that a process is at, and the words on its stack; empty if it cannot be stopped."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(PTRACE_ATTACH, pid, None, None):
        return ()
    os.waitpid(pid, WALL)
    buffer = ctypes.create_string_buffer(8 * REGISTERS)
    failed = libc.ptrace(PTRACE_GETREGS, pid, None, buffer)
    registers = struct.unpack(f"<{REGISTERS}Q", buffer.raw)
    stack = () if failed else _stack(pid, registers[RSP])
    libc.ptrace(PTRACE_DETACH, pid, None, None)
    return () if failed else (registers[RIP], *stack)


def _stack(pid: int, at: int) -> tuple[int, ...]:
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(at)
            read = memory.read(8 * STACK_WORDS)
    except (OSError, ValueError):
        return ()
    return struct.unpack(f"<{len(read) // 8}Q", read[: len(read) // 8 * 8])
