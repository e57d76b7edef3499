"""What one test says of the metric in use, where users and the metric are held against each other."""

import math
from dataclasses import dataclass

from clickassay.core.text.words import count, percent, signed, span

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

    @property
    def words(self) -> str:
        """The difference and its interval."""
        return f"{signed(self.value, 4)} ({span(self.low, self.high)})"


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
    """Return the verdict, None where it cannot be given, and what it rests on."""
    users, offline = said.users, said.offline
    if not users.is_known or not offline.is_known:
        return None, "no interval: too few users or judged queries of both arms"
    if users.sign and offline.sign:
        both = f"users {users.words}, metric {offline.words} on {percent(said.share, 0)} of the sessions"
        if users.sign == offline.sign:
            return "agree", both
        if said.matched.sign == users.sign:
            return "contradict", f"{both}; users of judged rankings contradict too: {said.matched.words}"
        return "contradict", f"{both}; the difference is in queries that are not judged"
    if offline.sign:
        return "offline_only", f"metric {offline.words}; {_of_users(said)}"
    if users.sign:
        farthest = max(abs(offline.low), abs(offline.high))
        if not farthest:
            return "online_only", f"users {users.words}; the metric is the same in both arms"
        needed = said.queries * ((offline.high - offline.low) / 2 / farthest) ** 2
        more = f"at least {count(math.ceil(needed))} judged queries would show a difference of {farthest:.3g}"
        return "online_only", f"users {users.words}; {more}, {count(said.queries)} are judged"
    return "neither", f"{_of_users(said)}; metric {offline.words}"


def _of_users(said: Compared) -> str:
    """Return how large an effect on users may be: the interval has 0."""
    if max(abs(said.users.low), abs(said.users.high)) <= said.margin:
        return f"no effect on users above {said.margin_words}"
    times = ((said.users.high - said.users.low) / 2 / said.margin) ** 2
    more = f"; about {times:.1f} times the users would show {said.margin_words}" if times > 1 else ""
    return f"an effect on users of {span(said.users.low, said.users.high)} is possible{more}"
