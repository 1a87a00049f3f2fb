# SPDX-License-Identifier: GPL-2.0
"""What a run changes on a measured host, and how it comes back; part of the agent there (remote_agent.py).

Python 3.7 with its standard library, iproute2, kmod; root.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import time
from typing import Any

COMMAND_LIMIT_S = 30.0
# A connection that is not over holds its congestion control
UNLOAD_LIMIT_S = 10.0
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
SIOCETHTOOL = 0x8946
GSTRINGS, GSSET_INFO, GFEATURES, SFEATURES = 0x1B, 0x37, 0x3A, 0x3B
FEATURE_NAMES = 4  # ETH_SS_FEATURES
NAME_BYTES = 32


class Refused(Exception):
    """Reported to the host that asked; the agent goes on."""


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
