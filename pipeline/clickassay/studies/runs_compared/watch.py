"""Which changes are findings, and whether a watch could ever have one."""

import polars as pl

from clickassay.core.errors import SettingsError
from clickassay.studies.runs_compared.numbers import MEANS, WITHIN, DiffOptions
from clickassay.studies.runs_compared.read import ONLY_A


def flag_findings(numbers: pl.DataFrame, above: float | None, *, beyond_noise: bool = False) -> pl.DataFrame:
    """Add the column `finding`: whether a correlation changed by more than a threshold, or is gone.

    Means are no findings: their scales differ, and one threshold cannot serve them all.

    Parameters
    ----------
    numbers
        As `compare_numbers` returns them.
    above
        The threshold: a finding is a change of more than this, or a number that B lacks; None = no findings.
    beyond_noise
        Whether to leave out changes within noise. Changes that cannot be tested stay.
    """
    if above is None:
        return numbers.with_columns(finding=pl.lit(False))
    large = (pl.col("change").abs() > above).fill_null(False)
    if beyond_noise:
        large &= pl.col("status") != WITHIN
    return numbers.with_columns(finding=(large | (pl.col("status") == ONLY_A)) & watched())


def watched() -> pl.Expr:
    """Return the condition for numbers that a threshold is about."""
    return pl.col("table") != MEANS


def check_watch(numbers: pl.DataFrame, options: DiffOptions) -> None:
    """Check that each value of an option has a correlation in A, which a change could be a finding against.

    Raises
    ------
    SettingsError
        If one has none: the watch would pass whatever happens.
    """
    known = numbers.filter(watched(), pl.col("a").is_not_null())
    if known.is_empty():
        raise SettingsError(
            "--fail-above has nothing to watch: the run to compare with, A, has no such correlation, so that "
            "no change could ever be a finding; give another run as A"
        )
    for option, (column, values) in options.by_option().items():
        for value in values:
            if value not in known[column]:
                raise SettingsError(
                    f"--fail-above cannot watch {option} {value}: the run to compare with, A, has no such "
                    f"correlation, so that no change could ever be a finding; leave out {option} {value}, or "
                    "give another run as A"
                )
