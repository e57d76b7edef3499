"""`clickassay clicks`: click models fitted on a run, a pattern table or a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import say, show_table, speaker, write_frame, write_json
from clickassay.cli.exit import command_line
from clickassay.cli.options import FORCE, JSON, QUIET, Format, TablesOut, with_options
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.progress import Event
from clickassay.core.settings import Settings

if TYPE_CHECKING:
    import polars as pl

    from clickassay.click_models.comparison import EvaluatedModel

clicks = typer.Typer(
    help="Click models: what users examine, and what attracts them.",
    no_args_is_help=True,
    add_completion=False,
)

BAR = 16
"""Characters of a bar that stands for 1."""

WIDE = 120
"""Columns from which on models are described."""

MOST_POSITIONS = 20
"""Positions that are shown; files have them all."""

SOURCE = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder (judged rankings), a pattern table or a store.")
]
HELD_OUT = Annotated[
    float,
    typer.Option(help="Share held out for testing: users if the log has three folds or more, else sessions."),
]


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
        if not 0 <= self.pseudo_count <= 1e6:
            raise SettingsError(
                f"--pseudo-count {self.pseudo_count}: expected a number from 0 to a million, e.g. 1"
            )


@clicks.command()
@with_options
def compare(
    source: SOURCE,
    options: FitOptions,
    settings: Annotated[Settings, settings_of("seed")],
    output: TablesOut,
    form: Format,
    click_models: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names with commas, e.g. PBM,DBN. [default: all]")
    ] = None,
    held_out: HELD_OUT = 0.25,
    quiet: QUIET = False,
) -> None:
    """Show which click model predicts clicks best, and which positions users examine.

    Examples
    --------
        clickassay clicks compare reports/june

        clickassay clicks compare june-patterns --click-models PBM,UBM,DBN --depth 10 --out models
    """
    from clickassay.click_models.catalogue import click_models as named
    from clickassay.core.contracts.columns import EVERY
    from clickassay.core.files.tables import write_tables
    from clickassay.jobs.click_models import compare_models, examination_picture, read_clicks

    if not 0 < held_out < 1:
        raise SettingsError(f"--held-out {held_out}: expected a number between 0 and 1, e.g. 0.25")
    kinds = named(click_models.split(",") if click_models is not None else ())
    output.check(source)
    with shown_progress(quiet=quiet) as progress:
        read = read_clicks(source, market=options.market, depth=options.depth)
        tried, tables = compare_models(
            read,
            kinds,
            pseudo_count=options.pseudo_count,
            held_out=held_out,
            seed=settings.seed,
            market=options.market or EVERY,
            progress=progress,
        )
        if output.out is not None:
            names = [kind.name for kind in kinds]
            info = {"command": command_line(), "pseudo_count": options.pseudo_count, "held_out": held_out,
                    "seed": settings.seed, "depth": read.depth, "market": options.market,
                    "models": names}  # fmt: skip
            drawn = examination_picture(tried)
            texts = {} if drawn is None else {"examination.svg": drawn}
            write_tables(output.out, tables, info, texts=texts, force=output.force)
    if form.for_programs:
        write_frame(tables["click_models"], csv=form.csv)
        return
    _show(tried, tables["click_models"])
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
        str,
        typer.Option(
            metavar="NAME", help="DBN or another click model, or COEC: clicks over expected clicks."
        ),
    ] = "DBN",
    to: Annotated[
        Literal["csv", "qrels", "quepid", "workbench", "rank-eval"],
        typer.Option(help="Format of the grades."),
    ] = "csv",
    cuts: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Thresholds: a grade is how many the relevance reaches. [default: ERR's; COEC: none]",
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
    from clickassay.jobs.from_clicks import files_for, judgments_from_clicks

    check_place(out, source, force=force)
    with shown_progress(quiet=quiet) as progress:
        read = read_clicks(source, market=options.market, depth=options.depth)
        found = judgments_from_clicks(
            read, click_model, pseudo_count=options.pseudo_count, cuts=cuts, least_sessions=least_sessions,
            progress=progress,
        )  # fmt: skip
        files = files_for(found, to)
        info = {"command": command_line(), "model": click_model, "cuts": cuts, "depth": read.depth,
                "market": options.market, "least_sessions": least_sessions}  # fmt: skip
        write_tables(out, {"click_judgments": found}, info, texts=files, force=force)
    results, queries, file = found.height, found["query"].n_unique(), str(out / next(iter(files)))
    if json:
        write_json({"results": results, "queries": queries, "file": file})
        return
    say(f"{results:,} results of {queries:,} queries: {file}")


def _show(tried: "Sequence[EvaluatedModel]", models: "pl.DataFrame") -> None:
    """Show how well models predict, and what share of users examines each position by the best of them."""
    from clickassay.click_models.comparison import best_predictor, dcg_discount

    # the best: of those that estimate examination and predict whole sessions
    best, described = best_predictor(tried), speaker().width >= WIDE
    numbers = ("perplexity", "log-likelihood", "parameters", "rounds")
    rows = models.rows_by_key("model", named=True, unique=True)
    first = models.row(0, named=True)
    leader = models.sort("perplexity", nulls_last=True, maintain_order=True).row(0, named=True)
    say(
        f"{leader['model']} predicts clicks best: perplexity {leader['perplexity']:.4f} on held-out sessions."
    )
    how = "of other users" if first["held_out"] == "users" else "drawn at random"
    cells = []
    for one in tried:
        row = rows[one.kind.name]
        likelihood = row["log_likelihood"]
        cells.append(
            (
                one.kind.name,
                f"{row['perplexity']:.4f}",
                "none" if likelihood is None else f"{likelihood:.4f}",
                f"{row['n_parameters']:,}",
                f"{row['rounds']}{'' if row['converged'] else ' (not converged)'}",
                *((one.kind.line,) if described else ()),
            )
        )
    show_table(
        ("model", *numbers, *(("what it assumes",) if described else ())),
        cells,
        numbers=numbers,
        bold=None if best is None else list(tried).index(best),
    )
    say(f"Fitted on {first['n_fitted']:,} sessions, tested on {first['n_sessions']:,} {how}.")
    say(*(f"{model}: {row['reason']}" for model, row in rows.items() if row["reason"]))
    if best is None:
        return
    shown = [one for one in tried if one.kind.estimates_examination]
    columns = ("position", *(one.kind.name for one in shown), "DCG")
    discounts, places = dcg_discount(len(best.examined)), []
    for place in range(min(len(best.examined), MOST_POSITIONS)):
        bar = "█" * round(BAR * float(best.examined[place])) if best.examined[place] > 0 else ""
        shares = [f"{one.examined[place]:.2f}" for one in shown]
        places.append((str(place + 1), *shares, f"{discounts[place]:.2f}", bar))
    say("Share of sessions in which users examine a position, and the discount of DCG:")
    show_table((*columns, f"{best.kind.name}, drawn"), places, numbers=columns)
    if (persistence := rows[best.kind.name]["best_persistence"]) is not None:
        say(
            f"RBP with persistence {persistence:.2f} discounts most like the examination of {best.kind.name}."
        )
