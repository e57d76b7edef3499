"""Which arms of A/B tests sessions belong to, and their counts of a part of the users."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import polars as pl

from clickassay.core.numbering import Keys, Rows
from clickassay.core.settings import Settings
from clickassay.logs.arrays.columns import Searches, changes, distinct, is_in, mixed_pair, order_of_parts
from clickassay.logs.assignments import Assignments
from clickassay.logs.sql.steps import FIRST_MS, NEVER_MS
from clickassay.patterns.arms import CLICK
from clickassay.patterns.digests import salted_digests
from clickassay.patterns.sums import Sums, WordLayout, counted, order_of
from clickassay.patterns.table import USERS_KEPT

_DAY_MS = 86_400_000

ARM_KEY = (pl.col("experiment").hash(5) ^ pl.col("variant").hash(6)).alias("arm_key")
"""Key of the arm that a search names."""

NO_ARM = -1

MOST_PARTS = 16
"""Sums of outcomes that lie side by side before they are added up."""


@dataclass(frozen=True)
class _Known:
    """Assignments of users as numbers, sorted by user."""

    user: Rows
    arm: Rows
    since: Rows
    until: Rows

    @classmethod
    def of(cls, rows: pl.DataFrame, arms: pl.DataFrame) -> Self:
        test = ["experiment", "variant"]
        named = rows.select(test).unique()  # as texts, which `arms` has
        own = named.cast(pl.String).join(arms, on=test, how="left", maintain_order="left")["arm"]
        numbered = rows.join(named.with_columns(own), on=test, how="left", maintain_order="left")
        users = rows["user_id"]
        keys = users.hash().reinterpret(signed=True) if users.dtype == pl.String else users
        order = keys.arg_sort()
        columns = (keys, *(numbered[name] for name in ("arm", "since_ms", "until_ms")))
        return cls(*(column.gather(order).to_numpy() for column in columns))

    def of_sessions(self, user: Rows, time: Rows) -> tuple[Rows, Rows]:
        """Return the places of sessions among those given, and their arms; a session may have several."""
        if not len(self.user):
            return self.user, self.arm
        order = np.argsort(user)  # asked in order, which the cache likes
        users = user[order]
        begin, end = (np.searchsorted(self.user, users, side) for side in ("left", "right"))
        number = end - begin
        row = np.repeat(order, number)
        at = np.arange(len(row)) + np.repeat(begin - np.cumsum(number) + number, number)
        is_then = (time[row] >= self.since[at]) & (time[row] < self.until[at])
        return row[is_then], self.arm[at[is_then]]


class ArmFinder:
    """Says which arms sessions belong to: those of their first searches."""

    def __init__(self, given: Assignments) -> None:
        self.is_by_search = given.is_by_search
        self.arms = given.arms.with_row_index("arm").with_columns(pl.col("arm").cast(pl.Int64))
        self._experiment = self.arms["experiment"].rank("dense").cast(pl.Int64).to_numpy()
        keys = self.arms.select(ARM_KEY)["arm_key"].to_numpy()
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        always = given.in_two.with_columns(since_ms=pl.lit(FIRST_MS), until_ms=pl.lit(NEVER_MS))
        self._assigned, self._in_two = (_Known.of(rows, self.arms) for rows in (given.by_user, always))
        several = mixed_pair(self._in_two.user, self._experiment[self._in_two.arm])
        self._several = distinct(several)
        spans = self.arms.join(given.spans, on="experiment", how="left", maintain_order="left")
        self._since = spans["since_ms"].fill_null(FIRST_MS).to_numpy()
        self._until = spans["until_ms"].fill_null(NEVER_MS).to_numpy()

    def arms_named(self, keys: Keys) -> Rows:
        """Return the arms that searches name; `NO_ARM` where they name none."""
        if not len(self._keys):
            return np.full(len(keys), NO_ARM, np.int64)
        at = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._order[at], NO_ARM)

    def of_sessions(self, searches: Searches, first: Rows) -> tuple[Rows, Rows]:
        """Return places and arms of sessions that count, by first searches; one may be in several tests."""
        user, time = searches.user.take(first), searches.time.take(first)
        if searches.arm is None:
            row, arm = self._assigned.of_sessions(user, time)
        else:
            arm = searches.arm.take(first)
            row = np.flatnonzero(arm != NO_ARM)
            arm = arm[row]
            if len(self._several):
                alone = ~is_in(mixed_pair(user[row], self._experiment[arm]), self._several)
                row, arm = row[alone], arm[alone]
        return self._in_span(time, row, arm)

    def in_two(self, searches: Searches, first: Rows) -> tuple[Rows, Rows]:
        """Return the places of sessions whose users are in several variants, once for each of these."""
        user, time = searches.user.take(first), searches.time.take(first)
        return self._in_span(time, *self._in_two.of_sessions(user, time))

    def _in_span(self, time: Rows, row: Rows, arm: Rows) -> tuple[Rows, Rows]:
        is_then = (time[row] >= self._since[arm]) & (time[row] < self._until[arm])
        return row[is_then], arm[is_then]


class _Users:
    def __init__(self, arms: int) -> None:
        self._key = np.zeros(0, np.int64)  # sorted
        self._digest = np.zeros(0, np.uint64)
        self._in_arms = np.zeros((0, -(-arms // 64)), np.uint64)  # a bit for each arm

    def add(self, users: Rows, arms: Rows, texts: pl.Series | None) -> None:
        """Add users by their keys, or `texts` where ids are texts, and the arms that they are in."""
        found = distinct(users)
        new = found[~is_in(found, self._key)]
        if len(new):
            ids: list[object] = new.tolist()
            if texts is not None:
                at = np.empty(len(new), np.int64)
                place = np.flatnonzero(is_in(users, new))
                at[np.searchsorted(new, users[place])] = place
                ids = texts.gather(at).to_list()
            key = np.concatenate([self._key, new])
            order = np.argsort(key, kind="stable")  # of two runs in order
            none = np.zeros((len(new), self._in_arms.shape[1]), np.uint64)
            self._key = key[order]
            self._digest = np.concatenate([self._digest, salted_digests(ids)])[order]
            self._in_arms = np.concatenate([self._in_arms, none])[order]
        bits = np.uint64(1) << (arms & 63).astype(np.uint64)
        np.bitwise_or.at(self._in_arms, (np.searchsorted(self._key, users), arms >> 6), bits)

    def digests(self, arm: int) -> pl.Series:
        """Return the smallest digests of the users of an arm."""
        is_in_arm = (self._in_arms[:, arm >> 6] >> np.uint64(arm & 63)) & np.uint64(1) == 1
        return pl.Series(self._digest[is_in_arm]).bottom_k(USERS_KEPT)


class ArmCounts:
    """Adds up sessions of a part of the users by arm."""

    def __init__(self, finder: ArmFinder, settings: Settings) -> None:
        self.finder, self._folds = finder, settings.folds
        self.layout = WordLayout(settings.stored_depth, settings.folds)
        # sessions by arm and signal: by day, and by list
        self.by_day: dict[tuple[int, str], Sums] = {}
        self.by_list: dict[tuple[int, str], Sums] = {}
        self.outcomes: list[pl.DataFrame] = []  # arm, day, fold, outcome, and sums.
        self.users = _Users(finder.arms.height)

    def add(self, signal: str, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions that begin on a first page and have a signal: their first searches, and masks."""
        rows, masks, arms, folds, days = self._placed(searches, first, masks)
        lists = (searches.list.take(rows).astype(np.int64) << 1) | 1
        for arm, chosen in _by_arm(arms):
            for sums, numbers in ((self.by_day, days), (self.by_list, lists)):
                words = self.layout.packed(numbers[chosen], folds[chosen], masks[chosen])
                sums.setdefault((arm, signal), Sums(self.layout)).add(counted(words))
        if signal == CLICK:
            self._add_users(searches, first, rows, arms)

    def add_empty(self, searches: Searches) -> None:
        """Count searches without results, each a session of its own however often it was delivered."""
        named = (searches.id, searches.user, searches.time)
        order = order_of(*named if searches.arm is None else (*named, searches.arm))
        first = order[changes(order, *named)]
        rows, masks, arms, folds, days = self._placed(searches, first, np.zeros(len(first), np.int64))
        for arm, chosen in _by_arm(arms):
            words = self.layout.packed(days[chosen], folds[chosen], masks[chosen])
            self.by_day.setdefault((arm, CLICK), Sums(self.layout)).add(counted(words))
        self._add_users(searches, first, rows, arms)

    def add_outcome(self, outcome: str, searches: Searches, first: Rows, values: Rows) -> None:
        """Add up an outcome of sessions: their first searches, and values in thousandths."""
        _, values, arms, folds, days = self._placed(searches, first, values)
        value = pl.col("value")
        columns = {"arm": arms, "day": days, "fold": folds, "value": pl.Series(values).cast(pl.Int128)}
        self.outcomes.append(
            pl.DataFrame(columns)
            .with_columns(outcome=pl.lit(outcome))
            .group_by("arm", "day", "fold", "outcome")
            .agg(sessions=pl.len().cast(pl.Int64), total=value.sum(), total_of_squares=(value * value).sum())
        )
        if len(self.outcomes) > MOST_PARTS:
            self.outcomes = [added_outcomes(self.outcomes, "arm", "day", "fold")]

    def _placed(self, searches: Searches, first: Rows, values: Rows) -> tuple[Rows, Rows, Rows, Rows, Rows]:
        """Return first searches of sessions in arms, their values, arms, folds and days."""
        place, arms = self.finder.of_sessions(searches, first)
        rows = first[place]
        folds = (searches.bucket.take(rows) % self._folds).astype(np.int64)
        return rows, values[place], arms, folds, searches.time.take(rows) // _DAY_MS

    def _add_users(self, searches: Searches, first: Rows, rows: Rows, arms: Rows) -> None:
        place, more = self.finder.in_two(searches, first)
        rows, arms = np.concatenate([rows, first[place]]), np.concatenate([arms, more])
        texts = searches.user_text
        self.users.add(searches.user.take(rows), arms, None if texts is None else texts.gather(rows))


def added_outcomes(parts: Sequence[pl.DataFrame], *key: str) -> pl.DataFrame:
    """Return the sums of sums of outcomes, by outcome and the columns of a key."""
    return pl.concat(parts).group_by(*key, "outcome").agg(pl.all().sum())


def _by_arm(arms: Rows) -> Iterator[tuple[int, Rows]]:
    order, ends = order_of_parts(arms, int(arms.max(initial=-1)) + 1)
    for arm, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        if end > begin:
            yield arm, order[begin:end]
