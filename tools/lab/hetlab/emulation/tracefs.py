# SPDX-License-Identifier: GPL-2.0
"""Record the events of tcp_santacruz where they happen: the guest's or the host's tracefs.

Needs the standard library and mount(8), nothing else. The buffer is read after the
run: a reader beside it would be one more process that wakes.
"""

import os
import re
import subprocess
from pathlib import Path

from hetlab.errors import LabError

ROOT = Path("/sys/kernel/tracing")
EVENTS = "events/santacruz"
# Some 800,000 events of 40 bytes, each one interval or loss of one flow; shared out to the CPUs
BUFFER_KB = 32 * 1024
BUFFER_MIN_KB = 1024
LOST = re.compile(r"^(overrun|commit overrun|dropped events): (\d+)$", re.M)


class Recording:
    """Events from here to ``save``, in an instance (buffer) of their own, gone afterwards."""

    def __init__(self) -> None:
        self.dir = ROOT / "instances" / f"hetlab-{os.getpid()}"
        self.mounted = False

    def __enter__(self) -> "Recording":
        try:
            self._mount()
            if not (ROOT / EVENTS).is_dir():
                raise LabError(f"--trace: tcp_santacruz of this kernel has no {EVENTS} in {ROOT}: built without them")
            self.dir.mkdir()
            self._write("trace_clock", "mono")
            self._write("buffer_size_kb", str(max(BUFFER_KB // (os.cpu_count() or 1), BUFFER_MIN_KB)))
            self._write(f"{EVENTS}/enable", "1")
        except OSError as err:
            self.__exit__()
            raise LabError(f"--trace: {err.filename or ROOT}: {err.strerror}") from err
        except LabError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.dir.is_dir():
            self._write(f"{EVENTS}/enable", "0")
            self.dir.rmdir()
        if self.mounted:
            subprocess.run(["umount", str(ROOT)], capture_output=True, check=False)

    def _mount(self) -> None:
        if not ROOT.is_dir():
            raise LabError(f"--trace: this kernel has no {ROOT} (tracefs, CONFIG_TRACING)")
        if (ROOT / "events").is_dir():
            return
        mount = ["mount", "-t", "tracefs", "nodev", str(ROOT)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"--trace: {done.stderr.strip()}")
        self.mounted = True

    def _write(self, name: str, value: str) -> None:
        (self.dir / name).write_text(value)

    def save(self, path: Path) -> None:
        """End the recording and write it as text; LabError if events were lost."""
        self._write("tracing_on", "0")
        stats = [cpu.read_text() for cpu in self.dir.glob("per_cpu/cpu*/stats")]
        lost = sum(int(number) for text in stats for _what, number in LOST.findall(text))
        if lost:
            raise LabError(f"--trace: {lost} events did not fit into {BUFFER_KB} kB: shorten duration_s")
        path.write_bytes((self.dir / "trace").read_bytes())
