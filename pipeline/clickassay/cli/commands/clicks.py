"""`clickassay clicks`: click models fitted on a run, a pattern table or a store."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from clickassay.api import questions
from clickassay.cli.console import say, show, show_table, write_frame, write_json
from clickassay.cli.exit import command_line
from clickassay.cli.options import FORCE, JSON, QUIET, Format, TablesOut, asked, options_of, with_options
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.progress import Event
from clickassay.core.settings import Settings

clicks = typer.Typer(
    help="Click models: what users examine, and what attracts them.",
    no_args_is_help=True,
    add_completion=False,
)

SOURCE = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder (judged rankings), a pattern table or a store.")
]
Given = dict[str, Any]
"""Parameters of a function, by their names."""


@dataclass(frozen=True)
class FitOptions:
    """Which sessions a model is fitted to, and how."""

    market: Annotated[str | None, typer.Option(help="Only this market. [default: all]")] = None
    depth: Annotated[
        int | None, typer.Option(metavar="K", help="Use the top k of the rankings. [default: all]")
    ] = None
    pseudo_count: Annotated[
        float, typer.Option(help="Clicks, and skips, added to the counts of each parameter (smoothing).")
    ] = 1.0

    def __post_init__(self) -> None:
        from clickassay.click_models.catalogue import check_pseudo_count

        check_pseudo_count(self.pseudo_count)


@clicks.command()
@with_options
def compare(
    given: Annotated[Given, options_of(questions.compare_click_models)],
    settings: Annotated[Settings, settings_of("seed")],
    output: TablesOut,
    form: Format,
    quiet: QUIET = False,
) -> None:
    """Show which click model the log supports, how well models predict, and which positions users examine.

    Examples
    --------
        clickassay clicks compare reports/june

        clickassay clicks compare june-patterns --hold-out lists --click-models PBM,UBM,DBN --depth 5
        --out models
    """
    output.check(given["source"])
    with shown_progress(quiet=quiet) as progress:
        found = asked(questions.compare_click_models, given, seed=settings.seed, progress=progress)
        output.write(found)
    if form.for_programs:
        write_frame(found.shown, csv=form.csv)
        return
    show(found.parts())
    output.tell("Tables")


@clicks.command()
@with_options
def fit(
    source: SOURCE,
    options: FitOptions,
    click_model: Annotated[str, typer.Option(metavar="NAME", help="Name of the model, e.g. DBN.")],
    out: Annotated[Path, typer.Option(help="Folder for its parameters (written atomically).")],
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Fit one click model to all sessions and write its parameters, for documents and positions.

    Example:

        clickassay clicks fit june-patterns --click-model DBN --depth 5 --out june-dbn
    """
    from clickassay.click_models.catalogue import click_models
    from clickassay.core.files.output import check_place
    from clickassay.core.files.tables import write_tables
    from clickassay.jobs.click_models import fit_model, read_clicks

    kind = click_models([click_model])[0]
    check_place(out, source, force=force)
    with shown_progress(quiet=quiet) as progress:
        read = read_clicks(source, market=options.market, depth=options.depth)
        progress(Event(f"fitting {kind.name}"))
        fitted, tables = fit_model(read, kind, pseudo_count=options.pseudo_count)
        info = {"command": command_line(), "model": kind.name, "pseudo_count": options.pseudo_count,
                "depth": read.depth, "market": options.market, "rounds": len(fitted.objectives),
                "converged": fitted.converged}  # fmt: skip
        write_tables(out, tables, info, force=force)
    if json:
        write_json({**info, "parameters": tables["click_parameters"].to_dicts(), "tables": str(out)})
        return
    ended = "Computed in closed form, without iterations."
    if fitted.objectives:
        end = "converged" if fitted.converged else "did not converge (rough numbers)"
        ended = f"Expectation maximisation {end} after {len(fitted.objectives)} rounds."
    say(f"{kind.name} ({kind.source}): {kind.line}", ended)
    rows = [
        (row["parameter"], "none" if row["value"] is None else f"{row['value']:.4f}", row["reason"])
        for row in tables["click_parameters"].iter_rows(named=True)
    ]
    show_table(("parameter", "value", ""), rows, numbers=("value",))
    say(f"Tables: {out} ({tables['click_documents'].height:,} documents)")


@clicks.command()
@with_options
def judgments(
    source: SOURCE,
    options: FitOptions,
    out: Annotated[Path, typer.Option(help="Folder for the judgments (written atomically).")],
    click_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A click model, or COEC: clicks over expected clicks. [default: the one the log supports]",
        ),
    ] = None,
    to: Annotated[
        Literal["csv", "qrels", "quepid", "workbench", "rank-eval"],
        typer.Option(help="Format of the grades."),
    ] = "csv",
    cuts: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Thresholds: a grade is how many the relevance reaches. [default: ERR's; COEC: 0.5,1,1.5,2]",
        ),
    ] = None,
    least_sessions: Annotated[
        int, typer.Option(min=1, metavar="N", help="Exclude results shown in fewer sessions.")
    ] = 10,
    force: FORCE = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Write judgments computed from clicks: how relevant each shown result is, corrected for its position.

    With 95% CIs over users. These judgments measure results, not their order. Test a metric that uses them on
    clicks of other users only.

    Examples
    --------
        clickassay clicks judgments june-patterns --out june-judgments

        clickassay clicks judgments june-patterns --market north --to qrels --out north-qrels
    """
    from clickassay.core.files.output import check_place
    from clickassay.core.files.tables import write_tables
    from clickassay.jobs.click_models import read_clicks
    from clickassay.jobs.from_clicks import files_for, judgments_from_clicks, model_for_judgments

    check_place(out, source, force=force)
    with shown_progress(quiet=quiet) as progress:
        read = read_clicks(source, market=options.market, depth=options.depth)
        chosen, why = None, None
        if click_model is None:
            chosen, why = model_for_judgments(read, pseudo_count=options.pseudo_count, progress=progress)
        model = click_model or chosen or ""
        found = judgments_from_clicks(
            read, model, pseudo_count=options.pseudo_count, cuts=cuts, least_sessions=least_sessions,
            progress=progress,
        )  # fmt: skip
        files = files_for(found, to)
        info = {"command": command_line(), "model": model, "cannot_tell": why, "cuts": cuts,
                "depth": read.depth, "market": options.market, "least_sessions": least_sessions}  # fmt: skip
        write_tables(out, {"click_judgments": found}, info, texts=files, force=force)
    results, queries, file = found.height, found["query"].n_unique(), str(out / next(iter(files)))
    if json:
        told = {"model": model, "cannot_tell": why}
        write_json({"results": results, "queries": queries, "file": file, **told})
        return
    if why is not None:
        say(f"This log cannot tell which click model it supports: {why}. {model} is used; or name another.")
    elif chosen is not None:
        say(f"Click model: {model}, which this log supports")
    say(f"{results:,} results of {queries:,} queries: {file}")
