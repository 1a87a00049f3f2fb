# SPDX-License-Identifier: GPL-2.0
"""Links as they are asked for: loss and the two directions; standard library only, guests import this."""

from dataclasses import dataclass, field

from hetlab.errors import LabError
from hetlab.model.limits import in_range

AQM_KINDS = ("fifo", "red", "fq_codel", "codel", "pie", "fq", "cake")
LOSS_MODELS = ("none", "random", "ber", "gemodel")


@dataclass(frozen=True)
class Loss:
    """Random loss of one direction.

    ``random``: each packet with probability ``percent``. ``ber``: bit errors with
    rate ``ber`` at full-size packets, 1 - (1 - ber)^(8 mtu). ``gemodel``: a loss
    burst begins with probability ``percent`` and lasts ``burst_pkts`` on average.
    """

    model: str = "none"
    percent: float = 0.0
    ber: float = 0.0
    burst_pkts: float = 1.0

    def __post_init__(self) -> None:
        if self.model not in LOSS_MODELS:
            raise LabError(f"loss model={self.model!r}: one of {', '.join(LOSS_MODELS)}")
        in_range("percent", self.percent, "loss percent")
        in_range("ber", self.ber, "loss ber")
        if self.burst_pkts < 1:
            raise LabError(f"loss burst_pkts={self.burst_pkts:g}: allowed range is 1..")

    def probability(self, mtu: int) -> float:
        """Probability that a full-size packet starts a loss."""
        if self.model == "ber":
            return float(1 - (1 - self.ber) ** (8 * mtu))
        return self.percent / 100

    def netem(self, mtu: int) -> str:
        """Arguments of netem, empty without loss."""
        p = 100 * self.probability(mtu)
        if self.model == "none" or not p:
            return ""
        if self.model == "gemodel":
            return f"loss gemodel {p:.6f}% {100 / self.burst_pkts:.6f}% 100% 0%"
        return f"loss random {p:.6f}%"


@dataclass(frozen=True)
class Direction:
    """One direction of a link; ``None`` or 0 leaves a property out."""

    rate_mbit: float | None = None
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    jitter_in_order: bool = False
    slot_ms: float | None = None
    slot_pkts: int | None = None
    queue_pkts: int = 1000
    aqm: str = "fifo"
    aqm_options: dict[str, str | int | float] = field(default_factory=dict)
    ack_filter: bool = False
    loss: Loss = Loss()
    reorder_percent: float = 0.0
    duplicate_percent: float = 0.0
    mtu: int = 1500

    def __post_init__(self) -> None:
        if self.aqm not in AQM_KINDS:
            raise LabError(f"aqm={self.aqm!r}: one of {', '.join(AQM_KINDS)}")
        if self.rate_mbit is not None:
            in_range("rate_mbit", self.rate_mbit)
        elif self.aqm != "fifo":
            raise LabError(f"aqm={self.aqm!r} needs rate_mbit")
        if self.ack_filter and self.aqm != "cake":
            raise LabError(f"ack_filter needs aqm='cake', not {self.aqm!r}")
        for name in ("delay_ms", "jitter_ms", "queue_pkts", "mtu"):
            in_range(name, getattr(self, name))
        for name in ("slot_ms", "slot_pkts"):
            if getattr(self, name) is not None:
                in_range(name, getattr(self, name))
        if self.slot_pkts is not None and self.slot_ms is None:
            raise LabError(f"slot_pkts={self.slot_pkts} needs slot_ms")
        in_range("percent", self.reorder_percent, "reorder_percent")
        in_range("percent", self.duplicate_percent, "duplicate_percent")

    @property
    def impaired(self) -> bool:
        """Loss, jitter, slots, reordering or duplication: must follow the queue."""
        return bool(
            self.loss.netem(self.mtu)
            or self.jitter_ms
            or self.jitter_in_order
            or self.slot_ms
            or self.reorder_percent
            or self.duplicate_percent
        )
