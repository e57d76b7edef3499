"""`clickassay plan` and `clickassay estimate`: which queries to label, and what the labels say."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import command_line, say, show, write_out
from clickassay.cli.options import CONFLICTS, FORCE, JSON, MAX_GRADE, QUIET, SCALE, Conflicts
from clickassay.cli.progress import shown_progress
from clickassay.core import escape
from clickassay.core.errors import SettingsError
from clickassay.core.escape import terminal

if TYPE_CHECKING:
    from clickassay.core.settings import Settings
    from clickassay.studies.labelling.answer import Found
    from clickassay.studies.labelling.plan_folder import LabelPlan


class MeasureName(StrEnum):
    """What is to be known of a ranking."""

    ERR = "ERR"
    DCG = "DCG"


class RunAim(StrEnum):
    """What judgments are to do for a run."""

    coverage = "coverage"
    interval = "interval"


class Variant(StrEnum):
    """What the choice of queries makes use of."""

    active = "active"
    uniform_relevance = "uniform relevance"
    uniform_cost = "uniform cost"
    passive = "passive"


SHOWN = 10
"""Queries that are shown; files have them all."""


def plan(
    budget: Annotated[
        float, typer.Option(help="What labels may cost; with --continue, all of them together.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the plan; appears whole or not at all.")],
    ranking: Annotated[
        list[Path] | None,
        typer.Option(help="Rows query, url, rank, or a TREC run file; give two to compare them."),
    ] = None,
    relevance: Annotated[
        Path | None,
        typer.Option(
            help="Rows query, url and p0, p1, ... (chance of each grade) or score. [default: all alike]"
        ),
    ] = None,
    judged: Annotated[
        Path | None, typer.Option(help="Judgments that turn scores into chances of grades.")
    ] = None,
    cost: Annotated[
        Path | None, typer.Option(help="Rows query, cost; or query, url, cost. [default: 1 a document]")
    ] = None,
    cost_column: Annotated[str, typer.Option(help="Column of costs, e.g. length.")] = "cost",
    log_cost: Annotated[
        bool, typer.Option("--log-cost", help="A document costs log(1 + its number).")
    ] = False,
    frequency: Annotated[
        Path | None, typer.Option(help="Rows query, sessions: how often it is asked. [default: all alike]")
    ] = None,
    measure: Annotated[MeasureName, typer.Option(help="What is to be known.")] = MeasureName.ERR,
    depth: Annotated[int | None, typer.Option(min=1, help="Cut of the rankings. [default: none]")] = None,
    variant: Annotated[
        Variant, typer.Option(help="What the choice of queries makes use of.")
    ] = Variant.active,
    defence: Annotated[
        float, typer.Option(help="Share of draws made as often as queries are asked, 0..1.")
    ] = 0.1,
    go_on: Annotated[
        Path | None, typer.Option("--continue", metavar="PLAN", help="Go on with a plan and a larger budget.")
    ] = None,
    from_run: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Instead: what to judge next for a run.")
    ] = None,
    aim: Annotated[
        RunAim, typer.Option(help="With --from: raise coverage, or narrow intervals.")
    ] = RunAim.coverage,
    market: Annotated[str | None, typer.Option(help="With --from. [default: the first]")] = None,
    judge: Annotated[str | None, typer.Option(help="With --from. [default: the first]")] = None,
    max_grade: MAX_GRADE = None,
    scale: SCALE = None,
    conflicts: CONFLICTS = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same queries.")] = 0,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Choose the queries whose labels tell most of a ranking, or of the difference of two, for a budget.

    Examples
    --------
        clickassay plan --ranking new.parquet --relevance model.parquet --budget 500 --out new-plan

        clickassay plan --ranking old.run --ranking new.run --cost lengths.csv --cost-column length --log-cost
        --budget 2000 --depth 10 --out compare-plan

        clickassay plan --continue new-plan --budget 800 --out new-plan-2

        clickassay plan --from reports/june --budget 500 --out judge-next
    """
    from clickassay.core.output import check_apart, check_free
    from clickassay.studies.labelling.inputs import Sources
    from clickassay.studies.labelling.plan import continued, make_plan
    from clickassay.studies.labelling.plan_folder import Aim, read_plan, write_plan

    if from_run is not None:
        _propose(from_run, aim, budget, out, (market, depth, judge), force=force)
        return
    rankings = tuple(ranking or ())
    _check_plan(rankings, go_on)
    check_apart(out, *rankings, relevance, judged, cost, frequency, go_on)
    check_free(out, force=force)
    with shown_progress(quiet=quiet) as progress:
        if go_on is not None:
            made = continued(read_plan(go_on), budget)
        else:
            sources = Sources(rankings, relevance, judged, cost, cost_column, log_cost, frequency)
            purpose = Aim(measure.value, variant.value, budget, depth, defence, seed)
            made = make_plan(sources, purpose, _settings(max_grade, scale, conflicts), progress)
        write_plan(made, out, {"command": command_line()}, force=force)
    _show_plan(made, out, continues=go_on)


def _propose(
    run: Path,
    aim: RunAim,
    budget: float,
    out: Path,
    wanted: tuple[str | None, int | None, str | None],
    *,
    force: bool,
) -> None:
    """Write what to judge next for a run."""
    from clickassay.core.output import check_apart, check_free
    from clickassay.core.records import SampleChoice, SampleKey
    from clickassay.studies.labelling.next_sheet import proposed, write_proposed

    check_apart(out, run)
    check_free(out, force=force)
    found = proposed(run, aim.value, budget, SampleChoice(*wanted))
    write_proposed(found, out, {"command": command_line(), "aim": aim.value, "budget": budget}, force=force)
    last = found.queries.row(-1, named=True)
    width = "" if last["width"] is None else f", intervals {last['width']:.2f} times as wide as now"
    say(
        f"{SampleKey.of(last).label}: "
        f"{found.to_label.height:,} results of {found.queries.height:,} queries; "
        f"coverage would be {last['coverage']:.1%}{width}.",
        f"To label: {out / 'to_label.csv'} (column grade). Then run again with these judgments added.",
    )


def _check_plan(rankings: tuple[Path, ...], go_on: Path | None) -> None:
    if go_on is None and not 1 <= len(rankings) <= 2:
        raise SettingsError(
            "give --ranking once to evaluate a ranking, twice to compare two, or --continue PLAN"
        )
    if go_on is not None and rankings:
        raise SettingsError("--continue goes on with the rankings of its plan; leave --ranking out")


def _settings(max_grade: int | None, scale: str | None, conflicts: Conflicts | None) -> "Settings":
    from clickassay.core.settings import load_settings

    return load_settings(
        max_grade=max_grade,
        scale=None if scale is None else scale.split(","),
        conflicts=None if conflicts is None else conflicts.value,
        relevant_grade=1,
        success_grade=0,
    )


def _show_plan(made: "LabelPlan", out: Path, *, continues: Path | None) -> None:
    paid = made.draws.filter("paid")
    sheet = made.to_label
    for note in made.notes:
        say(f"Note: {note}")
    say(
        f"{made.draws.height:,} draws of {paid.height:,} queries, {sheet.height:,} documents to label, "
        f"cost {made.spent:g} of {made.aim.budget:g}; the pool has {made.queries.height:,} queries."
    )
    if continues is not None:
        say(f"What {continues} had drawn comes first and is not paid again.")
    what = f"difference in {made.aim.measure}" if made.compares else made.aim.measure
    expected = made.expected
    if "error" in expected:
        say(
            f"Expected {what}: {expected['value']:.4f}, standard error of its estimate "
            f"{expected['error']:.4f}."
        )
    if "passive_budget" in expected:
        times = expected["passive_budget"] / made.aim.budget
        say(
            f"Queries drawn as often as they are asked would cost {expected['passive_budget']:,.0f} for that "
            f"error: {times:.2f} times as much."
        )
    _show_queries(made)
    say(f"To label: {out / 'to_label.csv'} (column grade). Then: clickassay estimate {out} --labels FILE")


def _show_queries(made: "LabelPlan") -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("drawn first", overflow="ellipsis", max_width=48)
    for head in ("documents", "cost", "drawn", "counts for"):
        table.add_column(head, justify="right", no_wrap=True)
    times = made.draws["query"].value_counts(name="drawn")
    rows = made.draws.filter("paid").head(SHOWN).join(made.queries, on="query", maintain_order="left")
    for row in rows.join(times, on="query", maintain_order="left").iter_rows(named=True):
        numbers = (f"{row['documents']:,}", f"{row['cost']:g}", f"{row['drawn']:,}", f"{row['ratio']:.2f}")
        table.add_row(Text(terminal(row["query"])), *numbers)
    show(table)


def estimate(
    plan_folder: Annotated[Path, typer.Argument(metavar="PLAN", help="A folder that `plan` made.")],
    labels: Annotated[Path, typer.Option(help="Rows query, url, grade: the sheet of the plan, filled in.")],
    scale: SCALE = None,
    conflicts: CONFLICTS = None,
    json: JSON = False,
) -> None:
    """Tell how good a ranking is, or which of two is better, from the labels of a plan.

    Examples
    --------
        clickassay estimate new-plan --labels labelled.csv

        clickassay estimate compare-plan --labels labels.parquet --json
    """
    from clickassay.studies.labelling.answer import estimate_plan
    from clickassay.studies.labelling.plan_folder import read_plan

    made = read_plan(plan_folder)
    found = estimate_plan(made, labels, _settings(made.max_grade, scale, conflicts))
    if json:
        write_out(escape.json(asdict(found), indent=2) + "\n")
        return
    _show_estimate(made, found)


def _show_estimate(made: "LabelPlan", found: "Found") -> None:
    what = f"{made.aim.measure} of the first ranking minus the second" if made.compares else made.aim.measure
    at = "" if made.aim.depth is None else f" at depth {made.aim.depth}"
    if found.in_part:
        say(f"Warning: {len(found.in_part):,} queries are labelled in part, as {found.in_part[0]!r:.80}.")
    if found.first_missing is not None:
        say(
            f"Draw {found.draws + 1:,} (query {found.first_missing!r:.80}) is not labelled in full: "
            f"{found.draws:,} of {found.of:,} draws count, {found.waiting:,} labelled ones after it wait."
        )
    if found.exact is not None:
        say(f"{what}{at}: {found.exact:.4f}. Every query is labelled: nothing is estimated.")
        return
    one = found.estimate
    if one is None:  # either is there
        return
    say(f"{what}{at}: {one.value:.4f}, 95 % interval {one.ci_low:.4f} to {one.ci_high:.4f}.")
    if made.compares:
        say(f"The first ranking is better with confidence {one.above_zero:.1%}.")
    say(
        f"From {one.draws:,} draws, worth {one.worth:,.0f} with equal weights; "
        f"the heaviest has {one.heaviest:.1%} of the weight."
    )
    for caution in one.cautions:
        say(f"Warning: {caution}")
