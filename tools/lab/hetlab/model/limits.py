# SPDX-License-Identifier: GPL-2.0
"""Allowed range of every quantity that describes a link or a flow.

One table for the scenario files (checked before anything runs) and for the
link class (checked when a script makes a link).
"""

from hetlab.errors import LabError

LIMITS: dict[str, tuple[float, float]] = {
    "rate_mbit": (0.001, 100_000),
    "rate_share": (0.001, 100),
    "changed_rate_mbit": (0, 100_000),
    "changed_rate_share": (0, 100),
    "delay_ms": (0, 100_000),
    "jitter_ms": (0, 10_000),
    "queue_pkts": (1, 10_000_000),
    "queue_bytes": (1500, 2**32 - 1),
    "queue_bdp": (0.001, 1000),
    "cwnd_max_bdp": (0.001, 1000),
    "percent": (0, 100),
    "ber": (0, 0.01),
    "probability": (0, 1),
    "mtu": (576, 65_535),
    "duration_s": (0.01, 86_400),
    "start_s": (0, 86_400),
    "count": (1, 1000),
    "port": (1, 65_535),
    "initcwnd": (1, 100_000),
    "sample_ms": (1, 60_000),
    "slot_ms": (0.01, 1000),
    "slot_pkts": (1, 100_000),
    "at_s": (0, 86_400),
    "every_s": (0.001, 86_400),
    "loss_percent": (0, 100),
    "skew_ppm": (-1000, 1000),
    "offset_s": (-1_000_000, 1_000_000),
    "mark_above_ms": (0.001, 10_000),
    "gap_pkts": (1, 10_000),
    "burst_bytes": (64, 1_000_000_000),
    "blackhole_bytes": (68, 65_534),
}


def in_range(name: str, value: float, what: str = "") -> None:
    """Raise LabError naming the quantity, its value and its range when it is outside."""
    low, high = LIMITS[name]
    if not low <= value <= high:
        raise LabError(f"{what or name}={value:g}: allowed range is {low:.12g}..{high:.12g}")
