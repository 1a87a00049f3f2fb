# SPDX-License-Identifier: GPL-2.0
"""Changes of links while an experiment runs."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from hetlab.model.keys import Checked, Key, ModelError, OneOrMore
from hetlab.model.link import Direction, Loss

RATE_CHANGES = {"rate_mbit", "rate_share"}
# These must follow the queue, see hetlab.emulation.qdiscs; a constant delay and independent losses need not
IMPAIRMENTS = ("jitter_ms", "slot_ms", "slot_pkts", "loss", "reorder_percent", "reorder_gap_pkts", "duplicate_percent")
CHANGES = ("delay_ms", "rate_mbit", "rate_share", "loss_percent", *IMPAIRMENTS)
# Of these a change to 0 is none at all
OFF_AT_0 = {"slot_ms", "slot_pkts", "reorder_gap_pkts"}
SHORTEST_SLOT_MS = 0.01
Values = tuple[float, ...] | None
Counts = tuple[int, ...] | None


@dataclass(frozen=True, kw_only=True)
class Event(Checked):
    """Changes of a running link, once or again and again.

    A list of values is gone through, one at each repetition, and then again. ``rate_share`` counts in the link's rate.
    ``loss_percent`` puts random loss in the place of the link's loss; 100 is an outage. ``loss`` is any model of loss.
    After ``duration_s`` the values are as they were when the event happened.
    """

    at_s: Annotated[float, Key("when it happens first", "at_s")]
    every_s: Annotated[float | None, Key("and again after each such time", "every_s")] = None
    link: Annotated[str, Key("name of the link")]
    way: Annotated[Literal["forward", "reverse", "both"], Key("which direction changes")] = "both"
    delay_ms: Annotated[Values, Key("new propagation delay", "delay_ms"), OneOrMore()] = None
    rate_mbit: Annotated[
        Values, Key("new rate; 0 needs rate_at_once of the link", "changed_rate_mbit"), OneOrMore()
    ] = None
    rate_share: Annotated[Values, Key("new rate as a share of the link's own", "changed_rate_share"), OneOrMore()] = (
        None
    )
    loss_percent: Annotated[Values, Key("random loss from then on", "loss_percent"), OneOrMore()] = None
    jitter_ms: Annotated[Values, Key("new jitter; 0: none", "jitter_ms"), OneOrMore()] = None
    slot_ms: Annotated[Values, Key("new slots; 0: none", low=0, high=1000), OneOrMore()] = None
    slot_pkts: Annotated[Counts, Key("packets of a slot; 0: any number", low=0, high=100_000), OneOrMore()] = None
    loss: Annotated[tuple[Loss, ...] | None, Key("loss from then on, as a link has it"), OneOrMore()] = None
    reorder_percent: Annotated[Values, Key("packets that overtake others", "percent"), OneOrMore()] = None
    reorder_gap_pkts: Annotated[
        Counts, Key("least distance of packets that overtake; 0: 1", low=0, high=10_000), OneOrMore()
    ] = None
    duplicate_percent: Annotated[Values, Key("packets that arrive twice", "percent"), OneOrMore()] = None
    duration_s: Annotated[float | None, Key("for how long; none: from then on", "duration_s")] = None

    @property
    def changes(self) -> dict[str, tuple[Any, ...]]:
        """What changes, with the values it goes through."""
        return {name: values for name in CHANGES if (values := getattr(self, name))}

    @property
    def ways(self) -> tuple[str, ...]:
        """Directions that change."""
        return ("forward", "reverse") if self.way == "both" else (self.way,)

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""
        if not self.changes:
            raise ModelError(f"nothing changes: give {', '.join(CHANGES)}")
        if self.rate_mbit and self.rate_share:
            raise ModelError("give rate_mbit or rate_share, not both")
        if self.every_s is None and any(len(values) > 1 for values in self.changes.values()):
            raise ModelError("a list of values needs every_s")
        if self.loss and self.loss_percent is not None:
            raise ModelError("give loss or loss_percent, not both")
        if short := [ms for ms in self.slot_ms or () if 0 < ms < SHORTEST_SLOT_MS]:
            raise ModelError(f"slot_ms={short[0]:g}: allowed range is 0, {SHORTEST_SLOT_MS:g}..1000")
        if self.duration_s is not None and self.every_s is not None and self.duration_s >= self.every_s:
            raise ModelError(f"duration_s={self.duration_s:g}: not below every_s={self.every_s:g}")


@dataclass(frozen=True, kw_only=True)
class Change(Checked):
    """A single change of one direction; what is None stays as it is."""

    at_s: Annotated[float, Key("when it happens")]
    link: Annotated[str, Key("name of the link")]
    way: Annotated[str, Key("forward or reverse")]
    delay_ms: Annotated[float | None, Key("new propagation delay")] = None
    rate_mbit: Annotated[float | None, Key("new rate")] = None
    loss_percent: Annotated[float | None, Key("random loss from then on")] = None
    jitter_ms: Annotated[float | None, Key("new jitter", sparse=True)] = None
    slot_ms: Annotated[float | None, Key("new slots; 0: none", sparse=True)] = None
    slot_pkts: Annotated[int | None, Key("packets of a slot; 0: any number", sparse=True)] = None
    loss: Annotated[Loss | None, Key("loss from then on", sparse=True)] = None
    reorder_percent: Annotated[float | None, Key("packets that overtake others", sparse=True)] = None
    reorder_gap_pkts: Annotated[int | None, Key("least distance of packets that overtake", sparse=True)] = None
    duplicate_percent: Annotated[float | None, Key("packets that arrive twice", sparse=True)] = None

    @property
    def values(self) -> dict[str, Any]:
        """What changes, as keys of a Direction."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name in CHANGES}
        given = {name: value for name, value in given.items() if value is not None}
        percent = given.pop("loss_percent", None)
        if percent is not None:
            given["loss"] = Loss("random" if percent else "none", percent)
        return {name: None if name in OFF_AT_0 and not value else value for name, value in given.items()}

    @property
    def impairs(self) -> bool:
        """Whether it changes what must follow the queue."""
        return any(getattr(self, name) is not None for name in IMPAIRMENTS)

    def back(self, at_s: float, before: Direction) -> "Change":
        """The change that makes what this one changes as it was ``before``."""
        given = {name: getattr(before, name) for name in self.values}
        given = {name: 0 if name in OFF_AT_0 and value is None else value for name, value in given.items()}
        return Change(at_s=at_s, link=self.link, way=self.way, **given)
