"""`clickassay plan` and `clickassay estimate`: which queries to label, and what the labels say."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import say, show_table, write_json
from clickassay.cli.exit import command_line
from clickassay.cli.options import FORCE, JSON, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings, load_settings
from clickassay.core.text.words import plural, visible

if TYPE_CHECKING:
    import polars as pl

    from clickassay.studies.labelling.answer import PlanEstimate
    from clickassay.studies.labelling.plan_folder import LabelPlan

SHOWN = 10
"""Queries that are shown; files have them all."""

SCALE = settings_of("max_grade", "scale", "conflicts", "column", "seed", relevant_grade=1, success_grade=0)


@dataclass(frozen=True)
class PoolOptions:
    """Knowledge of the documents before any is labelled."""

    ranking: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Rows query, url, rank, or a TREC run file; give two to compare them."
        ),
    ] = None
    relevance: Annotated[
        Path | None,
        typer.Option(
            help="Rows query, url and p0, p1, ... (chance of each grade), or score, or a model's grade. "
            "[default: all alike]"
        ),
    ] = None
    judgments: Annotated[
        Path | None, typer.Option(help="Judgments that turn scores or a model's grades into chances.")
    ] = None
    cost: Annotated[
        Path | None, typer.Option(help="Rows query, cost; or query, url, cost. [default: 1 a document]")
    ] = None
    cost_column: Annotated[str, typer.Option(help="Column of costs, e.g. length.")] = "cost"
    log_cost: Annotated[bool, typer.Option("--log-cost", help="A document costs log(1 + its number).")] = (
        False
    )
    frequency: Annotated[
        Path | None, typer.Option(help="Rows query, sessions: how often it is issued. [default: all alike]")
    ] = None


@dataclass(frozen=True)
class DrawOptions:
    """What to estimate, and how queries are drawn for it."""

    metric: Annotated[Literal["ERR", "DCG"], typer.Option("--metric", "-m", help="Metric to estimate.")] = (
        "ERR"
    )
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Cut k of the rankings. [default: none]")
    ] = None
    variant: Annotated[
        Literal["active", "uniform relevance", "uniform cost", "passive", "corrected"],
        typer.Option(
            metavar="NAME",
            help="What the choice of queries uses: active (relevance and cost), uniform relevance, "
            "uniform cost, passive (neither), or corrected (labels correct what --relevance says).",
        ),
    ] = "active"
    defensive_share: Annotated[
        float, typer.Option(help="Share of draws made as often as queries are issued, 0 to 1.")
    ] = 0.1


@dataclass(frozen=True)
class NextForRun:
    """What to judge next for a run."""

    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Instead of rankings: what to judge next for a run.")
    ] = None
    goal: Annotated[
        Literal["coverage", "interval"], typer.Option(help="With --run: raise coverage, or narrow intervals.")
    ] = "coverage"
    market: Annotated[str | None, typer.Option(help="With --run. [default: the report's]")] = None
    judge: Annotated[str | None, typer.Option(help="With --run. [default: the report's]")] = None


def plan(
    budget: Annotated[
        float, typer.Option(help="What labels may cost; with --continue, all of them together.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the plan; appears whole or not at all.")],
    pool: PoolOptions,
    draws: DrawOptions,
    next_for: NextForRun,
    settings: Annotated[Settings, SCALE],
    go_on: Annotated[
        Path | None, typer.Option("--continue", metavar="PLAN", help="Go on with a plan and a larger budget.")
    ] = None,
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Choose the queries to label under a budget, to know a ranking, the difference of two, or a run best.

    Examples
    --------
        clickassay plan --ranking new.parquet --relevance model.parquet --budget 500 --out new-plan

        clickassay plan --ranking old.run --ranking new.run --cost lengths.csv --cost-column length --log-cost
        --budget 2000 --depth 10 --out compare-plan

        clickassay plan --continue new-plan --budget 800 --out new-plan-2

        clickassay plan --run reports/june --budget 500 --out judge-next
    """
    if next_for.run is not None:
        _propose(next_for.run, (next_for, draws.depth), budget, out, force=force, json=json)
        return
    made = _made_plan((pool, draws, settings), go_on, (budget, out), force=force, quiet=quiet)
    if json:
        write_json(_plain(made, out))
    else:
        _show_plan(made, out, continues=go_on)


def _made_plan(
    asked: tuple[PoolOptions, DrawOptions, Settings],
    go_on: Path | None,
    given: tuple[float, Path],
    *,
    force: bool,
    quiet: bool,
) -> "LabelPlan":
    from clickassay.core.files.output import check_apart, check_free
    from clickassay.studies.labelling.inputs import Sources
    from clickassay.studies.labelling.plan import extend_plan, make_plan
    from clickassay.studies.labelling.plan_folder import PlanOptions, read_plan, write_plan

    pool, draws, settings = asked
    budget, out = given
    rankings = tuple(pool.ranking or ())
    _check_plan(rankings, go_on)
    check_apart(out, *rankings, pool.relevance, pool.judgments, pool.cost, pool.frequency, go_on)
    check_free(out, force=force)
    with shown_progress(quiet=quiet) as progress:
        if go_on is not None:
            made = extend_plan(read_plan(go_on), budget)
        else:
            sources = Sources(
                rankings,
                pool.relevance,
                pool.judgments,
                pool.cost,
                pool.cost_column,
                pool.log_cost,
                pool.frequency,
            )
            purpose = PlanOptions(
                draws.metric, draws.variant, budget, draws.depth, draws.defensive_share, settings.seed
            )
            made = make_plan(sources, purpose, settings, progress)
        write_plan(made, out, {"command": command_line()}, force=force)
    return made


def _propose(
    run: Path, asked: tuple[NextForRun, int | None], budget: float, out: Path, *, force: bool, json: bool
) -> None:
    """Write what to judge next for a run."""
    from clickassay.core.files.output import check_apart, check_free
    from clickassay.core.records import SampleChoice, SampleKey
    from clickassay.studies.labelling.next_sheet import propose_judgments, write_proposal

    options, depth = asked
    check_apart(out, run)
    check_free(out, force=force)
    proposal = propose_judgments(
        run, options.goal, budget, SampleChoice(options.market, depth, options.judge)
    )
    info = {"command": command_line(), "goal": options.goal, "budget": budget}
    write_proposal(proposal, out, info, force=force)
    last = proposal.queries.row(-1, named=True)
    sheet = out / "to_label.csv"
    if json:
        sizes = {"queries": proposal.queries.height, "results": proposal.to_label.height}
        write_json({**sizes, "coverage": last["coverage"], "width": last["width"], "to_label": str(sheet)})
        return
    width = "" if last["width"] is None else f", intervals {last['width']:.2f} times as wide as now"
    say(
        f"{SampleKey.of(last).label}: "
        f"{proposal.to_label.height:,} results of {proposal.queries.height:,} queries; "
        f"coverage would be {last['coverage']:.1%}{width}.",
        f"To label: {sheet} (column grade). Then run again with these judgments added.",
    )


def _check_plan(rankings: tuple[Path, ...], go_on: Path | None) -> None:
    if go_on is None and not 1 <= len(rankings) <= 2:
        raise SettingsError(
            "give --ranking once to evaluate a ranking, twice to compare two, --continue PLAN, or --run RUN"
        )
    if go_on is not None and rankings:
        raise SettingsError("--continue goes on with the rankings of its plan; leave --ranking out")


def _plain(made: "LabelPlan", out: Path) -> dict[str, object]:
    return {
        "draws": made.draws.height,
        "queries": made.draws.filter("paid").height,
        "documents": made.to_label.height,
        "spent": made.spent,
        "expected": made.expected,
        "notes": list(made.notes),
        "to_label": str(out / "to_label.csv"),
    }


def _show_plan(made: "LabelPlan", out: Path, *, continues: Path | None) -> None:
    paid = made.draws.filter("paid")
    sheet = made.to_label
    for note in made.notes:
        say(f"Note: {note}")
    say(
        f"{made.draws.height:,} draws of {paid.height:,} queries, {sheet.height:,} documents to label, "
        f"cost {made.spent:g} of {made.options.budget:g}; the pool has {made.queries.height:,} queries."
    )
    if continues is not None:
        say(f"The draws of {continues} come first and are not paid again.")
    what = f"difference in {made.options.measure}" if made.compares else made.options.measure
    expected = made.expected
    if "error" in expected:
        say(
            f"Expected {what}: {expected['value']:.4f}, standard error of its estimate "
            f"{expected['error']:.4f}."
        )
    if "passive_budget" in expected:
        times = expected["passive_budget"] / made.options.budget
        say(
            f"Queries drawn as often as they are issued would cost {expected['passive_budget']:,.0f} "
            f"for that error: {times:.2f} times as much."
        )
    _show_queries(made)
    say(f"To label: {out / 'to_label.csv'} (column grade). Then: clickassay estimate {out} --judgments FILE")


def _show_queries(made: "LabelPlan") -> None:
    times = made.draws["query"].value_counts(name="drawn")
    rows = made.draws.filter("paid").head(SHOWN).join(made.queries, on="query", maintain_order="left")
    numbers = ("documents", "cost", "drawn", "counts for")
    show_table(("drawn first", *numbers), _cells(rows, times), numbers=numbers)


def _cells(rows: "pl.DataFrame", times: "pl.DataFrame") -> list[tuple[str, ...]]:
    return [
        (
            visible(row["query"], limit=48),
            *(
                f"{row['documents']:,}",
                f"{row['cost']:g}",
                f"{row['drawn']:,}",
                f"{row['importance_weight']:.2f}",
            ),
        )
        for row in rows.join(times, on="query", maintain_order="left").iter_rows(named=True)
    ]


def estimate(
    plan_folder: Annotated[Path, typer.Argument(metavar="PLAN", help="A folder that `plan` made.")],
    judgments: Annotated[
        Path, typer.Option(help="Rows query, url, grade: the sheet of the plan, filled in.")
    ],
    settings: Annotated[
        Settings, settings_of("scale", "conflicts", "column", relevant_grade=1, success_grade=0)
    ],
    json: JSON = False,
) -> None:
    """Estimate how good a ranking is, or which of two is better, from the labels of a plan.

    Examples
    --------
        clickassay estimate new-plan --judgments labelled.csv

        clickassay estimate compare-plan --judgments labels.parquet --json
    """
    from clickassay.studies.labelling.answer import estimate_plan
    from clickassay.studies.labelling.plan_folder import read_plan

    made = read_plan(plan_folder)
    with shown_progress(quiet=False):
        answer = estimate_plan(made, judgments, _on_scale_of(made, settings))
    if json:
        write_json(answer)
    else:
        _show_estimate(made, answer)


def _on_scale_of(made: "LabelPlan", settings: Settings) -> Settings:
    """Return the settings with the grades of the plan; a scale with another number of labels is refused."""
    return load_settings(
        max_grade=made.max_grade,
        scale=settings.scale if "scale" in settings.model_fields_set else None,
        conflicts=settings.conflicts,
        relevant_grade=1,
        success_grade=0,
    )


def _show_estimate(made: "LabelPlan", answer: "PlanEstimate") -> None:
    what = (
        f"{made.options.measure} of the first ranking minus the second"
        if made.compares
        else made.options.measure
    )
    at = "" if made.options.depth is None else f" at depth {made.options.depth}"
    say(
        f"{plural(answer.labels, 'label')}: {answer.labels_of_plan:,} of {len(made.documents):,} documents "
        f"of the plan have one, and {answer.to_label_labelled:,} of {answer.to_label:,} to label."
    )
    if answer.in_part:
        say(f"Warning: {len(answer.in_part):,} queries are labelled in part, as {answer.in_part[0]!r:.80}.")
    if answer.first_missing is not None:
        say(
            f"Draw {answer.draws + 1:,} (query {answer.first_missing!r:.80}) is not labelled in full: "
            f"{answer.draws:,} of {answer.planned_draws:,} draws count, {answer.waiting:,} labelled ones "
            "after it wait."
        )
    if answer.exact is not None:
        say(f"{what}{at}: {answer.exact:.4f}. Every query is labelled: nothing is estimated.")
        return
    one = answer.estimate
    if one is None:  # either is there
        return
    say(f"{what}{at}: {one.value:.4f}, 95 % interval {one.ci_low:.4f} to {one.ci_high:.4f}.")
    if made.compares:
        say(f"The first ranking is better with confidence {one.above_zero:.1%}.")
    say(
        f"From {one.draws:,} draws, worth {one.effective_draws:,.0f} with equal weights; "
        f"the heaviest has {one.largest_share:.1%} of the weight."
    )
    for caution in one.cautions:
        say(f"Warning: {caution}")
