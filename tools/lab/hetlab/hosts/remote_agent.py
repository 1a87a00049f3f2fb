# SPDX-License-Identifier: GPL-2.0
"""The far half of ``--on hosts``: changes a measured host and undoes it again.

connection.py sends this file and remote_host.py over ssh into ``python3 -c``. Requests are JSON lines on
stdin, each answered by one on stdout. The worker answers them; the guardian, its
parent, waits for its end. A change goes into a journal on disk before it is made.
Whatever ends the worker (stdin closed because ssh is gone, no request for
SILENCE_S, a signal, its death) is followed by undoing the journal, by the worker
or else by the guardian.

Python 3.7 with its standard library, iproute2, kmod; root.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import gzip
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

from hetlab.hosts.remote_host import (
    OURS,
    Journal,
    Refused,
    command,
    offloads,
    put_text,
    said,
    set_offloads,
    state,
    text_of,
)

SILENCE_S = 45.0
STOP_LIMIT_S = 3.0
ENDINGS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1
TIME_ERROR = 5  # of adjtimex(2): nobody sets this clock
SYSCTLS = ("tcp_congestion_control", "tcp_available_congestion_control", "tcp_timestamps", "tcp_rmem", "tcp_wmem")


def die_with_parent(number: int) -> None:
    """This process gets a signal when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))


class Worker:
    """Answers requests; a method ``do_NAME`` for each."""

    def __init__(self, directory: str, address: str) -> None:
        self.directory = directory
        self.address = address
        self.journal = Journal(directory)
        self.procs: dict[str, subprocess.Popen[bytes]] = {}
        self.listening: list[socket.socket] = []
        self.pending = b""

    def serve(self) -> None:
        """Until stdin is closed or silent."""
        self.reply({"number": 0, "ok": self.address})
        while True:
            line = self.line()
            if line is None:
                return
            request = json.loads(line)
            number = request.pop("number")
            try:
                answer = getattr(self, "do_" + request.pop("do"))(**request)
                self.reply({"number": number, "ok": answer})
            except (Refused, OSError) as err:
                self.reply({"number": number, "error": getattr(err, "strerror", None) or str(err)})

    @staticmethod
    def reply(value: dict[str, Any]) -> None:
        """One line to the other side."""
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()

    def line(self) -> bytes | None:
        """The next request; None: there will be none."""
        while b"\n" not in self.pending:
            if not select.select([0], [], [], SILENCE_S)[0]:
                return None
            data = os.read(0, 1 << 16)
            if not data:
                return None
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def do_clock(self) -> list[float]:
        """CLOCK_MONOTONIC and CLOCK_REALTIME."""
        return [time.monotonic(), time.time()]

    def do_route(self, to: str) -> dict[str, Any]:
        """Interface and own address on the way to another host."""
        route = json.loads(command(["ip", "-j", "route", "get", to]))[0]
        if route.get("type") == "local":
            raise Refused(
                f"{to} is an address of this host itself: give --receiver-address, by which it reaches the other"
            )
        return {"dev": route["dev"], "address": route.get("prefsrc")}

    def do_facts(self, dev: str, modules: list[str]) -> dict[str, Any]:
        """What a result should say about this host."""
        uname = os.uname()
        facts = {name: text_of("/proc/sys/net/ipv4/" + name) for name in SYSCTLS}
        return dict(
            facts,
            release=uname.release,
            machine=uname.machine,
            dev=dev,
            mtu=int(text_of(f"/sys/class/net/{dev}/mtu") or 0),
            qdiscs=json.loads(said(["tc", "-j", "qdisc", "show", "dev", dev]) or "[]"),
            offloads={name: found["on"] for name, found in offloads(dev).items()},
            clock_set=ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)) != TIME_ERROR,
            iperf3=said(["iperf3", "--version"]).split("\n")[0],
            modules=self.do_modules(modules),
        )

    def do_modules(self, names: list[str]) -> dict[str, Any]:
        """Which modules are there."""
        return {name: self.module(name) for name in names}

    @staticmethod
    def module(name: str) -> dict[str, Any] | None:
        """Version and hash of a module's source, None if it is neither loaded nor installed."""
        base = "/sys/module/" + name
        if os.path.isdir(base):
            seen = [text_of(base + "/version"), text_of(base + "/srcversion")]
            return {"loaded": True, "version": seen[0], "srcversion": seen[1]}
        seen = [said(["modinfo", "-F", field, name]).strip() for field in ("version", "srcversion")]
        return {"loaded": False, "version": seen[0], "srcversion": seen[1]} if seen[1] else None

    def do_begin(self, dev: str, modules: list[str]) -> None:
        """Remember the state before the first change; ``modules`` are those that may get loaded."""
        self.journal.add(state=state(dev, modules), dev=dev, modules=modules)

    def do_congestion_control(self, name: str, module: str) -> None:
        """Make a congestion control available, by loading its module if necessary."""
        if name not in self.congestion_controls():
            said(["modprobe", module])
        if name not in self.congestion_controls():
            raise Refused(", ".join(self.congestion_controls()))

    @staticmethod
    def congestion_controls() -> list[str]:
        """Those this kernel has now."""
        return sorted((text_of("/proc/sys/net/ipv4/tcp_available_congestion_control") or "").split())

    def do_write(self, path: str, text: str) -> None:
        """Write a sysctl or a module's parameter."""
        old = text_of(path)
        if old is None:
            raise Refused(f"{path} does not exist")
        self.journal.add(write=path, old=old)
        put_text(path, text)

    def do_range(self, module: str, name: str) -> str:
        """What a module says about one of its parameters, or the parameters it has."""
        lines = said(["modinfo", "-F", "parm", module]).splitlines()
        return next((line for line in lines if line.startswith(name + ":")), "")

    def do_parameters(self, module: str) -> list[str]:
        """Names of a module's parameters."""
        base = f"/sys/module/{module}/parameters"
        return sorted(os.listdir(base)) if os.path.isdir(base) else []

    def do_change(self, args: list[str], undo: list[str] | None) -> None:
        """Run a command that another one takes back; None: it goes with an earlier one."""
        if undo:
            self.journal.add(run=undo)
        command(args)

    def do_show(self, args: list[str]) -> str:
        """Output of a command that changes nothing."""
        return command(args)

    def do_offloads_off(self, dev: str) -> None:
        """One packet is one packet."""
        before = {name: found["asked"] for name, found in offloads(dev).items() if found["asked"]}
        self.journal.add(offloads=before, dev=dev)
        set_offloads(dev, dict.fromkeys(before, False))

    def do_put(self, name: str, data: str) -> str:
        """A program in our directory."""
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(gzip.decompress(base64.b64decode(data)))
        os.chmod(path, 0o700)
        return path

    def do_listen(self, address: str, ports: list[int]) -> None:
        """Accept connections and ignore them."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for port in ports:
            sock = socket.socket(family)
            self.listening.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((address, port))
            except OSError as err:
                raise Refused(f"{address} port {port}: {err.strerror}") from None
            sock.listen(8)

    def do_unlisten(self) -> None:
        """End that."""
        while self.listening:
            self.listening.pop().close()

    def do_reach(self, address: str, port: int, count: int, limit_s: float) -> float:
        """Shortest time (ms) that a connection took."""
        best = limit_s
        for _ in range(count):
            begun = time.monotonic()
            socket.create_connection((address, port), limit_s).close()
            best = min(best, time.monotonic() - begun)
        return best * 1e3

    def do_start(self, name: str, args: list[str], at: float = 0) -> None:
        """Start a program at a time of CLOCK_MONOTONIC; output to NAME.out and NAME.err."""
        late = max(at - time.monotonic(), 0)
        words = ["sh", "-c", 'sleep "$0" && exec "$@"', f"{late:.3f}", *args] if late else args
        with open(self.file(name + ".out"), "wb") as out, open(self.file(name + ".err"), "wb") as err:
            self.procs[name] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.directory,
                preexec_fn=lambda: die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - one thread
            )

    def file(self, name: str) -> str:
        """Path in our directory."""
        return os.path.join(self.directory, name)

    def do_poll(self) -> dict[str, int | None]:
        """Exit status of each program, None while it runs."""
        return {name: proc.poll() for name, proc in self.procs.items()}

    def do_fetch(self, name: str) -> str:
        """A file of our directory, packed."""
        with open(self.file(name), "rb") as file:
            return base64.b64encode(gzip.compress(file.read())).decode()

    def do_undo(self) -> list[str]:
        """End the programs and take back every change; what differs from before."""
        self.do_unlisten()
        for proc in self.procs.values():
            proc.terminate()
        end = time.monotonic() + STOP_LIMIT_S
        for proc in self.procs.values():
            try:
                proc.wait(max(end - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
        self.procs = {}
        return self.journal.undo()


def work(directory: str, address: str) -> None:
    """The worker, until it is over."""
    die_with_parent(signal.SIGTERM)
    for number in ENDINGS:
        signal.signal(number, lambda *_: sys.exit(0))
    worker = Worker(directory, address)
    try:
        worker.serve()
    finally:
        for number in ENDINGS:
            signal.signal(number, signal.SIG_IGN)
        worker.do_undo()
        shutil.rmtree(directory, ignore_errors=True)


def scratch() -> str:
    """A directory that programs can be started from."""
    for base in (tempfile.gettempdir(), "/var/tmp", os.path.expanduser("~")):
        if os.access(base, os.W_OK) and not os.statvfs(base).f_flag & os.ST_NOEXEC:
            return tempfile.mkdtemp(prefix=OURS, dir=base)
    raise Refused("no directory to start programs from: all are mounted noexec")


def main() -> None:
    """The guardian: starts the worker, undoes what that could not."""
    directory = scratch()
    worker = os.fork()
    if not worker:
        try:
            work(directory, sys.argv[1])
        except SystemExit:
            pass
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)

    def end_worker(*_: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGTERM)

    for number in ENDINGS:
        signal.signal(number, end_worker)
    os.waitpid(worker, 0)
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    Journal(directory).undo()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
