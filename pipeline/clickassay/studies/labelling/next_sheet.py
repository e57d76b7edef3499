"""The results that a run proposes to judge next, written as a sheet to label."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.core.contracts.judgments import NEXT_JUDGMENTS
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.errors import ActiveError
from clickassay.core.files.output import SETTINGS_FILE, published_folder, write_json
from clickassay.core.files.tables import write_table, writing_tables
from clickassay.core.records import ANY_SAMPLE, SAMPLE_COLUMNS, SampleChoice
from clickassay.findings.run import largest_samples, open_run
from clickassay.studies.labelling.plan_folder import TO_LABEL, write_sheet
from clickassay.studies.labelling.sampling import check_budget


@dataclass(frozen=True)
class JudgmentProposal:
    """Results to judge for a run, first the results that add most for their cost."""

    # Rows of `contracts.judgments.NEXT_JUDGMENTS` that the budget pays for, in their order.
    queries: pl.DataFrame
    to_label: pl.DataFrame  # Their results, in the form of `TO_LABEL`.


def propose_judgments(
    run: Path, goal: str, budget: float, wanted: SampleChoice = ANY_SAMPLE
) -> JudgmentProposal:
    """Take the results that a run proposes to judge for a goal, as many as the budget pays for.

    goal: ``coverage`` (most sessions judged) or ``interval`` (narrowest intervals of correlations).
    budget: number of labels.

    Raises ActiveError if the run proposes nothing for the goal, or the budget does not pay for the first
    query; ReportError if there is no such run, or it is broken.
    """
    check_budget(budget)
    finished = open_run(run)
    own = wanted.rows(finished.tables[NEXT_JUDGMENTS.name].filter(goal=goal))
    if own.is_empty():
        where = f" of {wanted.label}" if wanted.label else ""
        raise ActiveError(f"{run} proposes nothing to judge for {goal}{where}")
    statistics = finished.tables[STATISTICS.name].join(own, on=SAMPLE_COLUMNS, how="semi")
    key = largest_samples(statistics)[0]
    rows = key.rows(own).sort("rank")
    paid = rows.filter(pl.col("labels_so_far") <= budget)
    if paid.is_empty():
        raise ActiveError(
            f"a budget of {budget:g} labels is below the {rows['labels'][0]} of the first query"
        )
    sheet = paid.select("query", pl.col("urls").alias("url")).explode("url")
    numbered = sheet.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("number"))
    return JudgmentProposal(paid, TO_LABEL.canonical(numbered))


def write_proposal(proposal: JudgmentProposal, out: Path, info: Mapping[str, object], *, force: bool) -> None:
    """Write a proposal and its sheet into a folder, whole or not at all."""
    with published_folder(out, force=force) as folder, writing_tables():
        write_table(proposal.queries, folder / "next_judgments.parquet")
        write_sheet(proposal.to_label, folder)
        write_json(folder / SETTINGS_FILE, info)
