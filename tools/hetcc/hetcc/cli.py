# SPDX-License-Identifier: GPL-2.0
"""The commands: status, default, route, undo, unload."""

import argparse
import ipaddress
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import HetccError
from .diag import Connection, connections, name_users
from .modules import IPV4, MODULES, OURS, available, load, module_of, module_status, read, signature, tool
from .netlink import FIRST, NLM_CREATE, NLM_EXCL, NLM_REPLACE, inside, name_of, namespace_key, namespaces
from .routes import RTM_NEWROUTE, RTPROT_RA, Prefix, change_route, find_route, routes
from .undo import (
    GONE,
    MODULES_CONF,
    SYSCTL,
    SYSCTL_CONF,
    UNDO,
    Step,
    change,
    described,
    put_file,
    remember,
    set_default,
    steps,
    text_of,
)

ABOUT = "The operator's view of the hetcc modules: what is loaded and used, select, undo, unload."


def need_root() -> None:
    """Refuse to begin something that would stop half way."""
    if os.geteuid() != 0:
        raise HetccError("this changes the machine and needs root")


def overriding() -> list[str]:
    """Files that set the default at boot after ours, in the order of systemd-sysctl."""
    files = [p for d in ("/etc", "/run", "/usr/lib") for p in Path(d, "sysctl.d").glob("*.conf")]
    later = [p for p in files if p.name > SYSCTL_CONF.name]
    pattern = re.compile(r"^\s*-?net[./]ipv4[./]tcp_congestion_control\s*=", re.MULTILINE)
    return [str(p) for p in later if pattern.search(text_of(p) or "")]


def command_default(args: argparse.Namespace) -> None:
    """Make one of ours what new connections use, now and after a restart."""
    need_root()
    load(args.name)
    if namespace_key() == FIRST:
        note = "# Written by 'hetcc default'; 'hetcc undo' takes it back.\n"
        for path, line in ((MODULES_CONF, module_of(args.name)), (SYSCTL_CONF, f"{SYSCTL} = {args.name}")):
            text = f"{note}{line}\n"
            change(Step.now("file", str(path), text_of(path), text), lambda path=path, text=text: put_file(path, text))  # type: ignore[misc]
    before = read(IPV4 / "tcp_congestion_control")
    change(Step.now("default", SYSCTL, before, args.name), lambda: set_default(args.name))
    print(f"default: {args.name} (before: {before})")
    if namespace_key() != FIRST:
        print("only in this network namespace, and not kept after a restart")
        return
    for path_name in overriding():
        print(f"note: {path_name} sets another default at boot", file=sys.stderr)


def command_route(args: argparse.Namespace) -> None:
    """Give a destination one of ours, and leave all else of its route as it is."""
    need_root()
    old, own = find_route(args.prefix)
    if own and (old.expires or old.head[5] == RTPROT_RA):
        raise HetccError(
            f"{old}: this route comes from router advertisements and is rewritten by them;\n"
            "  name a more specific prefix, or use 'hetcc default'"
        )
    load(args.name)
    new = (old if own else old.for_prefix(args.prefix)).with_cc(args.name, args.lock)
    step = Step.now("route", str(args.prefix), old.pack().hex() if own else None, new.pack().hex())
    flags = NLM_REPLACE if own else NLM_CREATE | NLM_EXCL
    change(step, lambda: change_route(RTM_NEWROUTE, flags, new))
    was = f"before: {old.cc or 'the default'}" if own else f"new, beside {old}"
    print(f"route: {new} ({was})")


def command_undo(_: argparse.Namespace) -> None:
    """Take back what default and route changed, the latest first."""
    need_root()
    left = steps()
    mine = [step for step in left if step.namespace == namespace_key() or step.stale()]
    if not mine:
        print("nothing to undo")
    failed = 0
    for step in reversed(mine):
        try:
            others = GONE if step.stale() else UNDO[step.kind](step)
        except HetccError as error:
            print(f"hetcc: {step.name}: {error}", file=sys.stderr)
            failed += 1
            continue
        alone = others is not None and others.endswith("left alone")
        print(f"{step.name}: {others if alone else described(step)}")
        if others and not alone:
            print(f"note: {step.name} {others} by others", file=sys.stderr)
        left.remove(step)
        remember(left)
    other = [step for step in left if step not in mine]
    if other:
        print(f"{len(other)} changes were made in other network namespaces: run 'hetcc undo' there", file=sys.stderr)
    if failed:
        raise HetccError(f"{failed} changes could not be taken back; they are kept for the next 'hetcc undo'")


def users_here(ccs: tuple[str, ...], place: str) -> tuple[list[str], list[Connection], int]:
    """Users in one namespace: default and routes as text, connections; and how many references they hold."""
    said = []
    default = read(IPV4 / "tcp_congestion_control")
    if default in ccs:
        said.append(f"{default} is the default of {place}: hetcc undo, or sysctl {SYSCTL}=cubic")
    said += [f"route {route} in {place}: hetcc undo, or ip route replace" for route in routes() if route.cc in ccs]
    found = [c for c in connections() if c.cc in ccs]
    return said, found, len(found) + (default in ccs)


def users_of(module: str) -> list[str]:
    """Everybody who uses a loaded module, wherever they are."""
    said: list[str] = []
    found: list[tuple[Connection, str]] = []
    known = 0
    for path in namespaces().values():
        with inside(path) as entered:
            if not entered and path != "/proc/self/ns/net":
                continue
            text, sockets, references = users_here(MODULES[module], name_of(path))
        said += text
        found += [(c, name_of(path)) for c in sockets]
        known += references
    name_users([c for c, _ in found])
    said += [f"{c.cc}: {c.ends()} in {place}" for c, place in found]
    rest = int(read(Path("/sys/module", module, "refcnt")) or 0) - known
    if rest > 0:
        said.append(f"{rest} more that cannot be named: sockets without a connection, or a namespace being removed")
    return said


def command_unload(args: argparse.Namespace) -> None:
    """Take modules out of the kernel, all of them only if nobody uses any."""
    need_root()
    loaded = [m for m in ([args.module] if args.module else MODULES) if Path("/sys/module", m, "refcnt").exists()]
    used = {module: users for module in loaded if (users := users_of(module))}
    if args.for_removal and steps():
        used["hetcc"] = ["settings made by hetcc are in effect: hetcc undo"]
    if used:
        lines = [f"{module} is used:" + "".join(f"\n  {user}" for user in users) for module, users in used.items()]
        raise HetccError("\n".join(lines))
    for module in loaded:
        done = tool("rmmod", module)
        if done.returncode:
            raise HetccError(done.stderr.strip() or f"rmmod {module} failed")
        print(f"unloaded {module}")
    if not loaded:
        print("not loaded" if args.module else "none is loaded")


def status() -> dict[str, Any]:
    """All that the command shows."""
    found = connections()
    name_users(found)
    return {
        "kernel": os.uname().release,
        "modules": {module: module_status(module) for module in MODULES},
        "default": read(IPV4 / "tcp_congestion_control"),
        "default_at_boot": boot_default(),
        "allowed": read(IPV4 / "tcp_allowed_congestion_control").split(),
        "available": available(),
        "routes": [
            {"route": str(r), "prefix": str(r.prefix), "table": r.table, "congctl": r.cc, "lock": r.locked}
            for r in routes()
            if r.cc
        ],
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


def show_module(name: str, said: dict[str, Any]) -> None:
    """A paragraph about a module."""
    if not said["loaded"]:
        print(f"{name:16} not loaded{'' if said['installed'] else ', not installed for this kernel'}")
        return
    notes = signature(said["taint"], said["signer"])
    if said["file_differs"]:
        notes.append("the installed file is another one: hetcc unload, modprobe")
    print(f"{name:16} {said['version']} {said['srcversion']}, references {said['references']}; {', '.join(notes)}")
    words = [
        f"{key}={p['value']}" + (f" (default {p['default']})" if p["changed"] else "")
        for key, p in said["parameters"].items()
    ]
    print(f"{'':16} {' '.join(words)}")


def show_connection(said: dict[str, Any]) -> None:
    """Two lines about a connection."""
    who = ", ".join(said["users"]) or "-"
    print(f"  {said['cc']:12} {said['local']} > {said['remote']} {said['state']} {who}")
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
    print(f"  {'':12} {', '.join(words)}")


def command_status(args: argparse.Namespace) -> None:
    """Show modules, settings and connections of this network namespace."""
    said = status()
    if args.json:
        print(json.dumps(said, indent=1))
        return
    for name, module in said["modules"].items():
        show_module(name, module)
    boot = f", at boot {said['default_at_boot']}" if said["default_at_boot"] else ""
    print(f"default          {said['default']}{boot}")
    print(f"allowed          {' '.join(said['allowed'])}")
    for route in said["routes"]:
        print(f"route            {route['route']}")
    print(f"connections      {len(said['connections'])}")
    for connection in said["connections"]:
        show_connection(connection)
    if said["changes_to_undo"]:
        print(f"hetcc undo takes back {said['changes_to_undo']} changes")


def a_prefix(text: str) -> Prefix:
    """An argument that is a destination."""
    try:
        return ipaddress.ip_network({"default": "0.0.0.0/0"}.get(text, text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{error}; wanted is an IPv4 or IPv6 prefix such as 198.51.100.0/24 or 2001:db8::/32, or default (IPv4)"
        ) from error


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="hetcc", description=ABOUT, epilog="See hetcc(8).")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, act: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(act=act)
        return sub

    sub = add("status", command_status, "modules, parameters, settings and connections of this network namespace")
    sub.add_argument("--json", action="store_true", help="for programs")
    sub = add("default", command_default, "use a congestion control for all new connections, now and after a restart")
    sub.add_argument("name", choices=OURS, metavar="NAME", help=", ".join(OURS))
    sub = add("route", command_route, "use a congestion control for new connections to a destination")
    sub.add_argument("prefix", type=a_prefix, metavar="PREFIX", help="IPv4 or IPv6, or default (IPv4)")
    sub.add_argument("name", choices=OURS, metavar="NAME", help=", ".join(OURS))
    sub.add_argument("--lock", action="store_true", help="programs may not choose another one")
    add("undo", command_undo, "take back what default and route changed, the latest first")
    sub = add("unload", command_unload, "take modules out of the kernel; names who uses them, if anybody does")
    sub.add_argument("module", nargs="?", choices=MODULES, metavar="MODULE", help=f"{', '.join(MODULES)}; default all")
    sub.add_argument("--for-removal", action="store_true", help="also refuse while 'hetcc undo' has something to do")
    return top


def main() -> int:
    """Entry point; exit status 0 done, 1 refused or failed, 2 wrong arguments."""
    args = parser().parse_args()
    try:
        args.act(args)
    except HetccError as error:
        print(f"hetcc: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"hetcc: {error.filename or 'the kernel'}: {error.strerror}", file=sys.stderr)
        return 1
    return 0
