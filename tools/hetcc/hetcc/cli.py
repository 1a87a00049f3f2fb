# SPDX-License-Identifier: GPL-2.0
"""The commands: status, default, route, set, undo, unload, watch."""

import argparse
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from . import HetccError
from .diag import Connection, connections, name_users
from .doing import Doing, Telling
from .kept import Kept, keep, kept_routes, need_keepable
from .modules import IPV4, MODULES, OURS, is_loaded, module_of, read, tool
from .netlink import FIRST, NLM_CREATE, NLM_EXCL, NLM_REPLACE, inside, name_of, namespace_key, namespaces
from .parameters import CONF, Setting, find_setting, get_parameter, kept_value, plain, set_parameter, with_setting
from .parameters import overriding as overriding_modprobe
from .routes import RTM_NEWROUTE, RTPROT_RA, Prefix, a_network, change_route, find_route, routes
from .status import command_status
from .undo import (
    MODULES_CONF,
    SYSCTL,
    SYSCTL_CONF,
    Step,
    one_at_a_time,
    plans,
    remember,
    set_default,
    shown,
    steps,
    text_of,
)
from .watch import watch

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


def doing(args: argparse.Namespace) -> Doing:
    """What makes the changes of a command, as root, or only tells them."""
    if args.dry_run:
        return Telling()
    need_root()
    return Doing()


def command_default(args: argparse.Namespace) -> None:
    """Make one of ours what new connections use, now and after a restart."""
    do = doing(args)
    do.load(args.name)
    if namespace_key() == FIRST:
        note = "# Written by 'hetcc default'; 'hetcc undo' takes it back.\n"
        for path, line in ((MODULES_CONF, module_of(args.name)), (SYSCTL_CONF, f"{SYSCTL} = {args.name}")):
            do.file(path, f"{note}{line}\n")
    before = read(IPV4 / "tcp_congestion_control")
    do.change(Step.now("default", SYSCTL, before, args.name), lambda: set_default(args.name))
    do.say(f"default: {args.name} (before: {before})")
    if namespace_key() != FIRST:
        print("only in this network namespace, and not kept after a restart")
    else:
        for path_name in overriding():
            print(f"note: {path_name} sets another default at boot", file=sys.stderr)
    do.end()


def command_route(args: argparse.Namespace) -> None:
    """Give a destination one of ours, and leave all else of its route as it is."""
    do = doing(args)
    old, own = find_route(args.prefix)
    if own and (old.expires or old.head[5] == RTPROT_RA):
        raise HetccError(
            f"{old}: this route comes from router advertisements and is rewritten by them;\n"
            "  name a more specific prefix, or use 'hetcc default'"
        )
    if args.keep:
        need_keepable()
    elif namespace_key() == FIRST and args.prefix in {k.prefix for k in kept_routes()}:
        raise HetccError(f"{args.prefix} is a kept route: add --keep to change it, or take it back by 'hetcc undo'")
    added = not own or added_by_us(args.prefix)
    do.load(args.name)
    new = (old if own else old.for_prefix(args.prefix)).with_cc(args.name, args.lock)
    step = Step.now("route", str(args.prefix), old.pack().hex() if own else None, new.pack().hex())
    flags = NLM_REPLACE if own else NLM_CREATE | NLM_EXCL
    do.change(step, lambda: change_route(RTM_NEWROUTE, flags, new))
    was = f"before: {old.cc or 'the default'}" if own else f"new, beside {old}"
    do.say(f"route: {new} ({was})")
    if args.keep:
        keep(Kept(args.prefix, args.name, args.lock, added), do)
        do.say("kept: hetcc-routes.service does this at boot, and whenever the route is made again")
    do.end()


def added_by_us(prefix: Prefix) -> bool:
    """Whether a destination has a route of its own only because hetcc added it."""
    mine = [step for step in steps() if step.kind == "route" and step.name == str(prefix) and not step.stale()]
    kept = next((k for k in kept_routes() if k.prefix == prefix), None)
    return kept.add if kept else any(step.before is None for step in mine)


def command_set(args: argparse.Namespace) -> None:
    """Give parameters of the modules new values, now and with --keep also whenever the module is loaded."""
    do = doing(args)
    loaded = {module: is_loaded(module) for module in MODULES}
    for setting in [find_setting(text) for text in args.settings]:
        if not loaded[setting.module]:
            do.load(MODULES[setting.module][0])
            loaded[setting.module] = True
        before = get_parameter(setting.name)
        step = Step.now("parameter", setting.name, before, same_form(setting.value, before))
        do.change(step, lambda setting=setting: set_parameter(setting.name, setting.value))  # type: ignore[misc]
        now = setting.value if args.dry_run else get_parameter(setting.name) or ""
        do.say(f"{setting.name}: {plain(now)} (before: {plain(before or '')})")
        if args.keep:
            keep_setting(setting._replace(value=plain(now)), do)
        elif kept := kept_value(text_of(CONF), setting.name):
            print(f"note: {CONF} still has {kept}, for the next loading; --keep changes it", file=sys.stderr)
    do.end()


def same_form(value: str, like: str | None) -> str:
    """A number with as many decimals as another; what is no number stays, for the module to refuse."""
    try:
        return f"{float(value):.{len((like or '').partition('.')[2])}f}"
    except ValueError:
        return value


def keep_setting(setting: Setting, do: Doing) -> None:
    """Have modprobe give a parameter this value from now on."""
    do.file(CONF, with_setting(text_of(CONF), setting))
    do.say(f"kept: {CONF}")
    for path_name in overriding_modprobe(setting.name):
        print(f"note: {path_name} sets it too, and is read later", file=sys.stderr)


def command_undo(args: argparse.Namespace) -> None:
    """Take back what default, route and set changed, the latest first."""
    if not args.dry_run:
        need_root()
    left = steps()
    mine = [step for step in left if step.namespace == namespace_key() or step.stale()]
    if not mine:
        print("nothing to undo")
    failed = 0
    for plan in plans(mine, pretend=args.dry_run):
        if args.dry_run:
            now = "" if not plan.needed or plan.step.kind == "file" else f" (now: {shown(plan.step.kind, plan.now)})"
            print(f"{plan.step.name}: {plan.text}{now}")
            continue
        try:
            plan.do()
        except HetccError as error:
            print(f"hetcc: {plan.step.name}: {error}", file=sys.stderr)
            failed += 1
            continue
        print(f"{plan.step.name}: {plan.text}")
        if plan.note:
            print(f"note: {plan.note}", file=sys.stderr)
        left.remove(plan.step)
        remember(left)
    if args.dry_run and mine:
        print(f"dry run: {len(mine)} changes, none taken back")
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
    loaded = [m for m in ([args.module] if args.module else MODULES) if is_loaded(m)]
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


def command_watch(_: argparse.Namespace) -> None:
    """Run the service of kept routes until it is stopped."""
    need_root()
    watch()


def a_prefix(text: str) -> Prefix:
    """An argument that is a destination."""
    try:
        return a_network(text)
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

    tell = "only show what would be changed"
    sub = add("status", command_status, "modules, parameters, settings and connections of this network namespace")
    sub.add_argument("--json", action="store_true", help="for programs")
    sub = add("default", command_default, "use a congestion control for all new connections, now and after a restart")
    sub.add_argument("name", choices=OURS, metavar="NAME", help=", ".join(OURS))
    sub.add_argument("--dry-run", action="store_true", help=tell)
    sub = add("route", command_route, "use a congestion control for new connections to a destination")
    sub.add_argument("prefix", type=a_prefix, metavar="PREFIX", help="IPv4 or IPv6, or default (IPv4)")
    sub.add_argument("name", choices=OURS, metavar="NAME", help=", ".join(OURS))
    sub.add_argument("--dry-run", action="store_true", help=tell)
    sub.add_argument("--lock", action="store_true", help="programs may not choose another one")
    sub.add_argument("--keep", action="store_true", help="also after a restart, and when the route is made again")
    sub = add("set", command_set, "give module parameters new values, for running connections too")
    what = "PARAMETER=VALUE, such as rtt0_ms=40; MODULE.PARAMETER=VALUE if two modules have it"
    sub.add_argument("settings", nargs="+", metavar="SETTING", help=what)
    sub.add_argument("--keep", action="store_true", help="also whenever the module is loaded")
    sub.add_argument("--dry-run", action="store_true", help=f"{tell}; the module alone knows whether it takes a value")
    sub = add("undo", command_undo, "take back what default, route and set changed, the latest first")
    sub.add_argument("--dry-run", action="store_true", help="only show what would be taken back")
    sub = add("unload", command_unload, "take modules out of the kernel; names who uses them, if anybody does")
    sub.add_argument("module", nargs="?", choices=MODULES, metavar="MODULE", help=f"{', '.join(MODULES)}; default all")
    sub.add_argument("--for-removal", action="store_true", help="also refuse while 'hetcc undo' has something to do")
    add("watch", command_watch, "keep the routes of 'route --keep' as they are: what hetcc-routes.service runs")
    return top


def main() -> int:
    """Entry point; exit status 0 done, 1 refused or failed, 2 wrong arguments."""
    args = parser().parse_args()
    try:
        if args.act in {command_default, command_route, command_set, command_undo} and os.geteuid() == 0:
            with one_at_a_time():
                args.act(args)
        else:
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
