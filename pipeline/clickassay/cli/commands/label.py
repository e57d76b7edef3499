"""`clickassay plan` and `clickassay estimate`: which queries to label, and what the labels say."""

from dataclasses import asdict
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

    from clickassay.studies.labelling.plan_folder import LabelPlan

SHOWN = 10
"""Queries that are shown; files have them all."""


def plan(
    *,
    budget: Annotated[
        float, typer.Option(help="Total cost of labels; with --continue, including earlier ones.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the plan (written atomically).")],
    ranking: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Rows query, url, rank, or a TREC run file; give two to compare."),
    ] = None,
    relevance: Annotated[
        Path | None,
        typer.Option(
            help="Rows query, url and p0, p1, ... (probability of each grade), or score, or a model's grade. "
            "[default: equal for all]"
        ),
    ] = None,
    judgments: Annotated[
        Path | None, typer.Option(help="Judgments that turn scores or a model's grades into probabilities.")
    ] = None,
    cost: Annotated[
        Path | None, typer.Option(help="Rows query, cost; or query, url, cost. [default: 1 per document]")
    ] = None,
    cost_column: Annotated[str, typer.Option(help="Column of costs, e.g. length.")] = "cost",
    log_cost: Annotated[bool, typer.Option("--log-cost", help="A document costs log(1 + its number).")] = (
        False
    ),
    frequency: Annotated[
        Path | None,
        typer.Option(help="Rows query, sessions: how often users issue it. [default: equal for all]"),
    ] = None,
    metric: Annotated[Literal["ERR", "DCG"], typer.Option("--metric", "-m", help="Metric to estimate.")] = (
        "ERR"
    ),
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Use the top k of the rankings. [default: all]")
    ] = None,
    variant: Annotated[
        Literal["active", "uniform relevance", "uniform cost", "passive", "corrected"],
        typer.Option(
            metavar="NAME",
            help="How to choose queries: active (by relevance and cost), uniform relevance, uniform cost, "
            "passive (by neither), or corrected (labels correct --relevance).",
        ),
    ] = "active",
    defensive_share: Annotated[float, typer.Option(help="Share of draws by traffic alone, 0 to 1.")] = 0.1,
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Instead of rankings: a run, for what to judge next.")
    ] = None,
    goal: Annotated[
        Literal["coverage", "interval"], typer.Option(help="With --run: raise coverage or narrow intervals.")
    ] = "coverage",
    market: Annotated[str | None, typer.Option(help="With --run. [default: the report's]")] = None,
    judge: Annotated[str | None, typer.Option(help="With --run. [default: the report's]")] = None,
    settings: Annotated[
        Settings,
        settings_of("max_grade", "scale", "conflicts", "column", "seed", relevant_grade=1, success_grade=0),
    ],
    go_on: Annotated[
        Path | None, typer.Option("--continue", metavar="PLAN", help="Extend a plan with a larger budget.")
    ] = None,
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Choose which queries to label within a budget so that the estimate is most precise.

    Examples
    --------
        clickassay plan --ranking new.parquet --relevance model.parquet --budget 500 --out new-plan

        clickassay plan --ranking old.run --ranking new.run --cost lengths.csv --cost-column length --log-cost
        --budget 2000 --depth 10 --out compare-plan

        clickassay plan --continue new-plan --budget 800 --out new-plan-2

        clickassay plan --run reports/june --budget 500 --out judge-next
    """
    from clickassay.core.files.output import check_apart, check_free
    from clickassay.core.records import SampleChoice
    from clickassay.studies.labelling import plan_folder
    from clickassay.studies.labelling.inputs import PoolSources
    from clickassay.studies.labelling.plan import extend_plan, make_plan

    if run is not None:
        check_apart(out, run)
        check_free(out, force=force)
        queries, to_label = plan_folder.propose_judgments(
            run, goal, budget, SampleChoice(market, depth, judge)
        )
        info = {"command": command_line(), "goal": goal, "budget": budget}
        plan_folder.write_proposal(queries, to_label, out, info, force=force)
        _tell_proposal(queries, to_label.height, out / "to_label.csv", json=json)
        return
    rankings = tuple(ranking or ())
    if go_on is None and not 1 <= len(rankings) <= 2:
        raise SettingsError(
            "give --ranking once to evaluate a ranking, twice to compare two, --continue PLAN, or --run RUN"
        )
    if go_on is not None and rankings:
        raise SettingsError("--continue uses the rankings of its plan; remove --ranking")
    check_apart(out, *rankings, relevance, judgments, cost, frequency, go_on)
    check_free(out, force=force)
    with shown_progress(quiet=quiet) as progress:
        if go_on is not None:
            made = extend_plan(plan_folder.read_plan(go_on), budget)
        else:
            sources = PoolSources(
                rankings, relevance, judgments, costs=cost, cost_column=cost_column, log_cost=log_cost,
                frequencies=frequency,
            )  # fmt: skip
            options = plan_folder.PlanOptions(
                metric, variant, budget, depth=depth, defensive_share=defensive_share, seed=settings.seed
            )
            made = make_plan(sources, options, settings, progress)
        plan_folder.write_plan(made, out, {"command": command_line()}, force=force)
    if json:
        write_json(
            {
                "answer": made.answer,
                "draws": made.draws.height,
                "queries": made.draws.filter("paid").height,
                "documents": made.to_label.height,
                "spent": made.spent,
                "expected": made.expected,
                "notes": list(made.notes),
                "to_label": str(out / "to_label.csv"),
            }
        )
        return
    _show_plan(made, out, continues=go_on)


def _tell_proposal(proposed: "pl.DataFrame", results: int, sheet: Path, *, json: bool) -> None:
    from clickassay.core.records import SampleKey

    queries, last = proposed.height, proposed.row(-1, named=True)
    width = "" if last["width"] is None else f" and make intervals {last['width']:.2f} times as wide as now"
    answer = (
        f"Label {results:,} results of {plural(queries, 'query', 'queries')}: these would raise coverage of "
        f"{SampleKey.of(last).label} to {last['coverage']:.1%}{width}"
    )
    if json:
        sizes = {"answer": answer, "queries": queries, "results": results}
        write_json({**sizes, "coverage": last["coverage"], "width": last["width"], "to_label": str(sheet)})
        return
    say(f"{answer}.", f"Next: fill in column grade of {sheet}, then run again with these judgments added.")


def _show_plan(made: "LabelPlan", out: Path, *, continues: Path | None) -> None:
    say(f"{made.answer}.")
    expected, budget = made.expected, made.options.budget
    if "error" in expected:
        say(f"Expected {made.what}: {expected['value']:.4f}.")
    if "passive_budget" in expected:
        times = expected["passive_budget"] / budget
        say(
            f"Sampling by traffic would need a budget of {expected['passive_budget']:,.0f} for the same "
            f"error: {times:.2f} times as much."
        )
    drawn = made.draws["query"].value_counts(name="drawn")
    rows = made.draws.filter("paid").head(SHOWN).join(made.queries, on="query", maintain_order="left")
    numbers = ("documents", "cost", "drawn", "counts for")
    cells = [
        (
            visible(row["query"], limit=48),
            f"{row['documents']:,}",
            f"{row['cost']:g}",
            f"{row['drawn']:,}",
            f"{row['importance_weight']:.2f}",
        )
        for row in rows.join(drawn, on="query", maintain_order="left").iter_rows(named=True)
    ]
    show_table(("drawn first", *numbers), cells, numbers=numbers)
    say(
        f"{made.draws.height:,} draws from a pool of {made.queries.height:,} queries, cost {made.spent:g} of "
        f"{budget:g}."
    )
    if continues is not None:
        say(f"The draws of {continues} are reused at no cost.")
    say(*(f"Note: {note}" for note in made.notes))
    say(
        f"Next: fill in column grade of {out / 'to_label.csv'}, then run "
        f"clickassay estimate {out} --judgments FILE"
    )


def estimate(
    plan_folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder written by `plan`.")],
    judgments: Annotated[Path, typer.Option(help="Rows query, url, grade: the filled-in sheet of the plan.")],
    settings: Annotated[
        Settings, settings_of("scale", "conflicts", "column", relevant_grade=1, success_grade=0)
    ],
    json: JSON = False,
) -> None:
    """Estimate how good a ranking is, or which of two is better, from the labels of a plan.

    Example:

        clickassay estimate new-plan --judgments labelled.csv
    """
    from clickassay.studies.labelling.estimate import answer, estimate_plan
    from clickassay.studies.labelling.plan_folder import read_plan

    made = read_plan(plan_folder)
    on_scale = load_settings(  # the grades of the plan; a scale with another number of labels is refused
        max_grade=made.max_grade,
        scale=settings.scale if "scale" in settings.model_fields_set else None,
        conflicts=settings.conflicts,
        relevant_grade=1,
        success_grade=0,
    )
    with shown_progress(quiet=False):
        found = estimate_plan(made, judgments, on_scale)
    if json:
        write_json({"answer": answer(made, found), **asdict(found)})
        return
    say(f"{answer(made, found)}.")
    for caution in () if found.estimate is None else found.estimate.cautions:
        say(f"Warning: {caution}")
    if found.in_part:
        say(f"Warning: {len(found.in_part):,} queries are partly labelled, e.g. {found.in_part[0]!r:.80}.")
    if found.first_missing is not None:
        say(
            f"Draw {found.draws + 1:,} (query {found.first_missing!r:.80}) is not fully labelled. The "
            f"estimate uses the {found.draws:,} of {found.planned_draws:,} draws before it, and ignores "
            f"{found.waiting:,} labelled draws after it."
        )
    say(
        f"{plural(found.labels, 'label')}: {found.labels_of_plan:,} of the plan's {len(made.documents):,} "
        f"documents are labelled, and {found.to_label_labelled:,} of the {found.to_label:,} to label."
    )
    if found.estimate is not None:
        one = found.estimate
        if made.compares:
            say(f"The first ranking is better with confidence {one.above_zero:.1%}.")
        say(
            f"From {one.draws:,} draws (effective sample size {one.effective_draws:,.0f}, largest weight "
            f"{one.largest_share:.1%})."
        )
