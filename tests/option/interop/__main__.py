# SPDX-License-Identifier: GPL-2.0
"""Run cases in the patched virtual-time kernel: python3 tests/option/interop [GROUP | NAME]... (TAP)."""

import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(TESTS), str(TESTS / "modules" / "selftests")]

import tap
from option.interop import cases
from option.interop.case import Case, Lacking, Report

BOOT_S = 1  # SYN cookies keep SACK in the clock's low bits, which do not work in the first 64 ms


def perform(case: Case) -> None:
    """One case, one line, and what it has to say."""
    report = Report()
    try:
        case.run(report)
    except Lacking as lacking:
        tap.skip(case.name, str(lacking))
        return
    except Exception:
        report.faults.append(traceback.format_exc())
    report.tell(case.name)


def main() -> None:
    """Those that are named, or all."""
    chosen = sys.argv[1:]
    time.sleep(BOOT_S)
    for case in cases.ALL:
        if not chosen or case.group in chosen or case.name in chosen:
            perform(case)
    tap.finish()


if __name__ == "__main__":
    main()
