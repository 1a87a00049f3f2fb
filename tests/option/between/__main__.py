# SPDX-License-Identifier: GPL-2.0
"""One end of every connection between two machines: python3 tests/option/between client|server FOLDER (TAP).

FOLDER is empty at first and the same for both, which run at the same time: ``hetlab exec --patched --series SERIES``.
"""

import sys
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(TESTS), str(TESTS / "modules" / "selftests")]

import tap
from option.between.ends import CASES, Case, Seen, connection
from option.between.link import Turns
from option.interop.case import Report
from option.interop.oracle import Rules, Verdict, check, offered


def judge(report: Report, case: Case, seen: Seen) -> Verdict:
    """What every connection has to keep, at this end."""
    report.expect(seen.complete, "transfer incomplete or not the same bytes")
    report.expect(offered(seen.packets, synack=False) == case.offered, f"SYN: option not {case.offered}")
    report.expect(offered(seen.packets, synack=True) == case.agreed, f"SYN-ACK: option not {case.agreed}")
    expected = {"TCPSCEstab": int(case.agreed), "TCPSCStripped": 0, "TCPSCMalformed": 0, "InCsumErrors": 0}
    for name, count in expected.items():
        report.expect(seen.counters[name] == count, f"{name} {seen.counters[name]}, not {count}")
    verdict = check(seen.packets, Rules(agreed=case.agreed))
    for fault in verdict.faults:
        report.expect(False, fault)
    report.expect((verdict.echoes > 0) == case.agreed, f"{verdict.echoes} echoes")
    if case.lossy:
        report.expect(seen.path.get("data dropped", 0) and seen.path.get("late", 0), f"way here: {seen.path}")
        report.expect((verdict.bits > 0) == case.agreed, f"{verdict.bits} bits")
    return verdict


def perform(turns: Turns, end: str, case: Case) -> None:
    """One case, one line, and what it has to say."""
    report = Report()
    try:
        seen = connection(turns, end, case)
        verdict = judge(report, case, seen)
        took_us = (seen.packets[-1].time_ns - seen.packets[0].time_ns) // 1000
        report.note(
            f"{len(seen.packets)} packets in {took_us} us, {verdict.echoes} echoes, {verdict.bits} bits, "
            f"{verdict.blocks} blocks, retransmitted {seen.counters['RetransSegs']}, on the way {seen.path}"
        )
    except Exception:
        report.faults.append(traceback.format_exc())
    report.tell(case.name)


def main() -> None:
    """All cases, in step with the other end."""
    end, folder = sys.argv[1], Path(sys.argv[2])
    turns = Turns(folder, end)
    for case in CASES:
        perform(turns, end, case)
    turns.close()
    tap.finish()


if __name__ == "__main__":
    main()
