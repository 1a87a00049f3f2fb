# SPDX-License-Identifier: GPL-2.0
"""Chromium without a window, told by its own protocol through two pipes what a person would do at a keyboard."""

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
# What the browser is told of a key: its code, and what it types
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " ")}
SHIFT = 8


def program() -> str:
    """The browser; AssertionError where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), "")
    assert found, "no Chromium here: tools/setup.sh --check installs it"
    return found


def command(profile: Path, *options: str) -> list[str]:
    """How it is started, with a profile of its own."""
    common = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    return [program(), *common, *options]


class Browser:
    """One page, driven by keys."""

    def __init__(self, page: Path, profile: Path) -> None:
        (self.theirs_in, self.ours_out), (self.ours_in, self.theirs_out) = os.pipe(), os.pipe()
        start = shlex.join(command(profile, "--remote-debugging-pipe"))
        self.proc = subprocess.Popen(
            ["bash", "-c", f"exec {start} 3<&{self.theirs_in} 4>&{self.theirs_out}"],
            pass_fds=(self.theirs_in, self.theirs_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(self.theirs_in)
        os.close(self.theirs_out)
        self.answers = open(self.ours_in, "rb", buffering=0)  # noqa: SIM115 - closed in __exit__
        self.number, self.session, self.rest = 0, "", b""
        target = self.call("Target.createTarget", url=page.as_uri())["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        while self.value("[location.href, document.readyState]") != [page.as_uri(), "complete"]:
            time.sleep(0.05)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.proc.kill()
        self.proc.wait()
        self.answers.close()
        os.close(self.ours_out)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers to one of its methods."""
        self.number += 1
        told = {"id": self.number, "method": method, "params": params}
        told |= {"sessionId": self.session} if self.session else {}
        os.write(self.ours_out, json.dumps(told).encode() + b"\0")
        while (answer := self._next()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = self.answers.read(65_536)
            assert more, "the browser has ended"
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\0")
        told: dict[str, Any] = json.loads(first)
        return told

    def value(self, script: str) -> Any:
        """Of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, shift: bool = False) -> None:
        """A key, down and up."""
        code, text = KEYS[key]
        name = "Space" if key == " " else key
        common = {"key": key, "code": name, "windowsVirtualKeyCode": code, "modifiers": SHIFT if shift else 0}
        typed = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
