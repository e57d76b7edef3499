"""What one test says of the metric in use, where users and the metric are held against each other."""

import math
from dataclasses import dataclass

from clickassay.core.text.words import count, percent

MOST_UNEQUAL = 0.03
"""Difference of the judged shares of the arms above which the metric is not compared."""


@dataclass(frozen=True)
class Difference:
    """A difference of treatment and control with its 95% CI; NaN where unknown."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)

    @property
    def is_known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class Compared:
    """What users did, and what the metric says."""

    # users, offline, matched: ΔC, ΔE, and ΔC on judged rankings alone.
    users: Difference
    offline: Difference
    matched: Difference
    margin: float  # Difference of users that is too small to matter, > 0.
    margin_words: str  # The same in words, such as 1%.
    share: float  # Share of all sessions that the offline metric is about; 0..1.
    queries: int  # Units of queries behind it.


def is_unequal(judged: Difference) -> bool:
    """Return whether the arms are judged so unequally that the metric compares judgments, not rankings."""
    return abs(judged.value) > MOST_UNEQUAL and judged.sign != 0


def verdict(said: Compared) -> tuple[str | None, str]:
    """Return the verdict, None where it cannot be given, and what it rests on beside the two intervals."""
    users, offline = said.users, said.offline
    if not users.is_known or not offline.is_known:
        return None, "no interval: too few users or judged queries of both arms"
    if users.sign and offline.sign:
        return ("agree" if users.sign == offline.sign else "contradict"), _of_both(said)
    if offline.sign:
        return "offline_only", _of_users(said)
    if users.sign:
        return "online_only", _of_metric(said)
    return "neither", _of_users(said)


def _of_both(said: Compared) -> str:
    share = f"it covers {percent(said.share, 0)} of the sessions"
    if said.users.sign == said.offline.sign:
        return share
    if said.matched.sign == said.users.sign:
        return f"on judged rankings alone users contradict it too; {share}"
    return f"on judged rankings alone users show no such difference; {share}"


def _of_users(said: Compared) -> str:
    """Return how large an effect on users may be, whose interval has 0."""
    low, high, margin = said.users.low, said.users.high, said.margin
    if max(abs(low), abs(high)) <= margin:
        return f"no effect on users above {said.margin_words}"
    times = ((high - low) / 2 / margin) ** 2 if margin else 0.0
    if times <= 1:
        return f"an effect on users above {said.margin_words} is possible"
    return f"about {times:.1f} times the users would show an effect of {said.margin_words}"


def _of_metric(said: Compared) -> str:
    """Return how many judged queries would show a difference of the metric, whose interval has 0."""
    farthest = max(abs(said.offline.low), abs(said.offline.high))
    if not farthest:
        return "the metric is the same in both arms"
    needed = math.ceil(said.queries * ((said.offline.high - said.offline.low) / 2 / farthest) ** 2)
    return (
        f"at least {count(needed)} judged queries would show that the metric differs by {farthest:.3g}; "
        f"{count(said.queries)} are judged"
    )
