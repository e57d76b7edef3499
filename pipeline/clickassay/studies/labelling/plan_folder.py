"""A labelling plan as records, tables and a folder; and the sheet of results that a run proposes to judge."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Self

import polars as pl
from pydantic import BaseModel, Field, model_validator

from clickassay.core.contracts.columns import QUERY
from clickassay.core.contracts.form import Column, Table
from clickassay.core.contracts.judgments import NEXT_JUDGMENTS
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.errors import ActiveError
from clickassay.core.files.documents import check_form, read_json
from clickassay.core.files.output import SETTINGS_FILE, published_folder, write_json
from clickassay.core.files.tables import as_csv, scan_parquet, write_table, writing_tables
from clickassay.core.records import ANY_SAMPLE, SAMPLE_COLUMNS, SampleChoice
from clickassay.core.text.words import plural
from clickassay.findings.run import largest_samples, open_run
from clickassay.studies.labelling.inputs import KEY
from clickassay.studies.labelling.sampling import check_budget

PLAN_QUERIES = Table(
    "queries",
    "one row per query of the pool",
    ("query",),
    QUERY,
    Column("weight", pl.Float64, "p(x): share of the query among all that are asked; they add up to 1"),
    Column("draw_probability", pl.Float64, "q(x): probability to be drawn next; they add up to 1"),
    Column("cost", pl.Float64, "cost of labelling all its documents; above 0"),
    Column("documents", pl.Int64, "number of documents to label, each counted once"),
    Column("expected", pl.Float64, "expected performance, or difference of two, by the grade probabilities"),
    Column("spread", pl.Float64, "root of the expected squared difference from the mean of the pool"),
)

PLAN_DOCUMENTS = Table(
    "documents",
    "one row per query and document that a ranking lists down to the depth",
    ("query", "url"),
    QUERY,
    Column("url", pl.String, "normalised URL, or the name of the document"),
    Column("rank_1", pl.Int32, "its rank in the first ranking; null if it is not listed"),
    Column("rank_2", pl.Int32, "its rank in the second ranking; null if not listed, or without one"),
)

PLAN_DRAWS = Table(
    "draws",
    "one row per draw, in the order in which they were made",
    ("draw",),
    Column("draw", pl.Int64, "number of the draw; 1 = first"),
    QUERY,
    Column("paid", pl.Boolean, "whether it is the first draw of its query, whose labels are paid once"),
    Column("importance_weight", pl.Float64, "weight / draw_probability of the query; above 0"),
)

TO_LABEL = Table(
    "to_label",
    "one row per document to label, in the order in which queries were drawn",
    ("number",),
    Column("number", pl.Int64, "1 = first"),
    QUERY,
    Column("url", pl.String, "normalised URL, or the name of the document"),
)


class RecordedOptions(BaseModel):
    """Options of a plan as settings.json has them; see `PlanOptions`."""

    measure: str
    variant: str
    budget: Annotated[float, Field(gt=0)]
    depth: Annotated[int, Field(ge=1)] | None
    defensive_share: Annotated[float, Field(ge=0, le=1)]
    seed: Annotated[int, Field(ge=0)]


class PlanRecord(BaseModel):
    """What settings.json of a plan has: numbers by which it goes on."""

    options: RecordedOptions
    max_grade: Annotated[int, Field(ge=0)]
    expected: dict[str, float]
    spent: Annotated[float, Field(ge=0)]
    notes: list[str]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if "error" in self.expected and "value" not in self.expected:
            raise ValueError("expected has no value")
        return self


@dataclass(frozen=True)
class PlanOptions:
    """The options of a plan."""

    # measure, variant: Names in `moments.MEASURES` and `sampling.VARIANTS`.
    measure: str
    variant: str
    budget: float  # Cost of all labels, in the unit of costs; above 0.
    depth: int | None = None  # Cut of the rankings; None = not cut.
    defensive_share: float = 0.1  # Share of the draws that is made with p, the frequencies of queries; 0..1.
    seed: int = 0  # The same seed draws the same queries.


@dataclass(frozen=True)
class LabelPlan:
    """A labelling plan."""

    # queries, documents, draws: In the forms of the tables above.
    queries: pl.DataFrame
    documents: pl.DataFrame
    draws: pl.DataFrame
    options: PlanOptions  # Its options; the budget is for all labels so far.
    max_grade: int  # Highest grade of the scale.
    expected: Mapping[str, float]  # Finite attributes of `sampling.ExpectedEstimate` by name.
    spent: float  # Cost of the labels; at most the budget.
    notes: tuple[str, ...] = ()  # Sentences for the user.

    @property
    def to_label(self) -> pl.DataFrame:
        """Documents to label in the form of `TO_LABEL`, in the order of the draws."""
        paid = self.draws.filter("paid").select("query", "draw")
        ordered = self.documents.join(paid, on="query").sort("draw", "url")
        return TO_LABEL.canonical(
            ordered.select(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("number"), *KEY)
        )

    @property
    def compares(self) -> bool:
        """Whether there are two rankings."""
        return self.documents["rank_2"].count() > 0

    @property
    def what(self) -> str:
        """What is estimated, in words."""
        at = "" if self.options.depth is None else f"@{self.options.depth}"
        return f"{'difference in ' if self.compares else ''}{self.options.measure}{at}"

    @property
    def answer(self) -> str:
        """What to label, and how precise the estimate will be; without a full stop."""
        queries = plural(int(self.draws["paid"].sum()), "query", "queries")
        labels = f"Label {queries} ({plural(self.to_label.height, 'document')})"
        if "error" not in self.expected:
            return labels
        return f"{labels}: expected standard error of the {self.what} {self.expected['error']:.4f}"


def write_plan(plan: LabelPlan, out: Path, info: Mapping[str, object], *, force: bool) -> None:
    """Write a plan into a folder, whole or not at all: tables, `to_label.csv` for editors, settings.json."""
    frames = {"queries": plan.queries, "documents": plan.documents, "draws": plan.draws}
    record = {
        **info, "options": asdict(plan.options), "max_grade": plan.max_grade, "expected": dict(plan.expected),
        "spent": plan.spent, "notes": list(plan.notes),
    }  # fmt: skip
    with published_folder(out, force=force) as folder, writing_tables():
        for name, frame in frames.items():
            write_table(frame, folder / f"{name}.parquet")
        write_sheet(plan.to_label, folder)
        write_json(folder / SETTINGS_FILE, record)


def write_sheet(to_label: pl.DataFrame, folder: Path) -> None:
    """Write the sheet as CSV for editors, and as Parquet, which has the texts unchanged, for programs."""
    write_table(to_label, folder / "to_label.parquet")
    sheet = to_label.with_columns(pl.lit(None, pl.String).alias("grade"))
    (folder / "to_label.csv").write_text(as_csv(sheet), encoding="utf-8", newline="\n")


def read_plan(folder: Path) -> LabelPlan:
    """Read a plan back; ActiveError if there is none, it is broken, or of an earlier version."""
    try:
        info = read_json(folder / SETTINGS_FILE)
        if "aim" in info:  # it can be made again: the draws follow from options and seed
            raise ActiveError(
                f"{folder} is a plan of an earlier version; make it again with `clickassay plan`: the "
                f"inputs, options and --seed in its {SETTINGS_FILE} give the same sheet to label"
            )
        check_form(info, PlanRecord)
        forms = {form.name: form for form in (PLAN_QUERIES, PLAN_DOCUMENTS, PLAN_DRAWS)}
        frames = {
            name: form.canonical(scan_parquet(folder / f"{name}.parquet").collect())
            for name, form in forms.items()
        }
        return LabelPlan(
            **frames, options=PlanOptions(**info["options"]), max_grade=int(info["max_grade"]),
            expected=info["expected"], spent=float(info["spent"]), notes=tuple(info["notes"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise ActiveError(
            f"{folder} is not a plan, or is broken ({type(error).__name__}); make it with `clickassay plan`"
        ) from error


# ---- what a run proposes to judge ---------------------------------------------------------------------


def propose_judgments(
    run: Path, goal: str, budget: float, wanted: SampleChoice = ANY_SAMPLE
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take results that a run proposes to judge for ``coverage`` or ``interval``, as many as labels are paid.

    Returns rows of `contracts.judgments.NEXT_JUDGMENTS`, those that add most for their cost first, and their
    results in the form of `TO_LABEL`.
    Raises ActiveError if there is none for the goal, or even the first query is too much; ReportError if
    there is no such run, or it is broken.
    """
    check_budget(budget)
    finished = open_run(run)
    own = wanted.rows(finished.tables[NEXT_JUDGMENTS.name].filter(goal=goal))
    if own.is_empty():
        where = f" of {wanted.label}" if wanted.label else ""
        raise ActiveError(f"{run} has no results to propose for {goal}{where}")
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
    return paid, TO_LABEL.canonical(numbered)


def write_proposal(
    queries: pl.DataFrame, to_label: pl.DataFrame, out: Path, info: Mapping[str, object], *, force: bool
) -> None:
    """Write a proposal and its sheet into a folder, whole or not at all."""
    with published_folder(out, force=force) as folder, writing_tables():
        write_table(queries, folder / "next_judgments.parquet")
        write_sheet(to_label, folder)
        write_json(folder / SETTINGS_FILE, info)
