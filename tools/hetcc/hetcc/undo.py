# SPDX-License-Identifier: GPL-2.0
"""The record of what was changed, and how to take it back."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import HetccError
from .modules import IPV4, read
from .netlink import FIRST, namespace_key
from .routes import RTM_DELROUTE, Route, as_set, change_route, restore_route, same_route

SYSCTL_CONF = Path("/etc/sysctl.d/90-hetcc.conf")
MODULES_CONF = Path("/etc/modules-load.d/90-hetcc.conf")
STATE = Path("/var/lib/hetcc/undo.json")
SYSCTL = "net.ipv4.tcp_congestion_control"


@dataclass
class Step:
    """One change: a file, the default, or a route; values as text, None where there was nothing."""

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
        """A change that is made now, in this network namespace."""
        return cls(kind, name, before, after, namespace_key(), boot_id())


STEP_KEYS = ("kind", "name", "before", "after", "namespace", "boot")


def boot_id() -> str:
    """The kernel's random number of this start of the machine."""
    return read(Path("/proc/sys/kernel/random/boot_id"))


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
    """Write a file, or remove it if the text is None."""
    if text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


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


def change(step: Step, act: Callable[[], None]) -> None:
    """Record a change, then make it by act(): if the program is killed in between, undo still knows it."""
    if step.before == step.after:
        return
    so_far = steps()
    remember([*so_far, step])
    try:
        act()
    except (HetccError, OSError):
        remember(so_far)
        raise


def undo_file(step: Step) -> str | None:
    """Put a file's text back; what others did to it since, None if nothing (as all of UNDO)."""
    path = Path(step.name)
    now = text_of(path)
    put_file(path, step.before)
    return None if now in {step.after, step.before} else "had been edited"


def undo_default(step: Step) -> str | None:
    """Put the default congestion control back."""
    now = read(IPV4 / "tcp_congestion_control")
    set_default(step.before or "")
    return None if now in {step.after, step.before} else f"had been set to {now}"


def undo_route(step: Step) -> str | None:
    """Put a route back as it was, or remove it if there was none."""
    ours = Route.parse(bytes.fromhex(step.after or ""))
    now = same_route(ours)
    if now is None:
        return "had been removed: left alone"
    others = None if as_set(now) == as_set(ours) else f"had been changed to {now}"
    if step.before is None:
        change_route(RTM_DELROUTE, 0, now)
        return others
    restore_route(Route.parse(bytes.fromhex(step.before)))
    return others


GONE = "went with an earlier start of the machine: left alone"
UNDO = {"file": undo_file, "default": undo_default, "route": undo_route}


def described(step: Step) -> str:
    """What there is again once a change is taken back."""
    if step.kind == "route":
        return str(Route.parse(bytes.fromhex(step.before))) if step.before else "removed"
    if step.kind == "file":
        return "removed" if step.before is None else "as before"
    return str(step.before)
