"""The table `conventions` of a run: what other tools would report for its lists, next to its own numbers."""

import numpy as np
import polars as pl

from clickassay.core.contracts.conventions import CONVENTIONS
from clickassay.core.records import JudgedConfigurations, Sample
from clickassay.core.settings import Settings
from clickassay.metrics.clicks import counted_clicks
from clickassay.studies.audit.conventions import conventions
from clickassay.studies.audit.tables import audit_tables, lists_of, one_click, scale_of, with_conventions
from clickassay.studies.evaluation.lists import NO_GRADE


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
    lists = lists_of(sample, grades, judged.pool[rows])
    columns = {one.measure: one.values(lists, scale) for one in found}
    headline = one_click(sample, sample.click_names.index(counted_clicks(settings)[0]))
    return audit_tables(with_conventions(headline, columns), found, {}, pool=settings.pool)[0]
