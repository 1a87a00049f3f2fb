# SPDX-License-Identifier: GPL-2.0
"""Traces as text of the formats that hetlab.model.trace reads."""

from array import array
from itertools import chain

from hetlab.errors import LabError
from hetlab.model.trace import MS, NS, OPPORTUNITY_BITS, SAMPLE_MS, Table, Trace

UNIT = {"rate": ("rate_mbit", 1e-6), "delay": ("delay_ms", 1e-6), "loss": ("loss_percent", 100 / 2**32)}
# A rate becomes opportunities for this long where it does not repeat
STEADY_S = 60


def mahimahi(trace: Trace) -> str:
    """The millisecond of each opportunity; of a rate those that carry as many bits."""
    table = trace.capacity
    if table is None:
        raise LabError("the trace has no capacity, which is all that Mahimahi's format has")
    if table.kind == "rate":
        return "".join(f"{ms}\n" for ms in _of_rate(table))
    return "".join(f"{t // MS}\n" * n for t, n in zip(table.t_ns, table.value, strict=True))


def _of_rate(table: Table) -> list[int]:
    """The millisecond at which each further 1500 bytes are complete; the last one closes the period."""
    lasts_ms = (table.period_ns or STEADY_S * NS) // MS
    if not table.bits(lasts_ms * MS) >= OPPORTUNITY_BITS:
        raise LabError(f"the trace carries less than one packet in {lasts_ms / 1e3:g} s")
    times: list[int] = []
    for ms in range(1, lasts_ms + 1):
        times += [ms] * (table.bits(ms * MS) // OPPORTUNITY_BITS - len(times))
    if times[-1] < lasts_ms:  # or it would repeat too early
        times.append(lasts_ms)
    return times


def csv(trace: Trace, bin_ns: int) -> str:
    """All tables over one time; opportunities as the mean rate of each ``bin_ns``."""
    tables = [_as_rate(t, bin_ns) if t.kind == "opportunities" else t for t in trace.tables]
    times = sorted(set(chain.from_iterable(t.t_ns for t in tables)))
    period_ns = max(t.period_ns for t in tables)
    if period_ns and (len(times) < 2 or 2 * times[-1] - times[-2] != period_ns):
        times = _closed(times, period_ns)
    lines = [",".join(["t_s", *(UNIT[t.kind][0] for t in tables)])]
    at = [0] * len(tables)
    for now in times:
        for i, table in enumerate(tables):
            while at[i] + 1 < len(table.t_ns) and table.t_ns[at[i] + 1] <= now:
                at[i] += 1
        cells = [f"{t.value[k] * UNIT[t.kind][1]:.9g}" for t, k in zip(tables, at, strict=True)]
        lines.append(",".join([f"{now / NS:.9g}", *cells]))
    return "\n".join(lines) + "\n"


def _closed(times: list[int], period_ns: int) -> list[int]:
    """Times with one or two more at the end, so that the last one lasts as long as the one before it."""
    middle = (times[-1] + period_ns) // 2
    return [*times, middle] if middle > times[-1] else times


def _as_rate(table: Table, bin_ns: int) -> Table:
    """Mean rates of bins; what comes at the end of the last one belongs to it."""
    count = max(-(-table.period_ns // bin_ns), 1)
    bits = [0] * count
    for t, n in zip(table.t_ns, table.value, strict=True):
        bits[min(t // bin_ns, count - 1)] += n * OPPORTUNITY_BITS
    rates = array("Q", (round(b * NS / bin_ns) for b in bits))
    return Table("rate", count * bin_ns, array("Q", (k * bin_ns for k in range(count))), rates)


def delays(trace: Trace) -> str:
    """The delay (ms) each 10 ms."""
    table = trace.of("delay")
    if table is None:
        raise LabError("the trace has no delay")
    at, lines = 0, []
    for now in range(0, table.period_ns or SAMPLE_MS * MS, SAMPLE_MS * MS):
        while at + 1 < len(table.t_ns) and table.t_ns[at + 1] <= now:
            at += 1
        lines.append(f"{table.value[at] / MS:.6g}\n")
    return "".join(lines)
