"""Results that a run proposes to judge, as a sheet to label."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.core.contracts.judgments import NEXT_JUDGMENTS
from clickassay.core.errors import ActiveError
from clickassay.core.output import SETTINGS_FILE, published_folder, write_json
from clickassay.core.records import ANY_SAMPLE, SAMPLE_COLUMNS, SampleChoice, SampleKey
from clickassay.core.tables import write_table, writing_tables
from clickassay.studies.finished_run import FinishedRun
from clickassay.studies.labelling.plan_folder import TO_LABEL, write_sheet


@dataclass(frozen=True)
class Proposed:
    """Results to judge for a run, chosen for what they add.

    Attributes
    ----------
    queries
        Rows of `contracts.judgments.NEXT_JUDGMENTS` that the budget pays, in their order.
    to_label
        Their results, in the form of `TO_LABEL`.
    """

    queries: pl.DataFrame
    to_label: pl.DataFrame


def proposed(run: Path, aim: str, budget: float, wanted: SampleChoice = ANY_SAMPLE) -> Proposed:
    """Take the results that a run proposes to judge, as many as labels are paid for.

    Raises
    ------
    ActiveError
        If the run proposes nothing of the kind, or the budget does not pay the first query.
    ReportError
        If there is no such run, or it is broken.
    """
    own = wanted.rows(FinishedRun(run).table(NEXT_JUDGMENTS).filter(aim=aim))
    if own.is_empty():
        asked = f" of {wanted.label}" if wanted.label else ""
        raise ActiveError(f"{run} proposes nothing to judge for {aim}{asked}")
    key = SampleKey(*own.sort("depth", "market", "judge").select(SAMPLE_COLUMNS).row(0))
    rows = key.rows(own).sort("rank")
    paid = rows.filter(pl.col("labels_so_far") <= budget)
    if paid.is_empty():
        raise ActiveError(
            f"a budget of {budget:g} labels is below the {rows['labels'][0]} of the first query"
        )
    sheet = paid.select("query", pl.col("urls").alias("url")).explode("url")
    numbered = sheet.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("number"))
    return Proposed(paid, TO_LABEL.canonical(numbered))


def write_proposed(found: Proposed, out: Path, info: Mapping[str, object], *, force: bool) -> None:
    """Write what to judge into a folder, whole or not at all."""
    with published_folder(out, force=force) as folder, writing_tables():
        write_table(found.queries, folder / "next_judgments.parquet")
        write_sheet(found.to_label, folder)
        write_json(folder / SETTINGS_FILE, info)
