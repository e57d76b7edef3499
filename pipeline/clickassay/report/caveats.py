"""Caveats, what the findings do not show: sentences computed from the numbers."""

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text import number, percent, sentence
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.sections.correlation.baselines import baseline_values
from clickassay.report.sections.log.unjudged import RULES, filled_share

FIRST_GRADE = BASELINES[1]


def caveats(run: Run) -> tuple[str, ...]:
    """Return what the findings do not show, a caveat each."""
    first = None if run.headline is None else baseline_values(run, run.headline)[FIRST_GRADE].value
    baseline = (
        "" if first is None else f"; the grade of the first result alone has a correlation of {number(first)}"
    )
    return (
        "Correlation is not validity. A metric that correlates with clicks need not measure whether users "
        "found what they wanted; both may depend on something that has nothing to do with quality.",
        "Position bias. Users click results near the top more often, whatever these results are, and the "
        "click metrics reward clicks near the top. Metrics that give the top much weight agree with them for "
        f"this reason too{baseline}.",
        sentence(f"Coverage. {_covered(run)}"),
        sentence(f"SS uses the grades itself{_null_of_ss(run)}"),
        "Intervals come from leaving out queries. They cover neither errors of the judges nor change over "
        "time. Each holds for its own number only, unless it is said to hold for all at once; whether two "
        "metrics are significantly different is adjusted for the number of pairs.",
    )


def _covered(run: Run) -> str:
    rest = "fully judged queries are rarely like the rest, and this report says nothing about the rest"
    if run.headline is None:
        return f"No session is fully judged; {rest}"
    row = run.headline.rows(run.frames["statistics"]).row(0, named=True)
    filled = filled_share(run, run.headline)
    if filled is None:
        return f"At {run.headline.label}, {percent(row['coverage'])} of the sessions are fully judged; {rest}"
    rule = RULES[run.settings.unjudged]
    return (
        f"At {run.headline.label}, {percent(row['coverage'])} of the sessions have a grade for every result; "
        f"{percent(filled)} of these grades are not judgments but filled in ({rule})"
    )


def _null_of_ss(run: Run) -> str:
    known = pl.col("null_correlation").is_not_null()
    rows = run.headline_rows("correlations").filter(known, click_metric="SS", split=EVERY)
    null = dict(rows.select("editorial_metric", "null_correlation").iter_rows())
    if not null:
        return ", so it correlates with editorial metrics even if clicks ignore relevance"
    highest = max(null, key=lambda name: null[name])
    return (
        f": if clicks ignored the grades, its correlation with {highest} would still be "
        f"{number(null[highest])}"
    )
