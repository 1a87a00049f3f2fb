# SPDX-License-Identifier: GPL-2.0
"""The record of what was changed, and how to take it back."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from . import HetccError
from .modules import IPV4, read, tool
from .netlink import FIRST, namespace_key
from .parameters import get_parameter, same_number, set_parameter
from .routes import RTM_DELROUTE, Route, as_set, change_route, restore_route, same_route

SYSCTL_CONF = Path("/etc/sysctl.d/90-hetcc.conf")
MODULES_CONF = Path("/etc/modules-load.d/90-hetcc.conf")
STATE = Path("/var/lib/hetcc/undo.json")
LOCK = Path("/run/hetcc.lock")
WANTS = Path("/etc/systemd/system/multi-user.target.wants")
SYSCTL = "net.ipv4.tcp_congestion_control"


@dataclass
class Step:
    """One change: a file, the default, a route, a parameter or a unit; values as text, None where there was nothing."""

    kind: str
    name: str
    before: str | None
    after: str | None
    namespace: int
    boot: str

    def stale(self) -> bool:
        """Whether a restart of the machine has undone it: so with routes and other namespaces, not with files."""
        return self.boot != boot_id() and (self.kind == "route" or self.namespace != FIRST)

    @classmethod
    def now(cls, kind: str, name: str, before: str | None, after: str | None) -> "Step":
        """A change that is made now: of the whole machine (file, parameter, unit), else in this network namespace."""
        return cls(kind, name, before, after, namespace_key() if kind in {"default", "route"} else FIRST, boot_id())

    def target(self) -> object:
        """What it changed: two changes of the same thing have the same one."""
        return self.kind, Route.parse(bytes.fromhex(self.after or "")).key if self.kind == "route" else self.name


STEP_KEYS = ("kind", "name", "before", "after", "namespace", "boot")


def boot_id() -> str:
    """The kernel's random number of this start of the machine."""
    return read(Path("/proc/sys/kernel/random/boot_id"))


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Run the block while no other hetcc changes anything."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def steps() -> list[Step]:
    """All changes that are not taken back, oldest first."""
    text = text_of(STATE)
    try:
        return [Step(*(step[key] for key in STEP_KEYS)) for step in json.loads(text or "[]")]
    except (ValueError, TypeError, KeyError) as error:
        raise HetccError(f"{STATE} is not what this version writes ({error!r}): move it away") from error


def remember(all_steps: list[Step]) -> None:
    """Replace the record by a rename, so that it is never half written; without changes there is no file."""
    if not all_steps:
        STATE.unlink(missing_ok=True)
        if STATE.parent.is_dir() and not any(STATE.parent.iterdir()):
            STATE.parent.rmdir()
        return
    STATE.parent.mkdir(parents=True, exist_ok=True)
    part = STATE.with_suffix(".part")
    part.write_text(json.dumps([step.__dict__ for step in all_steps], indent=1) + "\n")
    part.replace(STATE)


def text_of(path: Path) -> str | None:
    """A file's contents, None if there is no file."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def put_file(path: Path, text: str | None) -> None:
    """Write a file, or remove it if the text is None, and then a directory that only hetcc uses."""
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    else:
        path.unlink(missing_ok=True)
        if path.parent.name == "hetcc" and path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    if path.suffix == ".service":
        systemctl("daemon-reload")


def set_default(cc: str) -> None:
    """Set the default congestion control of this network namespace."""
    try:
        (IPV4 / "tcp_congestion_control").write_text(cc)
    except PermissionError as error:
        raise HetccError(
            f"{cc} is not allowed in this network namespace: in the machine's own, add it to\n"
            "  net.ipv4.tcp_allowed_congestion_control"
        ) from error
    except OSError as error:
        raise HetccError(f"the kernel refuses {SYSCTL} = {cc}: {error.strerror}") from error


def systemctl(*args: str) -> None:
    """Have systemd do something; HetccError with its own words if it does not."""
    done = tool("systemctl", *args)
    if done.returncode:
        raise HetccError(f"systemctl {' '.join(args)}: {done.stderr.strip() or f'exit status {done.returncode}'}")


def change(step: Step, act: Callable[[], None], *, merge: bool = False) -> None:
    """Record a change, then make it by act(): if the program is killed in between, undo still knows it.

    merge: earlier changes of the same thing are forgotten, because what they changed is gone.
    """
    if step.before == step.after:
        return
    so_far = steps()
    remember([*(s for s in so_far if not merge or s.target() != step.target()), step])
    try:
        act()
    except (HetccError, OSError):
        remember(so_far)
        raise


def route_now(step: Step) -> str | None:
    """The route as it is, in the form of the record."""
    found = same_route(Route.parse(bytes.fromhex(step.after or "")))
    return found.pack().hex() if found else None


def put_route(step: Step, now: str | None) -> None:
    """Put a route back as it was, or remove it if there was none."""
    if step.before is not None:
        restore_route(Route.parse(bytes.fromhex(step.before)))
    elif now is not None:
        change_route(RTM_DELROUTE, 0, Route.parse(bytes.fromhex(now)))


def same_routes(one: str, other: str) -> bool:
    """Whether two routes of the record differ only in the order of attributes."""
    first, second = (Route.parse(bytes.fromhex(text)) for text in (one, other))
    return as_set(first) == as_set(second)


class Kind(NamedTuple):
    """How changes of one kind are looked at and taken back; values in the form of the record."""

    now: Callable[[Step], str | None]
    put_back: Callable[[Step, str | None], None]
    same: Callable[[str, str], bool] = str.__eq__
    # What it means that there is nothing now: None if it can be put back all the same
    gone: str | None = None


KINDS = {
    "file": Kind(lambda step: text_of(Path(step.name)), lambda step, _: put_file(Path(step.name), step.before)),
    "default": Kind(lambda _: read(IPV4 / "tcp_congestion_control"), lambda step, _: set_default(step.before or "")),
    "route": Kind(route_now, put_route, same_routes, "had been removed: left alone"),
    "parameter": Kind(
        lambda step: get_parameter(step.name),
        lambda step, _: set_parameter(step.name, step.before or ""),
        same_number,
        "module is not loaded: left alone",
    ),
    "unit": Kind(
        lambda step: "enabled" if (WANTS / step.name).is_symlink() else None,
        lambda step, _: systemctl("disable", "--now", step.name),
        gone="had been disabled: left alone",
    ),
}
GONE = "went with an earlier start of the machine: left alone"


def shown(kind: str, value: str | None) -> str:
    """A value of the record for the reader."""
    if value is None:
        return "off" if kind == "unit" else "removed"
    if kind == "file":
        return "as before"
    return str(Route.parse(bytes.fromhex(value))) if kind == "route" else value


def equal(step: Step, one: str | None, other: str | None) -> bool:
    """Whether two values of what a step changed mean the same."""
    return one == other or (one is not None and other is not None and KINDS[step.kind].same(one, other))


def by_others(step: Step, now: str | None) -> str | None:
    """What others made of it since, None if nothing."""
    if equal(step, now, step.after) or equal(step, now, step.before):
        return None
    return "had been edited" if step.kind == "file" else f"had been set to {shown(step.kind, now)}"


@dataclass
class Plan:
    """What undo does about one step: a line for the reader, a note, and whether there is anything to do."""

    step: Step
    now: str | None
    text: str
    note: str | None = None
    needed: bool = True

    def do(self) -> None:
        """Take the step back."""
        if self.needed:
            KINDS[self.step.kind].put_back(self.step, self.now)


def plan(step: Step, now: str | None) -> Plan:
    """How to take a step back from what there is now."""
    kind = KINDS[step.kind]
    # A parameter of an earlier start that was not kept
    forgotten = step.kind == "parameter" and step.boot != boot_id() and not equal(step, now, step.after)
    alone = GONE if step.stale() or forgotten else kind.gone if now is None else None
    if alone:
        return Plan(step, now, alone, needed=False)
    note = by_others(step, now)
    return Plan(step, now, shown(step.kind, step.before), note and f"{step.name} {note} by others")


def plans(of: list[Step], *, pretend: bool) -> Iterator[Plan]:
    """What to do about these steps, the latest first; pretend: as if each had been done when the next is looked at."""
    then: dict[object, str | None] = {}
    for step in reversed(of):
        now = None
        if not step.stale():
            now = then[step.target()] if step.target() in then else KINDS[step.kind].now(step)
        made = plan(step, now)
        if made.needed and pretend:
            then[step.target()] = step.before
        yield made
