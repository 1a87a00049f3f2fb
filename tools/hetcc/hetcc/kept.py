# SPDX-License-Identifier: GPL-2.0
"""Routes that keep their congestion control: the list of them, and the unit that applies it (watch.py).

Whoever manages the network (systemd-networkd, NetworkManager, ifupdown, a DHCP client, an operator with ip) makes
routes anew at boot, when a link comes up and when a lease is renewed. The kernel reports each new route, whoever made
it: so one service that listens there serves all of them, with no file of theirs changed.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from . import HetccError
from .doing import Doing
from .modules import OURS, tool
from .netlink import FIRST, namespace_key
from .routes import Prefix, a_network
from .undo import WANTS, Step, systemctl, text_of

LIST = Path("/etc/hetcc/routes")
UNIT = Path("/etc/systemd/system/hetcc-routes.service")
LIST_HEAD = "# Written by 'hetcc route --keep' for hetcc-routes.service; 'hetcc undo' takes it back.\n"
UNIT_TEXT = """# Written by 'hetcc route --keep'; 'hetcc undo' takes it back.
[Unit]
Description=Congestion control of the routes in /etc/hetcc/routes
Documentation=man:hetcc(8)
After=systemd-modules-load.service

[Service]
ExecStart={command} watch
Restart=on-failure
RestartSec=30

[Install]
WantedBy=multi-user.target
"""


class Kept(NamedTuple):
    """A line of the list: the congestion control that a destination's route is to have."""

    prefix: Prefix
    cc: str
    lock: bool
    add: bool  # the prefix has no route of its own but for the one that hetcc adds

    def __str__(self) -> str:
        return " ".join([str(self.prefix), self.cc, *(["lock"] if self.lock else []), *(["add"] if self.add else [])])


def parse(number: int, line: str) -> Kept:
    """One line of the list."""
    prefix, cc, *words = [*line.split(), "", ""][: max(2, len(line.split()))]
    try:
        if cc not in OURS or not {"lock", "add"} >= set(words):
            raise ValueError(f"wanted is PREFIX, one of {', '.join(OURS)}, and lock and add where they apply")
        return Kept(a_network(prefix), cc, "lock" in words, "add" in words)
    except ValueError as error:
        raise HetccError(f"{LIST}, line {number}: {error}") from error


def kept_routes() -> list[Kept]:
    """All of the list; HetccError names a line that is wrong."""
    lines = enumerate((text_of(LIST) or "").splitlines(), 1)
    return [parse(number, line) for number, line in lines if line.strip() and not line.startswith("#")]


def command_path() -> str:
    """What the unit runs: this program, where it is installed."""
    path = Path(sys.argv[0]).resolve()
    if not path.is_file() or path.name == "__main__.py" or not re.fullmatch(r"[\w./+-]+", str(path)):
        raise HetccError(f"--keep needs the installed command, not {path}: make dkms-install, or the package")
    return f"{sys.executable} -B {path}"


def need_keepable() -> None:
    """Refuse --keep where it cannot work, before anything is changed."""
    if namespace_key() != FIRST:
        raise HetccError("--keep: only routes of the machine's own network namespace are kept after a restart")
    if not Path("/run/systemd/system").is_dir():
        raise HetccError("--keep needs systemd, which does not run here")
    command_path()
    kept_routes()


def keep(entry: Kept, do: Doing) -> None:
    """Put a route on the list, and have the unit run: now and from boot on."""
    others = [k for k in kept_routes() if k.prefix != entry.prefix]
    do.file(LIST, LIST_HEAD + "".join(f"{k}\n" for k in [*others, entry]))
    do.file(UNIT, UNIT_TEXT.format(command=command_path()))
    enabled = "enabled" if (WANTS / UNIT.name).is_symlink() else None
    if enabled:
        do.start(UNIT.name)
    do.change(Step.now("unit", UNIT.name, enabled, "enabled"), lambda: systemctl("enable", "--now", UNIT.name))


def service_state() -> str:
    """Of the unit, as systemctl says it: active, failed, ..."""
    return tool("systemctl", "is-active", UNIT.name).stdout.strip() or "unknown"
