"""`clickassay import`: foreign logs and judgments into canonical tables."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pipeline.cli_exit import printable
from pipeline.cli_options import OUT, QUIET
from pipeline.cli_progress import shown_progress

imports = typer.Typer(help="Turn foreign logs into canonical Parquet.", no_args_is_help=True)

_OUT = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


@imports.command("yandex")
def import_yandex(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Log in the layout of Yandex's Relevance Prediction.")
    ],
    out: OUT,
    judgments: Annotated[Path | None, typer.Option(help="Judgments: query, url, relevance.")] = None,
    query_map: Annotated[
        Path | None, typer.Option(help="TSV: query id of the log, query of the judgments.")
    ] = None,
    time_unit_ms: Annotated[float, typer.Option(help="Milliseconds in one unit of the log's time.")] = 1.0,
    quiet: QUIET = False,
) -> None:
    """Import a log in Yandex's layout (also NAVER's CLARA).

    Example:

        clickassay import yandex CLARA2SearchLog_beta --judgments CLARA2QueryUrlRelevance_beta --out clara
    """
    from pipeline.formats import import_yandex as read  # noqa: PLC0415

    with shown_progress(quiet=quiet) as progress:
        imported = read(
            log,
            judgments=judgments,
            query_map=query_map,
            out=out,
            time_unit_ms=time_unit_ms,
            progress=progress,
        )
    _tell_import(imported.folder, imported.counts, imported.notes)


@imports.command("trec-session")
def import_trec_session(
    xml: Annotated[Path, typer.Argument(metavar="XML", help="Sessions of the TREC Session Track.")],
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Its judgments by topic.")],
    out: OUT,
    quiet: QUIET = False,
) -> None:
    """Import the sessions and judgments of a TREC Session Track.

    Example:

        clickassay import trec-session sessiontrack2012.xml qrels2012.txt --out trec2012
    """
    from pipeline.formats import import_trec_session as read  # noqa: PLC0415

    with shown_progress(quiet=quiet) as progress:
        imported = read(xml, qrels, out=out, progress=progress)
    _tell_import(imported.folder, imported.counts, imported.notes)


@imports.command("letor")
def import_letor(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Lines grade qid:N feature:value ...")],
    out: OUT,
    sizes: Annotated[Path | None, typer.Option(help="Lines of each query, where FILE has no qid.")] = None,
    quiet: QUIET = False,
) -> None:
    """Import judged documents of a learning-to-rank set (LETOR, MSLR-WEB30k, LightGBM).

    Example:

        clickassay import letor Fold1/test.txt --out mslr
    """
    from pipeline.formats import import_letor as read  # noqa: PLC0415

    with shown_progress(quiet=quiet) as progress:
        imported = read(file, sizes=sizes, out=out, progress=progress)
    _tell_import(imported.folder, imported.counts, imported.notes)


@imports.command("ubi")
def import_ubi(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Queries and events: bulk or JSON lines, Parquet, CSV, or folders."
        ),
    ],
    out: OUT,
    click_action: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An action_name that is a click on a result; repeat for several. "
            "[default: click, click_through, item_click, product_click, result_click]",
        ),
    ] = None,
    quiet: QUIET = False,
) -> None:
    """Import queries and events of OpenSearch User Behavior Insights (UBI).

    Example:

        clickassay import ubi ubi_queries.ndjson ubi_events.ndjson --out shop
    """
    from pipeline.formats import import_ubi as read  # noqa: PLC0415
    from pipeline.formats.ubi import CLICK_ACTIONS  # noqa: PLC0415

    with shown_progress(quiet=quiet) as progress:
        imported = read(paths, out=out, click_actions=tuple(click_action or CLICK_ACTIONS), progress=progress)
    _tell_import(imported.folder, imported.counts, imported.notes)


def _tell_import(folder: Path, counts: dict[str, int], notes: tuple[str, ...]) -> None:
    _say(f"Canonical log: {folder}")
    for what, rows in counts.items():
        _say(f"  {what}: {rows:,}")
    for note in notes:
        _say(f"Note: {note}")


def _say(text: str) -> None:
    _OUT.print(printable(text))
