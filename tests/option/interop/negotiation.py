# SPDX-License-Identifier: GPL-2.0
"""Who has the option: sysctl and congestion control of both ends, both IP versions."""

from option.interop.case import NONE, REFUSED, Expect, Report, against_plain, case, run_case
from option.interop.flows import Flow
from option.interop.net import Link, Setup

LOSSY = Link(loss_percent=1)


def _both_on(report: Report, version: int, lose_each: int) -> None:
    """Option on both ends, against none, over the same path."""
    what = f"a segment of each {lose_each} bytes lost" if lose_each else "no loss"
    _, verdicts = against_plain(report, what, Setup(), Flow(version), lose_each=lose_each)
    for verdict, bulk in zip(verdicts, ("up", "down"), strict=True):
        report.expect(verdict.longest == 1500, f"{bulk}: longest packet {verdict.longest}, not 1500")
    report.expect(verdicts[1].echoes > 300, f"server: {verdicts[1].echoes} echoes")
    report.expect(not lose_each or verdicts[1].bits > 30, f"server: {verdicts[1].bits} bits")
    report.note(f"echoes {verdicts[1].echoes}, bits {verdicts[1].bits}")


@case("both ends, IPv4", group="negotiation")
def both_v4(report: Report) -> None:
    _both_on(report, 4, 0)


@case("both ends, IPv6", group="negotiation")
def both_v6(report: Report) -> None:
    _both_on(report, 6, 0)


@case("both ends, with losses, IPv4", group="negotiation")
def both_lossy_v4(report: Report) -> None:
    _both_on(report, 4, 100_000)


@case("both ends, with losses, IPv6", group="negotiation")
def both_lossy_v6(report: Report) -> None:
    _both_on(report, 6, 100_000)


# sysctl of the client, of the server, congestion control, what is to come of it
MATRIX: list[tuple[int, int, str, Expect]] = [
    (1, 0, "reno", REFUSED),
    (0, 1, "reno", NONE),
    (0, 0, "santacruz", NONE),
    (2, 2, "reno", NONE),
    (2, 2, "santacruz", Expect()),
    (2, 1, "santacruz", Expect()),
    (2, 0, "santacruz", REFUSED),
    (1, 2, "reno", Expect()),
    (0, 2, "santacruz", NONE),
]


def _register(client: int, server: int, cc: str, expect: Expect, version: int) -> None:
    name = f"client {client} ({cc}), server {server}, IPv{version}"

    @case(name, group="negotiation")
    def pair(report: Report) -> None:
        run_case(report, Setup(client, server, up=LOSSY, down=LOSSY), Flow(version, cc=cc), expect)


for row in MATRIX:
    for ip in (4, 6):
        _register(*row, ip)
