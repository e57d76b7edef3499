"""What the findings do not show: sentences computed from the numbers."""

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text import number, percent, sentence
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.model import Run
from clickassay.report.sections.correlation.baselines import baseline_values
from clickassay.report.sections.log.unjudged import RULES, filled_share

FIRST_GRADE = BASELINES[1]


def caveats(run: Run) -> tuple[str, ...]:
    """Say what the findings do not show."""
    first = None if run.headline is None else baseline_values(run, run.headline)[FIRST_GRADE].value
    told = "" if first is None else f"; the grade of the first result alone correlates {number(first)}"
    return (
        "Correlation is not validity. A metric that goes with clicks need not measure whether people "
        "found what they wanted; it may share with clicks what has nothing to do with quality.",
        "Position bias. People click high results more whatever stands there, and the click metrics "
        "reward high clicks; metrics that weigh the top strongly agree with them for that reason "
        f"too{told}.",
        sentence(f"Coverage. {_covered(run)}"),
        sentence(f"SS looks at the grades itself{_null_of_ss(run)}"),
        "Intervals come from leaving out queries. They cover neither errors of the judges nor change over "
        "time. Each stands for itself; what is said to be told apart is adjusted for the number of pairs.",
    )


def _covered(run: Run) -> str:
    rest = "queries that are judged in full are rarely like the rest, and nothing is said about the rest"
    if run.headline is None:
        return f"No session is fully judged; {rest}"
    row = run.headline.rows(run.frames["statistics"]).row(0, named=True)
    filled = filled_share(run, run.headline)
    if filled is None:
        return f"At {run.headline.label}, {percent(row['coverage'])} of the sessions are fully judged; {rest}"
    rule = RULES[run.settings["unjudged"]]
    return (
        f"At {run.headline.label}, {percent(row['coverage'])} of the sessions have a grade for every result; "
        f"{percent(filled)} of these grades are no judgments but filled in ({rule})"
    )


def _null_of_ss(run: Run) -> str:
    known = pl.col("null_correlation").is_not_null()
    rows = run.own_rows("correlations").filter(known, click_metric="SS", split=EVERY)
    null = dict(rows.select("editorial_metric", "null_correlation").iter_rows())
    if not null:
        return ", so it correlates with editorial metrics even if clicks ignore relevance"
    highest = max(null, key=lambda name: null[name])
    return (
        f": if click patterns ignored the grades it would still correlate {number(null[highest])} "
        f"with {highest}"
    )
