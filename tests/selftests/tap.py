# SPDX-License-Identifier: GPL-2.0
"""TAP for the selftests in Python."""

import subprocess
import sys

results: list[bool] = []
FAULTS = ("WARNING", "BUG", "UBSAN", "Oops", "divide error")


def ok(good: bool, name: str) -> None:
    """One TAP line."""
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


def finish() -> None:
    """Look into the kernel log, print the plan, end with the status."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    ok(not any(word in log for word in FAULTS), "nothing in the kernel log")
    print(f"1..{len(results)}")
    sys.exit(not all(results))
