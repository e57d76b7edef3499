"""The table `conventions` of a run: what other tools would report for its lists, next to its own numbers."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.conventions import CONVENTIONS
from clickassay.core.records import Integers, JudgedConfigurations, Sample
from clickassay.core.settings import Settings
from clickassay.metrics.clicks import counted_clicks
from clickassay.studies.audit.conventions import conventions
from clickassay.studies.audit.tables import audit_tables, lists_of, one_click, scale_of, with_conventions
from clickassay.studies.evaluation.lists import NO_GRADE

MOST_KINDS = 2**62
"""Rows of so many kinds can be told apart by one number."""


def conventions_table(
    judged: JudgedConfigurations, samples: tuple[Sample, ...], settings: Settings
) -> pl.DataFrame:
    """Compute every convention on the judged configurations of one depth and judge.

    Parameters
    ----------
    judged
        Configurations over all markets; results whose grade is filled in count as not judged.
    samples
        Their arrays, one for each market.

    Returns
    -------
    Rows of `contracts.conventions.CONVENTIONS` for the headline click metric; none where grades are drawn
    from clicks, which no tool does.
    """
    if settings.unjudged == "model":
        return CONVENTIONS.empty()
    return pl.concat([CONVENTIONS.empty(), *(_of_market(judged, sample, settings) for sample in samples)])


def _of_market(judged: JudgedConfigurations, sample: Sample, settings: Settings) -> pl.DataFrame:
    scale = scale_of(sample, settings)
    found = conventions(scale)
    rows = judged.rows.filter(market=sample.key.market)["n"].to_numpy()
    grades = np.where(judged.filled[rows], NO_GRADE, judged.grades[rows])
    first, kinds = distinct(np.concatenate([grades, judged.pool[rows]], axis=1))
    # a value depends on the grades shown and judged alone: lists that share them are computed once
    lists = lists_of(sample.configuration_ids.gather(first), grades[first], judged.pool[rows[first]])
    columns = {one.measure: one.values(lists, scale).take(kinds) for one in found}
    headline = one_click(sample, sample.click_names.index(counted_clicks(settings)[0]))
    return audit_tables(with_conventions(headline, columns), found, {}, pool=settings.pool)[0]


def distinct(rows: Integers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find equal rows.

    Parameters
    ----------
    rows
        (N, K) whole numbers.

    Returns
    -------
    The first row of each of the D kinds of rows, and the kind of each of the N rows, 0..D - 1.
    """
    packed, kinds = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T.astype(np.int64):
        digits = column - column.min(initial=0)
        size = int(digits.max(initial=0)) + 1
        if kinds * size > MOST_KINDS:
            seen, packed = np.unique(packed, return_inverse=True)
            kinds = len(seen)
        packed, kinds = packed * size + digits, kinds * size
    _, first, kind = np.unique(packed, return_index=True, return_inverse=True)
    return first, kind
