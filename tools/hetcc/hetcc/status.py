# SPDX-License-Identifier: GPL-2.0
"""What hetcc status shows."""

import argparse
import json
import os
import re
import shutil
import sys
import textwrap
from typing import Any

from .diag import connections, name_users
from .kept import kept_routes, service_state
from .modules import IPV4, MODULES, available, module_status, read, signature
from .parameters import CONF, kept_value, parameter_names
from .routes import routes
from .undo import SYSCTL, SYSCTL_CONF, steps, text_of

TEXT_AT = 17  # column of what stands behind a name
NARROWEST = 40  # a narrower terminal folds by itself


def status() -> dict[str, Any]:
    """All that the command shows."""
    found = connections()
    name_users(found)
    kept = kept_routes()
    return {
        "kernel": os.uname().release,
        "modules": {module: module_status(module) | parameters_at_boot(module) for module in MODULES},
        "default": read(IPV4 / "tcp_congestion_control"),
        "default_at_boot": boot_default(),
        "allowed": read(IPV4 / "tcp_allowed_congestion_control").split(),
        "available": available(),
        "routes": [
            {"route": str(r), "prefix": str(r.prefix), "table": r.table, "congctl": r.cc, "lock": r.locked}
            for r in routes()
            if r.cc
        ],
        "kept_routes": [{"prefix": str(k.prefix), "congctl": k.cc, "lock": k.lock} for k in kept],
        "kept_routes_service": service_state() if kept else None,
        "connections": [
            {"cc": c.cc, "state": c.state, "local": c.local, "remote": c.remote, "users": c.users} | c.live
            for c in found
        ],
        "changes_to_undo": len(steps()),
    }


def boot_default() -> str | None:
    """What 'hetcc default' left for the next start."""
    found = re.search(rf"^{re.escape(SYSCTL)} = (\S+)", text_of(SYSCTL_CONF) or "", re.MULTILINE)
    return found[1] if found else None


def parameters_at_boot(module: str) -> dict[str, Any]:
    """What 'hetcc set --keep' left for the next loading."""
    text = text_of(CONF)
    kept = {name: kept_value(text, f"{module}.{name}") for name in parameter_names(module)} if text else {}
    return {"parameters_kept": {name: value for name, value in kept.items() if value is not None}}


def say(line: str) -> None:
    """Print a line, on a terminal folded between words at its width."""
    width = max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else sys.maxsize
    indent = " " * TEXT_AT
    print(textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def show_module(name: str, said: dict[str, Any]) -> None:
    """A paragraph about a module."""
    if not said["loaded"]:
        say(f"{name:16} not loaded{'' if said['installed'] else ', not installed for this kernel'}")
        return
    notes = signature(said["taint"], said["signer"])
    if said["file_differs"]:
        notes.append("the installed file is another one: hetcc unload, modprobe")
    say(f"{name:16} {said['version']} {said['srcversion']}, references {said['references']}; {', '.join(notes)}")
    words = [
        f"{key}={p['value']}" + (f" (default {p['default']})" if p["changed"] else "")
        for key, p in said["parameters"].items()
    ]
    say(f"{'':16} {' '.join(words)}")
    if said["parameters_kept"]:
        say(f"{'':16} kept: {' '.join(f'{key}={value}' for key, value in said['parameters_kept'].items())}")


def show_connection(said: dict[str, Any]) -> None:
    """Two lines about a connection."""
    who = ", ".join(said["users"]) or "-"
    say(f"  {said['cc']:12} {said['local']} > {said['remote']} {said['state']} {who}")
    if "cwnd_pkts" not in said:
        return
    words = [f"cwnd {said['cwnd_pkts']}", f"rtt {said['rtt_us'] / 1000:g} ms"]
    if said["minrtt_us"]:
        words.append(f"minrtt {said['minrtt_us'] / 1000:g} ms")
    words += [f"{said['delivery_mbit']:g} Mbit/s delivered", f"{said['retransmitted_pkts']} retransmitted"]
    if "queue_pkts" in said:
        words.append(f"queue {said['queue_pkts']} packets by {said['source']}")
    if "bandwidth_mbit" in said:
        known = said["bandwidth_mbit"] is not None
        words.append(f"bandwidth {said['bandwidth_mbit']:g} Mbit/s" if known else "no bandwidth estimate yet")
    if "rho" in said:
        words.append(f"rho {said['rho']:g}")
    say(f"  {'':12} {', '.join(words)}")


def command_status(args: argparse.Namespace) -> None:
    """Show modules, settings and connections of this network namespace."""
    said = status()
    if args.json:
        print(json.dumps(said, indent=1))
        return
    for name, module in said["modules"].items():
        show_module(name, module)
    boot = f", at boot {said['default_at_boot']}" if said["default_at_boot"] else ""
    say(f"default          {said['default']}{boot}")
    say(f"allowed          {' '.join(said['allowed'])}")
    for route in said["routes"]:
        say(f"route            {route['route']}")
    for route in said["kept_routes"]:
        words = f"{route['prefix']} congctl {'lock ' if route['lock'] else ''}{route['congctl']}"
        say(f"kept route       {words} (hetcc-routes.service: {said['kept_routes_service']})")
    say(f"connections      {len(said['connections'])}")
    for connection in said["connections"]:
        show_connection(connection)
    if said["changes_to_undo"]:
        say(f"hetcc undo takes back {said['changes_to_undo']} changes")
