# SPDX-License-Identifier: GPL-2.0
"""Changes as they are made and recorded, or with --dry-run only told."""

import os
from collections.abc import Callable
from pathlib import Path

from . import HetccError
from .modules import available, load, module_file, module_of, not_installed
from .undo import Step, change, equal, put_file, shown, systemctl, text_of


class Doing:
    """Makes changes, each recorded so that undo knows it."""

    def load(self, cc: str) -> None:
        """Load the module of a congestion control."""
        load(cc)

    def change(self, step: Step, act: Callable[[], None]) -> None:
        """Make one change by act()."""
        change(step, act)

    def file(self, path: Path, text: str) -> None:
        """Write a file."""
        self.change(Step.now("file", str(path), text_of(path), text), lambda: put_file(path, text))

    def start(self, unit: str) -> None:
        """Start a unit that is enabled already."""
        systemctl("start", unit)

    def say(self, text: str) -> None:
        """What has been done."""
        print(text)

    def end(self) -> None:
        """After the last change."""


class Telling(Doing):
    """Says what would be changed, in the words of ``hetcc undo --dry-run``."""

    def __init__(self) -> None:
        self.told = 0

    def load(self, cc: str) -> None:
        """HetccError where the module is not installed."""
        if cc in available():
            return
        module = module_of(cc)
        if not module_file(module):
            raise HetccError(f"{module} cannot be loaded: {not_installed(os.uname().release)}")
        print(f"{module}: loaded (now: not)")

    def change(self, step: Step, act: Callable[[], None]) -> None:
        """A line, where there is anything to change."""
        if equal(step, step.before, step.after):
            return
        self.told += 1
        if step.kind == "file":
            print(f"{step.name}: {'written' if step.before is None else 'changed'}")
            return
        now = f" (now: {shown(step.kind, step.before)})" if step.before is not None or step.kind == "unit" else ""
        print(f"{step.name}: {shown(step.kind, step.after)}{now}")

    def start(self, unit: str) -> None:
        """A unit that is enabled runs, or will."""

    def say(self, text: str) -> None:
        """Nothing has."""

    def end(self) -> None:
        """How many."""
        print(f"dry run: {self.told} changes, none made")
