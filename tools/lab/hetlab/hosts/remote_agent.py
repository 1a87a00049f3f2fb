# SPDX-License-Identifier: GPL-2.0
"""The far half of ``--on hosts``: changes a measured host and undoes it again.

hosts.py sends this file over ssh into ``python3 -c``. Requests are JSON lines on
stdin, each answered by one on stdout. The worker answers them; the guardian, its
parent, waits for its end. A change goes into a journal on disk before it is made.
Whatever ends the worker (stdin closed because ssh is gone, no request for
SILENCE_S, a signal, its death) is followed by undoing the journal, by the worker
or else by the guardian.

Python 3.7 with its standard library, iproute2, kmod; root.
"""

from __future__ import annotations

import array
import base64
import contextlib
import ctypes
import fcntl
import gzip
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

SILENCE_S = 45.0
COMMAND_LIMIT_S = 30.0
# A connection that is not over holds its congestion control
UNLOAD_LIMIT_S = 10.0
STOP_LIMIT_S = 3.0
ENDINGS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1
TIME_ERROR = 5  # of adjtimex(2): nobody sets this clock
OURS = "hetlab-"  # how the names of our links and directories begin
OFFLOADS = (
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
)
SYSCTLS = ("tcp_congestion_control", "tcp_available_congestion_control", "tcp_timestamps", "tcp_rmem", "tcp_wmem")
SIOCETHTOOL = 0x8946
GSTRINGS, GSSET_INFO, GFEATURES, SFEATURES = 0x1B, 0x37, 0x3A, 0x3B
FEATURE_NAMES = 4  # ETH_SS_FEATURES
NAME_BYTES = 32


class Refused(Exception):
    """Reported to the host that asked; the agent goes on."""


def die_with_parent(number: int) -> None:
    """This process gets a signal when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))


def command(args: list[str]) -> str:
    """Run a command; its output, or Refused with what it said."""
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False)
    except FileNotFoundError:
        raise Refused(f"{args[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{' '.join(args)}: no end after {COMMAND_LIMIT_S:g} s") from None
    if done.returncode:
        raise Refused(f"{' '.join(args)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def said(args: list[str]) -> str:
    """Output of a command, empty if it fails."""
    try:
        return command(args)
    except Refused:
        return ""


def text_of(path: str) -> str | None:
    """Contents of a small file, None if there is none."""
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def put_text(path: str, text: str) -> None:
    """Write a small file that exists."""
    with open(path, "r+") as file:
        file.write(text)


# Offloads, as ethtool -K sees them


def ethtool(dev: str, data: array.array[int]) -> None:
    """One call of SIOCETHTOOL; ``data`` is changed in place."""
    address = data.buffer_info()[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("16sP", dev.encode(), address))


def feature_names(dev: str) -> list[str]:
    """Names of an interface's features, by bit."""
    info = array.array("B", struct.pack("=IIQI", GSSET_INFO, 0, 1 << FEATURE_NAMES, 0))
    ethtool(dev, info)
    count = struct.unpack_from("=I", info, 16)[0]
    data = array.array("B", struct.pack("=III", GSTRINGS, FEATURE_NAMES, count) + bytes(count * NAME_BYTES))
    ethtool(dev, data)
    raw = data.tobytes()[12:]
    return [raw[i : i + NAME_BYTES].split(b"\0")[0].decode() for i in range(0, count * NAME_BYTES, NAME_BYTES)]


def offloads(dev: str) -> dict[str, dict[str, Any]]:
    """Each of OFFLOADS that an interface has: its bit, whether it is asked for, whether it is on."""
    names = feature_names(dev)
    blocks = (len(names) + 31) // 32
    data = array.array("I", [GFEATURES, blocks] + [0] * (4 * blocks))
    ethtool(dev, data)
    found = {}
    for name in OFFLOADS:
        if name in names:
            bit = names.index(name)
            _available, asked, active, _fixed = (data[2 + 4 * (bit // 32) + i] >> bit % 32 & 1 for i in range(4))
            found[name] = {"bit": bit, "asked": bool(asked), "on": bool(active)}
    return found


def set_offloads(dev: str, wanted: dict[str, bool]) -> None:
    """Ask for features: name to whether it is to be on."""
    known = offloads(dev)
    blocks = (len(feature_names(dev)) + 31) // 32
    data = array.array("I", [SFEATURES, blocks] + [0] * (2 * blocks))
    for name, on in wanted.items():
        bit = known[name]["bit"]
        data[2 + 2 * (bit // 32)] |= 1 << bit % 32
        data[3 + 2 * (bit // 32)] |= on << bit % 32
    ethtool(dev, data)


# What is changed, and how it comes back


def loaded(names: list[str] | set[str]) -> list[str]:
    """Those of some modules that are loaded."""
    lines = (text_of("/proc/modules") or "").splitlines()
    return sorted(set(names) & {line.split()[0] for line in lines})


def state(dev: str, modules: list[str]) -> dict[str, Any]:
    """All that a run may change on a host, but files."""
    return {
        "links": sorted(name for name in os.listdir("/sys/class/net") if name.startswith(OURS)),
        "qdiscs": said(["tc", "qdisc", "show", "dev", dev]),
        "filters": [said(["tc", "filter", "show", "dev", dev, way]) for way in ("ingress", "egress")],
        "offloads": {name: found["on"] for name, found in offloads(dev).items()},
        "mtu": text_of(f"/sys/class/net/{dev}/mtu"),
        "modules": loaded(modules),
    }


class Journal:
    """Changes of a run, oldest first, on disk before they are made."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, "journal")

    def add(self, **entry: Any) -> None:
        """Note a change that is about to be made."""
        with open(self.path, "a") as file:
            file.write(json.dumps(entry) + "\n")

    def undo(self) -> list[str]:
        """Take everything back; what differs from before, in words."""
        text = text_of(self.path)
        entries = [json.loads(line) for line in (text or "").splitlines()]
        for entry in reversed(entries):
            # What a failure leaves behind is found by the comparison
            with contextlib.suppress(Refused, OSError):
                self._undo(entry)
        differs = [line for entry in entries for line in self._compare(entry)]
        if text is not None:
            os.unlink(self.path)
        return differs

    @staticmethod
    def _undo(entry: dict[str, Any]) -> None:
        if "write" in entry:
            put_text(entry["write"], entry["old"])
        elif "run" in entry:
            command(entry["run"])
        elif "offloads" in entry:
            set_offloads(entry["dev"], entry["offloads"])
        elif "state" in entry:
            unload(set(loaded(entry["modules"])) - set(entry["state"]["modules"]))

    @staticmethod
    def _compare(entry: dict[str, Any]) -> list[str]:
        pairs = []
        if "write" in entry:
            pairs.append((entry["write"], entry["old"], text_of(entry["write"])))
        if "state" in entry:
            try:
                now = state(entry["dev"], entry["modules"])
            except OSError as err:
                return [f"{entry['dev']}: {err.strerror}"]
            pairs += [(f"{k} of {entry['dev']}", old, now[k]) for k, old in entry["state"].items()]
        return [f"{what}: was {old}, is {new}" for what, old, new in pairs if old != new]


def unload(names: set[str]) -> None:
    """Unload modules, waiting for the last connections that use them."""
    end = time.monotonic() + UNLOAD_LIMIT_S
    names = set(names)
    while names:
        for name in sorted(names):
            said(["rmmod", name])
        names = set(loaded(names))
        if time.monotonic() > end:
            break
        if names:
            time.sleep(0.5)


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
            raise Refused(f"{to} is an address of this host itself")
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
