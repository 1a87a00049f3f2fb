# SPDX-License-Identifier: GPL-2.0
"""Synthetic traces: links like cellular ones, like Starlink, like Wi-Fi. Same parameters, same values.

``cellular``: the rate is a Brownian motion in steps of 20 ms, reflected at 0 and pulled to its mean with a time
constant of 10 s, volatility ``sigma`` * sqrt(mean) per sqrt(s); outages are a Poisson process (mean 20 s apart), 0.3 s
long on average. The idea is Sprout's link model (Winstein, Sivaraman, Balakrishnan, NSDI 2013), the constants are ours.

``starlink``: each 15 s a new level of the rate (0.6 to 1.4 of the mean) and a new delay (7 to 16 ms), with 60 ms
without service and 100 ms of 20 to 50 ms more delay at each change. Constants ours, after the look of LeoCC's traces.

``wifi``: a constant rate, and the delay of draft-huitema-ccwg-c4-test's Wi-Fi: N1 ms less a uniform part of one, N1
Poisson with mean 1 (contention), and with probability x, of jitter J ms x = (J - 1) / 90, besides 7.5 N2 ms, N2
Poisson with mean 12 (stops). There each packet draws its own; here all of a millisecond share one.

Of both rates a Poisson number of opportunities comes together each 2 ms, as base stations serve in bursts.
"""

import math
import random
from array import array
from dataclasses import dataclass, fields

from hetlab.errors import LabError, meant
from hetlab.model.limits import LIMITS
from hetlab.model.trace import MS, OPPORTUNITY_BITS, Steps, Table, Trace, constant

STEP_MS = 20
GRAIN_MS = 2
RECONFIGURATION_S = 15
PHASE_S = 5
OUTAGE_EVERY_S = 20
OUTAGE_S = 0.3
WIFI_STEP_MS = 1
LONGEST_S = 3600


@dataclass(frozen=True)
class Recipe:
    """Parameters of a synthetic trace; ``jitter_ms`` is Wi-Fi's J, ``sigma`` the volatility of cellular."""

    kind: str
    seed: int = 1
    mean_mbit: float = 8
    duration_s: float = 60
    sigma: float = 1
    jitter_ms: float = 7

    def __post_init__(self) -> None:
        ranges = {"seed": (0, 2**32 - 1), "mean_mbit": (0.01, 10_000), "duration_s": (1, LONGEST_S)}
        ranges |= {"sigma": (0, 10), "jitter_ms": (0, 1000)}
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise LabError(f"{self.kind}: {name}={getattr(self, name):g}: allowed range is {low:.12g}..{high:.12g}")
        if (packets := self.mean_mbit * 1e6 * self.duration_s / OPPORTUNITY_BITS) > LIMITS["queue_pkts"][1]:
            raise LabError(f"{self.kind}: {packets:,.0f} opportunities: make mean_mbit or duration_s smaller")

    @property
    def spelt(self) -> str:
        """As a scenario has it: ``cellular:seed=1,mean_mbit=8,duration_s=60``."""
        default = Recipe(self.kind)
        words = [f"{f.name}={getattr(self, f.name):g}" for f in fields(self)[1:4]]
        words += [f"{f.name}={getattr(self, f.name):g}" for f in fields(self)[4:] if not _same(self, default, f.name)]
        return f"{self.kind}:{','.join(words)}"


def _same(one: Recipe, other: Recipe, name: str) -> bool:
    return bool(getattr(one, name) == getattr(other, name))


def is_recipe(text: str) -> bool:
    """Whether a text names a kind of synthetic trace and not a file."""
    return text.partition(":")[0] in MAKERS


def recipe(text: str) -> Recipe:
    """``KIND[:NAME=VALUE,...]``; LabError naming the parameter."""
    kind, _, rest = text.partition(":")
    if kind not in MAKERS:
        raise LabError(f"{text}: no synthetic trace {kind!r}; there are: {', '.join(MAKERS)}")
    known = [f.name for f in fields(Recipe) if f.name != "kind"]
    given: dict[str, float] = {}
    for word in filter(None, rest.split(",")):
        name, _, value = word.partition("=")
        if name not in known:
            raise LabError(f"{text}: no parameter {name!r}{meant(name, known)}; there are: {', '.join(known)}")
        try:
            given[name] = int(value) if name == "seed" else float(value)
        except ValueError:
            raise LabError(f"{text}: {name}={value!r}: must be a {'whole ' if name == 'seed' else ''}number") from None
    return Recipe(kind, **given)  # type: ignore[arg-type]


def make(wanted: Recipe) -> Trace:
    """The trace of a recipe."""
    return Trace(MAKERS[wanted.kind](wanted))


class Source:
    """Random numbers from random() alone, which no version of Python changes."""

    def __init__(self, seed: int) -> None:
        self._uniform = random.Random(seed).random

    def uniform(self, low: float, high: float) -> float:
        """Between two numbers."""
        return low + (high - low) * self._uniform()

    def exponential(self, mean: float) -> float:
        """With this mean."""
        return -mean * math.log(1.0 - self._uniform())

    def normal(self) -> float:
        """Mean 0, variance 1 (Box and Muller)."""
        return math.sqrt(-2.0 * math.log(1.0 - self._uniform())) * math.cos(2.0 * math.pi * self._uniform())

    def poisson(self, mean: float) -> int:
        """Knuth's method, in parts for which exp(-mean) is not 0."""
        count = 0
        while mean > 500:
            count, mean = count + self.poisson(500), mean - 500
        limit, product = math.exp(-mean), self._uniform()
        while product > limit:
            count, product = count + 1, product * self._uniform()
        return count


def _cellular(wanted: Recipe) -> tuple[Table, ...]:
    src, step_s, mean = Source(wanted.seed), STEP_MS / 1e3, wanted.mean_mbit
    rate, rates, outage_left_s = mean, [], 0.0
    for _ in range(round(wanted.duration_s / step_s)):
        pull = 0.1 * (mean - rate) * step_s
        rate = abs(rate + pull + wanted.sigma * math.sqrt(mean) * math.sqrt(step_s) * src.normal())
        if outage_left_s <= 0 and src.uniform(0, 1) < step_s / OUTAGE_EVERY_S:
            outage_left_s = src.exponential(OUTAGE_S)
        rates.append(0.0 if outage_left_s > 0 else rate)
        outage_left_s -= step_s
    return (_opportunities(src, _scaled(rates, mean)),)


def _starlink(wanted: Recipe) -> tuple[Table, ...]:
    src, rates, delays = Source(wanted.seed), [], Steps("delay")
    level, base_ms, slot = 1.0, 10.0, -1
    for k in range(round(wanted.duration_s * 1e3 / STEP_MS)):
        t_s = k * (STEP_MS / 1e3)
        now = math.floor((t_s - PHASE_S) / RECONFIGURATION_S)
        since_s = (t_s - PHASE_S) - RECONFIGURATION_S * now
        if now != slot:
            slot, level, base_ms = now, src.uniform(0.6, 1.4), src.uniform(7.0, 16.0)
        noise = 0.08 * src.normal()
        rates.append(max(0.0, wanted.mean_mbit * level * (1 + noise)) if since_s >= 0.06 else 0.0)
        for half in range(2):
            rare = src.exponential(6) if since_s >= 0.1 and src.uniform(0, 1) < 0.01 else 0.0
            spike_ms = src.uniform(20, 50) if since_s < 0.1 else rare
            delay_ms = base_ms + 0.15 * since_s + src.uniform(0, 2) + spike_ms
            delays.add((k * STEP_MS + half * STEP_MS // 2) * MS, round(round(delay_ms, 1) * MS))
    return _opportunities(src, _scaled(rates, wanted.mean_mbit)), delays.table(len(rates) * STEP_MS * MS)


def _wifi(wanted: Recipe) -> tuple[Table, ...]:
    src, delays = Source(wanted.seed), Steps("delay")
    stop = min(max((wanted.jitter_ms - 1) / 90, 0.0), 1.0)
    count = round(wanted.duration_s * 1e3 / WIFI_STEP_MS)
    for k in range(count):
        contention, part = src.poisson(1), src.uniform(0, 1)
        delay_ms = contention - (part if contention else 0) + (7.5 * src.poisson(12) if src.uniform(0, 1) < stop else 0)
        delays.add(k * WIFI_STEP_MS * MS, round(delay_ms * MS))
    return constant("rate", round(wanted.mean_mbit * 1e6)), delays.table(count * WIFI_STEP_MS * MS)


def _scaled(rates: list[float], mean: float) -> list[float]:
    """Rates with exactly this mean."""
    total = sum(rates)
    if not total:
        raise LabError("a synthetic trace without any capacity: take another seed")
    return [rate * mean * len(rates) / total for rate in rates]


def _opportunities(src: Source, rates: list[float]) -> Table:
    """A Poisson number of them at the begin of each grain; the period ends with the last one."""
    times, counts = array("Q"), array("Q")
    for k, rate in enumerate(rates):
        for grain in range(STEP_MS // GRAIN_MS):
            mean = rate * 1e3 * GRAIN_MS / OPPORTUNITY_BITS
            if number := src.poisson(mean) if mean > 0 else 0:
                times.append((k * STEP_MS + grain * GRAIN_MS) * MS)
                counts.append(number)
    if not times or not times[-1]:
        raise LabError("a synthetic trace with hardly any opportunity: make it longer or faster")
    return Table("opportunities", times[-1], times, counts)


MAKERS = {"cellular": _cellular, "starlink": _starlink, "wifi": _wifi}
