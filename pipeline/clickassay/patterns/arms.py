"""What a log says of the arms of its A/B tests: four tables beside the patterns, additive like these."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from clickassay.core.contracts.form import Table
from clickassay.core.contracts.patterns import ARM_PATTERNS, ARMS, INTERLEAVED
from clickassay.patterns.table import ARM_TABLES, AnyTable, Pieces, sum_by_key

CLICK = "click"
"""The signal of clicks: its rows alone have every session, with mask 0 where nothing was clicked."""


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

        ids: configuration_id of the table, `cut` of its first `depth` results; of others none.
        """
        cut = self.patterns.join(ids, on="configuration_id").with_columns(configuration_id="cut").drop("cut")
        kept = (pl.col("signal") == CLICK) | (pl.col("click_mask") > 0)
        first = pl.col("click_mask") & pl.lit((1 << depth) - 1, pl.Int64)
        arms, patterns = (
            form.canonical(sum_by_key(rows.with_columns(click_mask=first).filter(kept), form))
            for rows, form in ((self.arms, ARMS), (cut, ARM_PATTERNS))
        )
        return ArmTables(arms, self.outcomes, patterns, self.users)


def arms_of(table: AnyTable[Any]) -> ArmTables | None:
    """Return what a pattern table says of A/B tests; None where its log has none."""
    arms, outcomes, patterns, users = (getattr(table, name) for name in ARM_TABLES)
    if arms is None or outcomes is None or patterns is None or users is None:
        return None
    return ArmTables(arms, outcomes, _whole(patterns, ARM_PATTERNS), users)


def interleaved_of(table: AnyTable[Any]) -> pl.DataFrame | None:
    """Return the sessions of a pattern table on rankings that mix rankers; None where its log has none."""
    return None if table.interleaved is None else _whole(table.interleaved, INTERLEAVED)


def _whole(rows: pl.DataFrame | Pieces, form: Table) -> pl.DataFrame:
    return pl.concat(form.in_order(rows)) if isinstance(rows, Pieces) else rows
