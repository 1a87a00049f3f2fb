# SPDX-License-Identifier: GPL-2.0
"""Changes of links while an experiment runs."""

from dataclasses import dataclass
from typing import Annotated, Literal

from hetlab.model.keys import Checked, Key, ModelError, OneOrMore

RATE_CHANGES = {"rate_mbit", "rate_share"}
CHANGES = ("delay_ms", "rate_mbit", "rate_share", "loss_percent")
Values = tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True)
class Event(Checked):
    """Changes of a running link, once or again and again.

    A list of values is gone through, one at each repetition, and then again. ``rate_share`` counts in the link's rate.
    ``loss_percent`` puts random loss in the place of the link's loss; 100 is an outage.
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

    @property
    def changes(self) -> dict[str, tuple[float, ...]]:
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


@dataclass(frozen=True, kw_only=True)
class Change(Checked):
    """A single change of one direction; what is None stays as it is."""

    at_s: Annotated[float, Key("when it happens")]
    link: Annotated[str, Key("name of the link")]
    way: Annotated[str, Key("forward or reverse")]
    delay_ms: Annotated[float | None, Key("new propagation delay")] = None
    rate_mbit: Annotated[float | None, Key("new rate")] = None
    loss_percent: Annotated[float | None, Key("random loss from then on")] = None
