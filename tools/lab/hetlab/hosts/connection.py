# SPDX-License-Identifier: GPL-2.0
"""A host at the other end of ssh: remote_agent.py is started there and answers requests."""

import base64
import contextlib
import gzip
import json
import os
import select
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetlab.errors import LabError

# Modules of the agent, in the order in which they need each other
AGENT = {
    "hetlab.hosts.remote_host": Path(__file__).with_name("remote_host.py"),
    "__main__": Path(__file__).with_name("remote_agent.py"),
}
SSH = "-T -o BatchMode=yes -o ConnectTimeout=15 -o ControlMaster=no -o ServerAliveInterval=10 -o ServerAliveCountMax=3"
REPLY_LIMIT_S = 90.0
CLOCK_TRIES = 8
SSH_FAILED = 255  # ssh's exit status for its own errors; else it is that of the command there
# Words in the last line of an agent that did not start, and what helps
HELP = {
    "Permission denied": "ssh needs a key without a password there, and perhaps another user: USER@HOST",
    "Host key verification failed": "its host key is not the known one: log in once by hand, compare it, accept it",
    "sudo:": "log in as root (root@HOST), or allow that user sudo without a password",
}


class HostLost(LabError):
    """A host does not reply any more."""


class Refusal(LabError):
    """An agent refused or failed a request."""


@dataclass
class Clock:
    """How far a host's clocks are ahead of our CLOCK_MONOTONIC, in seconds."""

    ahead_s: float
    real_ahead_s: float
    uncertain_s: float


class Host:
    """One of the two hosts: the ssh to its agent, and what is known of it."""

    def __init__(self, role: str, name: str, ssh_options: tuple[str, ...]) -> None:
        self.role = role
        self.name = name
        self.flowgen = ""
        self.facts: dict[str, Any] = {}
        self.dev = self.address = ""
        self.clock = Clock(0, 0, 0)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.pending = b""
        self.number = 0
        self.ssh_address = ""
        self.options = [word for o in ssh_options for word in ("-o", o)]
        # A session of its own: Ctrl-C is for us, who have something to take back there first
        self.proc = subprocess.Popen(
            ["ssh", *self.options, *SSH.split(), "--", name, _start_agent()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )
        try:
            self._send(_agent())
            self.ssh_address = "".join(str(self._answer()).split()[2:3])
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        return f"{self.role} {self.name}"

    def call(self, do: str, **args: Any) -> Any:
        """Send a request to the agent and return its reply; Refusal: it failed, HostLost: no reply."""
        self.number += 1
        self._send(json.dumps({"number": self.number, "do": do} | args).encode() + b"\n")
        return self._answer()

    def fetch(self, name: str) -> bytes:
        """A file of the agent's directory."""
        return gzip.decompress(base64.b64decode(self.call("fetch", name=name)))

    def _send(self, data: bytes) -> None:
        assert self.proc.stdin
        try:
            self.proc.stdin.write(data)
            self.proc.stdin.flush()
        except OSError:
            raise self._lost("the connection is gone") from None

    def _answer(self) -> Any:
        """Reply to the last request; output of the login shell and late replies are skipped."""
        end = time.monotonic() + REPLY_LIMIT_S
        while True:
            line = self._line(end)
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if not isinstance(answer, dict) or answer.get("number") != self.number:
                continue
            if "error" in answer:
                raise Refusal(f"{self}: {answer['error']}")
            return answer["ok"]

    def _line(self, end: float) -> bytes:
        assert self.proc.stdout
        while b"\n" not in self.pending:
            if not select.select([self.proc.stdout], [], [], max(end - time.monotonic(), 0))[0]:
                raise self._lost("no reply")
            data = os.read(self.proc.stdout.fileno(), 1 << 16)
            if not data:
                raise self._lost("the connection is gone")
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def _lost(self, what: str) -> HostLost:
        """HostLost with the last output of ssh."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.proc.wait(2)
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        if not self.number:
            return HostLost(self._no_agent(said[-1].strip() if said else what))
        return HostLost(f"{self}: {what}" + "".join(f"\n  {line}" for line in said[-5:]))

    def _no_agent(self, said: str) -> str:
        """Which step of the login failed, in the words of ssh or of that host, and what to try."""
        failed = "ssh cannot log in" if self.proc.returncode == SSH_FAILED else "the agent does not start there"
        lines = [f"{self}: {failed}: {said}", *(text for words, text in HELP.items() if words in said)]
        by_hand = shlex.join(["ssh", *self.options, "-o", "BatchMode=yes", "--", self.name, "true"])
        return "\n  ".join([*lines, f"this must work without a question: {by_hand}"])

    def close(self) -> None:
        """End the agent; it first undoes what it has not undone yet."""
        for pipe in (self.proc.stdin, self.proc.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()

    def read_clock(self) -> None:
        """Compare clocks, by the shortest of some round trips."""
        best: Clock | None = None
        for _ in range(CLOCK_TRIES):
            sent = time.monotonic()
            mono, real = self.call("clock")
            back = time.monotonic()
            middle, half = (sent + back) / 2, (back - sent) / 2
            if best is None or half < best.uncertain_s:
                best = Clock(mono - middle, real - middle, half)
        assert best
        self.clock = best


def _agent() -> bytes:
    """Modules of the agent with their texts, on one line."""
    return json.dumps([(name, path.read_text()) for name, path in AGENT.items()]).encode() + b"\n"


def _start_agent() -> str:
    """Command for the login shell, whichever that is: the agent as root, its modules from stdin."""
    python = (
        "import json, sys, types\n"
        "for name, text in json.loads(sys.stdin.buffer.readline()):\n"
        " module = sys.modules.setdefault(name, types.ModuleType(name))\n"
        " exec(compile(text, name, 'exec'), module.__dict__)"
    )
    script = (
        "p=$(command -v python3) || { echo 'python3 is not installed there' >&2; exit 1; }; "
        'r=; [ "$(id -u)" = 0 ] || r="sudo -n"; '
        f'exec $r "$p" -c {shlex.quote(python)} "$SSH_CONNECTION"'
    )
    return f"exec sh -c {shlex.quote(script)}"
