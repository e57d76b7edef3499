"""What a log says of the arms of its A/B tests: four tables beside the patterns, additive like these."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from clickassay.core.contracts.patterns import ARM_OUTCOMES, ARM_PATTERNS, ARM_USERS, ARMS
from clickassay.patterns.table import sum_by_key

CLICK = "click"
"""The signal of clicks: its rows alone have every session, with mask 0 where nothing was clicked."""

USERS_KEPT = 65_536
"""Digests of users that are kept of a test, the smallest of them: enough to find a wrong split."""


@dataclass(frozen=True)
class ArmTables:
    """The arms of all tests of a log, frames in the form of the contracts of these names.

    Sessions are those of users of one variant, between the ends of the test. A user of two variants is in
    `users` in both, and nowhere else.
    """

    arms: pl.DataFrame
    outcomes: pl.DataFrame
    patterns: pl.DataFrame
    users: pl.DataFrame

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of the tests."""
        return tuple(pl.concat([self.arms["experiment"], self.users["experiment"]]).unique().sort())

    def of(self, experiment: str) -> "ArmTables":
        """Return the rows of one test."""
        return ArmTables(*(rows.filter(experiment=experiment) for rows in vars(self).values()))

    def at_depth(self, depth: int, ids: pl.DataFrame) -> "ArmTables":
        """Return the tables for the first results alone.

        ids: configuration_id of the table, `cut` of its first `depth` results; those of shorter rankings, and
          of those that are not looked at, are missing.
        """
        cut = self.patterns.join(ids, on="configuration_id").with_columns(configuration_id="cut").drop("cut")
        kept = (pl.col("signal") == CLICK) | (pl.col("click_mask") > 0)
        first = pl.col("click_mask") & pl.lit((1 << depth) - 1, pl.Int64)
        arms, patterns = (
            form.canonical(sum_by_key(rows.with_columns(click_mask=first).filter(kept), form))
            for rows, form in ((self.arms, ARMS), (cut, ARM_PATTERNS))
        )
        return ArmTables(arms, self.outcomes, patterns, self.users)


def added_arms(tables: Sequence[ArmTables]) -> ArmTables:
    """Return the tables of a log from those of its parts, one or more; sessions of a part are whole."""
    forms = {"arms": ARMS, "outcomes": ARM_OUTCOMES, "patterns": ARM_PATTERNS}
    every = {name: pl.concat([getattr(one, name) for one in tables]) for name in (*forms, "users")}
    sums = {name: form.canonical(sum_by_key(every[name], form)) for name, form in forms.items()}
    rank = pl.col("digest").rank("dense").over("experiment")
    users = every["users"].unique().filter(rank <= USERS_KEPT)
    return ArmTables(**sums, users=ARM_USERS.canonical(users))
