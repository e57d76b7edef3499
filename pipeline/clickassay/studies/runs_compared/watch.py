"""Which changes between two runs are findings, and whether a watch could ever have one."""

from dataclasses import dataclass

import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.studies.runs_compared.numbers import MEANS, NOT_TESTED, WITHIN, DiffOptions
from clickassay.studies.runs_compared.read import ONLY_A


@dataclass(frozen=True)
class Watch:
    """What makes a change from A to B a finding: of `diff --fail-above`, and of rules `not worse than`.

    A number that B lacks is a finding always, so that a job does not pass because data are missing.
    """

    above: float = 0.0  # A change is a finding if it is larger than this.
    # Whether changes within noise are left out. Changes that cannot be tested stay.
    beyond_noise: bool = False
    falls: bool = False  # Whether only falls are findings, and rises none.
    # Whether means are watched too. One threshold cannot serve them, as their scales differ.
    means: bool = False

    @property
    def watched(self) -> pl.Expr:
        """The condition for numbers that it is about."""
        return pl.lit(True) if self.means else pl.col("table") != MEANS

    @property
    def finding(self) -> pl.Expr:
        """The condition for findings among the rows of `compare_numbers`."""
        change = -pl.col("change") if self.falls else pl.col("change").abs()
        large = (change > self.above).fill_null(False)
        if self.beyond_noise:
            large &= pl.col("status") != WITHIN
        return (large | (pl.col("status") == ONLY_A)) & self.watched

    @property
    def certain(self) -> pl.Expr:
        """The condition for findings that were tested, or are gone from B."""
        return self.finding & (pl.col("status") != NOT_TESTED)


NOTHING_WORSE = Watch(beyond_noise=True, falls=True, means=True)
"""Nothing fell beyond noise: neither a mean of a metric or of clicks, nor a correlation."""


def flag_findings(numbers: pl.DataFrame, watch: Watch | None) -> pl.DataFrame:
    """Add the column `finding` to the rows of `compare_numbers`; without a watch nothing is one."""
    return numbers.with_columns(finding=pl.lit(False) if watch is None else watch.finding)


def check_watch(
    numbers: pl.DataFrame, watch: Watch, options: DiffOptions, *, name: str = "--fail-above"
) -> None:
    """Check that each value of an option has a number in A, which a change could be a finding against.

    numbers: as `compare_numbers` returns them.
    watch, options: the watched numbers, and which were compared.
    name: what the watch is called in messages.

    Raises SettingsError if one has none: the watch would always pass.
    """
    known = numbers.filter(watch.watched, pl.col("a").is_not_null())
    what = "number" if watch.means else "correlation"
    if known.is_empty():
        raise SettingsError(
            f"{name} has nothing to watch: the run to compare with, A, has no such {what}, so that no change "
            "could ever be a finding; give another run as A"
        )
    for option, (column, values) in options.by_option().items():
        for value in values:
            if value not in known[column]:
                raise SettingsError(
                    f"{name} cannot watch {option} {value}: the run to compare with, A, has no such {what}, "
                    f"so that no change could ever be a finding; leave out {option} {value}, or give another "
                    "run as A"
                )
