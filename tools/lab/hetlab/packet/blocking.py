# SPDX-License-Identifier: GPL-2.0
"""A call that blocks: made in a thread of its own, while the script goes on."""

import os
import threading
import time
from collections.abc import Callable


class Blocking:
    """A call that has begun. ``fd`` becomes readable at the instant at which it ends."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.fd, self._told = os.pipe()
        self.ended_us: int | None = None
        self._call = call
        self._value: object = None
        self._error: Exception | None = None
        self._begun = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        # The thread has its turn now, and not when this one has to wait
        while not self._begun.is_set():
            time.sleep(0)
        time.sleep(0)

    def _run(self) -> None:
        self._begun.set()
        try:
            self._value = self._call()
        except Exception as error:  # is raised where the result is asked for
            self._error = error
        os.write(self._told, b"\0")

    def result(self) -> object:
        """What the call returned or raised; only behind its end."""
        os.close(self.fd)
        os.close(self._told)
        if self._error:
            raise self._error
        return self._value
