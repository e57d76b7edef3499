"""Labelling plans: made, written, read back, continued, and estimated from once labels have come."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.active.drawing import draw
from clickassay.active.estimate import Estimate, estimate
from clickassay.active.moments import measure_moments, performance
from clickassay.active.pool import Pool
from clickassay.active.sampling import Expected, expected_error, sampling_distribution
from clickassay.active_inputs import KEY, Sources, Told, places, read_labels, read_pool
from clickassay.contracts_active import NEXT_JUDGMENTS, PLAN_DOCUMENTS, PLAN_DRAWS, PLAN_QUERIES, TO_LABEL
from clickassay.errors import ActiveError
from clickassay.patterns import write_table
from clickassay.progress import Progress, silent
from clickassay.publish import MARK, published_folder
from clickassay.questions import as_csv
from clickassay.run_folder import read_table
from clickassay.run_patterns import writing_tables
from clickassay.sample import Floats
from clickassay.settings import Settings

FEWEST = 2
"""Draws without which nothing is estimated."""


@dataclass(frozen=True)
class Aim:
    """What a plan is for.

    Attributes
    ----------
    measure, variant
        Names in `active.moments.MEASURES` and `active.sampling.VARIANTS`.
    budget
        In the unit of costs; above 0.
    depth
        Rankings are cut there; None = as deep as they are.
    defence
        Share of the draws made as often as queries are asked; 0..1.
    seed
        The same seed draws the same queries.
    """

    measure: str
    variant: str
    budget: float
    depth: int | None = None
    defence: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class LabelPlan:
    """A plan as it is written.

    Attributes
    ----------
    queries, documents, draws
        In the forms of `contracts_active`.
    aim
        What it is for; the budget is that of all labels so far.
    max_grade
        Highest grade of the scale.
    expected
        What the budget was expected to buy.
    spent
        What the labels cost.
    notes
        What the user should know.
    """

    queries: pl.DataFrame
    documents: pl.DataFrame
    draws: pl.DataFrame
    aim: Aim
    max_grade: int
    expected: Mapping[str, float]
    spent: float
    notes: tuple[str, ...] = ()

    @property
    def to_label(self) -> pl.DataFrame:
        """Documents to label in the form of `contracts_active.TO_LABEL`, in the order of the draws."""
        paid = self.draws.filter("paid").select("query", "draw")
        ordered = self.documents.join(paid, on="query").sort("draw", "url")
        return TO_LABEL.canonical(
            ordered.select(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("number"), *KEY)
        )

    @property
    def compares(self) -> bool:
        """Whether there are two rankings."""
        return self.documents["rank_2"].count() > 0


def make_plan(sources: Sources, aim: Aim, settings: Settings, progress: Progress = silent) -> LabelPlan:
    """Read rankings and what is known of their documents, and draw queries to label.

    Raises
    ------
    ActiveError
        If the parts do not fit each other, or the budget buys no query.
    """
    progress("reading rankings", None)
    told = read_pool(sources, settings, depth=aim.depth)
    progress("weighing queries", None)
    moments = measure_moments(told.pool, aim.measure)
    sampling = sampling_distribution(
        told.pool, aim.measure, aim.variant, defence=aim.defence, moments=moments
    )
    expected = expected_error(told.pool, moments, sampling.q, aim.budget)
    sizes = np.diff(told.pool.offsets)
    queries = PLAN_QUERIES.canonical(
        pl.DataFrame(
            {
                "query": told.pool.queries, "weight": told.pool.weights, "chance": sampling.q,
                "cost": told.pool.costs, "documents": sizes, "expected": moments.mean,
                "spread": sampling.spreads,
            }
        )
    )  # fmt: skip
    plan = LabelPlan(
        queries, _documents(told), PLAN_DRAWS.empty(), aim, settings.max_grade, _finite(expected), 0.0,
        (*told.notes, *(("All queries are expected to say the same: they are drawn as they are asked.",)
                        if sampling.flat else ())),
    )  # fmt: skip
    return _drawn(plan, told.pool.costs, sampling.q)


def _documents(told: Told) -> pl.DataFrame:
    frame = told.documents
    return PLAN_DOCUMENTS.canonical(
        frame if "rank_2" in frame.columns else frame.with_columns(pl.lit(None, pl.Int32).alias("rank_2"))
    )


def _finite(expected: Expected) -> dict[str, float]:
    return {name: value for name, value in asdict(expected).items() if np.isfinite(value)}


def _drawn(plan: LabelPlan, costs: Floats, q: Floats) -> LabelPlan:
    found = draw(costs, q, plan.aim.budget, np.random.default_rng(plan.aim.seed))
    if not len(found.queries):
        raise ActiveError(
            f"a budget of {plan.aim.budget:g} buys no query: the first drawn costs more, and the cheapest "
            f"{costs[q > 0].min():g}; raise --budget"
        )
    rows = plan.queries[found.queries]
    draws = PLAN_DRAWS.canonical(
        rows.select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("draw"),
            "query",
            pl.Series("paid", found.paid),
            (pl.col("weight") / pl.col("chance")).alias("ratio"),
        )
    )
    return replace(plan, draws=draws, spent=found.spent)


@dataclass(frozen=True)
class Proposed:
    """Results to judge for a run, chosen for what they add.

    Attributes
    ----------
    queries
        Rows of `contracts_active.NEXT_JUDGMENTS` that the budget pays, in their order.
    to_label
        Their results, in the form of `contracts_active.TO_LABEL`.
    """

    queries: pl.DataFrame
    to_label: pl.DataFrame


def proposed(
    run: Path, aim: str, budget: float, *, market: str | None, depth: int | None, judge: str | None
) -> Proposed:
    """Take the results that a run proposes to judge, as many as labels are paid for.

    Raises
    ------
    ActiveError
        If the run proposes nothing of the kind, or the budget does not pay the first query.
    ReportError
        If there is no such run, or it is broken.
    """
    rows = read_table(run, NEXT_JUDGMENTS).filter(aim=aim)
    wanted = {"market": market, "depth": depth, "judge": judge}
    own = rows.filter(*(pl.col(name) == value for name, value in wanted.items() if value is not None))
    if own.is_empty():
        asked = ", ".join(f"{name} {value}" for name, value in wanted.items() if value is not None)
        raise ActiveError(f"{run} proposes nothing to judge for {aim}{f' of {asked}' if asked else ''}")
    first = own.sort("depth", "market", "judge").select("market", "depth", "judge").row(0)
    cell = own.filter(market=first[0], depth=first[1], judge=first[2]).sort("rank")
    paid = cell.filter(pl.col("labels_so_far") <= budget)
    if paid.is_empty():
        raise ActiveError(
            f"a budget of {budget:g} labels is below the {cell['labels'][0]} of the first query"
        )
    sheet = paid.select("query", pl.col("urls").alias("url")).explode("url")
    numbered = sheet.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("number"))
    return Proposed(paid, TO_LABEL.canonical(numbered))


def write_proposed(found: Proposed, out: Path, info: Mapping[str, object], *, force: bool) -> None:
    """Write what to judge into a folder, whole or not at all."""
    with published_folder(out, force=force) as folder, writing_tables():
        write_table(found.queries, folder / "next_judgments.parquet")
        _write_sheet(found.to_label, folder)
        _write_info(info, folder)


def continued(plan: LabelPlan, budget: float) -> LabelPlan:
    """Go on drawing with a larger budget: the draws so far stay, and what was paid is not paid again.

    Raises
    ------
    ActiveError
        If the budget is not above that of the plan.
    """
    if budget <= plan.aim.budget:
        raise ActiveError(
            f"a budget of {budget:g} is not above that of the plan, {plan.aim.budget:g}; give what all "
            "labels may cost, those of the plan with them"
        )
    q = plan.queries["chance"].to_numpy()
    scale = budget / plan.aim.budget
    expected = dict(plan.expected)
    for name, power in (("draws", 1.0), ("error", -0.5), ("passive_budget", 1.0)):
        if name in expected:
            expected[name] *= scale**power
    grown = replace(plan, aim=replace(plan.aim, budget=budget), expected=expected)
    return _drawn(grown, plan.queries["cost"].to_numpy(), q)


def write_plan(plan: LabelPlan, out: Path, info: Mapping[str, object], *, force: bool) -> None:
    """Write a plan into a folder, whole or not at all: tables, `to_label.csv` for editors, settings.json."""
    frames = {"queries": plan.queries, "documents": plan.documents, "draws": plan.draws}
    told = {
        **info, "aim": asdict(plan.aim), "max_grade": plan.max_grade, "expected": dict(plan.expected),
        "spent": plan.spent, "notes": list(plan.notes),
    }  # fmt: skip
    with published_folder(out, force=force) as folder, writing_tables():
        for name, frame in frames.items():
            write_table(frame, folder / f"{name}.parquet")
        _write_sheet(plan.to_label, folder)
        _write_info(told, folder)


def _write_sheet(to_label: pl.DataFrame, folder: Path) -> None:
    """Write the sheet for editors; the Parquet file beside it has texts as they are, for programs."""
    write_table(to_label, folder / "to_label.parquet")
    sheet = to_label.with_columns(pl.lit(None, pl.String).alias("grade"))
    (folder / "to_label.csv").write_text(as_csv(sheet), encoding="utf-8")


def _write_info(info: Mapping[str, object], folder: Path) -> None:
    text = json.dumps(info, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    (folder / MARK).write_text(text, encoding="utf-8", errors="backslashreplace")


def read_plan(folder: Path) -> LabelPlan:
    """Read a plan back.

    Raises
    ------
    ActiveError
        If there is none, or a file of it is broken.
    """
    try:
        told = json.loads((folder / MARK).read_text(encoding="utf-8"))
        forms = {form.name: form for form in (PLAN_QUERIES, PLAN_DOCUMENTS, PLAN_DRAWS)}
        frames = {
            name: form.canonical(pl.read_parquet(folder / f"{name}.parquet")) for name, form in forms.items()
        }
        return LabelPlan(
            **frames, aim=Aim(**told["aim"]), max_grade=int(told["max_grade"]), expected=told["expected"],
            spent=float(told["spent"]), notes=tuple(told["notes"]),
        )  # fmt: skip
    except _BROKEN as error:
        raise ActiveError(
            f"{folder} is no plan, or a broken one ({type(error).__name__}); make it with `clickassay plan`"
        ) from error


_BROKEN: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError)


@dataclass(frozen=True)
class Found:
    """What labels say.

    Attributes
    ----------
    estimate
        The estimate; None where every query is labelled.
    exact
        The mean over the pool where every query is labelled; else None.
    draws, of
        Draws that are labelled without a gap from the first on, and all draws of the plan.
    waiting
        Later draws that are labelled too.
    first_missing
        Query of the first draw that lacks a label; None if all have theirs.
    in_part
        Queries of which some documents are labelled and some are not.
    """

    estimate: Estimate | None
    exact: float | None
    draws: int
    of: int
    waiting: int
    first_missing: str | None
    in_part: tuple[str, ...]


def estimate_plan(plan: LabelPlan, labels: Path, settings: Settings) -> Found:
    """Estimate the performance of a ranking, or the difference of two, from a plan and labels (equation 6).

    Draws count up to the first whose query is not labelled in full: those after it were not left out by
    chance.

    Raises
    ------
    ActiveError
        If fewer than two draws are labelled, or they all say the same.
    """
    grades = read_labels(labels, plan.queries.select("query"), settings, sheet=plan.to_label)
    joined = plan.documents.join(grades, on=KEY, how="left", maintain_order="left")
    values = _values(plan, joined["grade"].fill_null(-1).to_numpy().astype(np.int64))
    of_draws = plan.draws.join(
        plan.queries.select("query", pl.Series("value", values)), on="query", maintain_order="left"
    )
    value, ratio = (of_draws[name].to_numpy() for name in ("value", "ratio"))
    labelled = ~np.isnan(value)
    upto = len(value) if labelled.all() else int(np.argmin(labelled))
    if upto < FEWEST and upto < len(value):
        raise ActiveError(
            f"only {upto} draws are labelled without a gap: draw {upto + 1} (query "
            f"{of_draws['query'][upto]!r:.80}) lacks labels; label the sheet from its top"
        )
    exact = float(plan.queries["weight"].to_numpy() @ values) if not np.isnan(values).any() else None
    return Found(
        estimate=None if exact is not None else estimate(value[:upto], ratio[:upto]),
        exact=exact,
        draws=upto,
        of=len(value),
        waiting=int(labelled[upto:].sum()),
        first_missing=None if upto == len(value) else str(of_draws["query"][upto]),
        in_part=_in_part(joined),
    )


def _in_part(joined: pl.DataFrame) -> tuple[str, ...]:
    counts = joined.group_by("query").agg(
        pl.col("grade").count().alias("labelled"), pl.len().cast(pl.Int64).alias("documents")
    )
    some = counts.filter((pl.col("labelled") > 0) & (pl.col("labelled") < pl.col("documents")))
    return tuple(some["query"].sort())


def _values(plan: LabelPlan, grades: np.ndarray) -> Floats:
    """Return (m,) performance, or the difference of two, by labels; NaN where one is missing."""
    pool = _pool(plan)
    found = [performance(pool, ranking, grades, plan.aim.measure) for ranking in pool.rankings]
    return found[0] if len(found) == 1 else np.asarray(found[0] - found[1])


def _pool(plan: LabelPlan) -> Pool:
    queries = plan.queries
    sizes = queries["documents"].to_numpy()
    grades = plan.max_grade + 1
    return Pool(
        queries=tuple(queries["query"]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        chances=np.full((plan.documents.height, grades), 1 / grades),
        costs=queries["cost"].to_numpy(),
        weights=queries["weight"].to_numpy(),
        rankings=tuple(
            places(plan.documents, number, queries.height) for number in ((1, 2) if plan.compares else (1,))
        ),
    )
