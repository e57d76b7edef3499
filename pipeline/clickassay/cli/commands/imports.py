"""`clickassay import`: logs and judgments of other tools as canonical tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import say, write_json
from clickassay.cli.options import JSON, OUT, QUIET, with_options
from clickassay.cli.progress import shown_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from clickassay.inputs.importers.base import Imported

imports = typer.Typer(
    help="Convert logs from other tools to Parquet.", no_args_is_help=True, add_completion=False
)


Layout = Literal["table", "quepid", "srw", "qrels", "beir", "rre", "rank-eval"]


@imports.command("yandex")
@with_options
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
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import a log in Yandex's layout (also NAVER's CLARA).

    Example:

        clickassay import yandex CLARA2SearchLog_beta --judgments CLARA2QueryUrlRelevance_beta --out clara
    """
    from clickassay.inputs.importers.yandex import import_yandex as read

    _import(
        read,
        log,
        judgments=judgments,
        query_map=query_map,
        out=out,
        time_unit_ms=time_unit_ms,
        json=json,
        quiet=quiet,
    )


@imports.command("trec-session")
@with_options
def import_trec_session(
    xml: Annotated[Path, typer.Argument(metavar="XML", help="Sessions of the TREC Session Track.")],
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Its judgments by topic.")],
    out: OUT,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import the sessions and judgments of a TREC Session Track.

    Example:

        clickassay import trec-session sessiontrack2012.xml qrels2012.txt --out trec2012
    """
    from clickassay.inputs.importers.trec_session import import_trec_session as read

    _import(read, xml, qrels, out=out, json=json, quiet=quiet)


@imports.command("letor")
@with_options
def import_letor(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Lines grade qid:N feature:value ...")],
    out: OUT,
    sizes: Annotated[Path | None, typer.Option(help="Lines of each query, where FILE has no qid.")] = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import judged documents of a learning-to-rank set (LETOR, MSLR-WEB30k, LightGBM).

    Example:

        clickassay import letor Fold1/test.txt --out mslr
    """
    from clickassay.inputs.importers.letor import import_letor as read

    _import(read, file, sizes=sizes, out=out, json=json, quiet=quiet)


@imports.command("yahoo-l18")
@with_options
def import_yahoo_l18(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Search logs, one page per line.")],
    out: OUT,
    judgments: Annotated[Path | None, typer.Option(help="Its judgments: query, url, grade.")] = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import Yahoo's L18, anonymised search logs with relevance judgments.

    Example:

        clickassay import yahoo-l18 search_logs-v1.txt --judgments relevance_judgments-v1.txt --out l18
    """
    from clickassay.inputs.importers.yahoo_l18 import import_yahoo_l18 as read

    _import(read, log, judgments=judgments, out=out, json=json, quiet=quiet)


@imports.command("tiangong-st")
@with_options
def import_tiangong_st(
    xml: Annotated[Path, typer.Argument(metavar="XML", help="Its sessions.")],
    out: OUT,
    judgments: Annotated[Path | None, typer.Option(help="Its human labels.")] = None,
    encoding: Annotated[Literal["utf-8", "gb18030"], typer.Option(help="Encoding of both files.")] = "utf-8",
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import the sessions and human labels of TianGong-ST.

    Example:

        clickassay import tiangong-st sessions.xml --judgments human_labels.txt --out tiangong
    """
    from clickassay.inputs.importers.tiangong_st import import_tiangong_st as read

    _import(read, xml, judgments=judgments, out=out, encoding=encoding, json=json, quiet=quiet)


@imports.command("baidu-ultr")
@with_options
def import_baidu_ultr(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One unpacked part of its search sessions.")],
    out: OUT,
    judgments: Annotated[Path | None, typer.Option(help="Its expert labels.")] = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import searches and expert labels of Baidu-ULTR.

    Example:

        clickassay import baidu-ultr part-00000 --judgments annotation_data_0522.txt --out baidu
    """
    from clickassay.inputs.importers.baidu_ultr import import_baidu_ultr as read

    _import(read, file, judgments=judgments, out=out, json=json, quiet=quiet)


@imports.command("pyclick")
@with_options
def import_pyclick(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Pages QueryID, results : clicks;")],
    out: OUT,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import pages in the layout of PyClick's sample.

    Example:

        clickassay import pyclick trainSample --out sample
    """
    from clickassay.inputs.importers.pyclick import import_pyclick as read

    _import(read, file, out=out, json=json, quiet=quiet)


@imports.command("judgments")
@with_options
def import_judgments(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="One or more files of judgments.")],
    out: OUT,
    layout: Annotated[
        Layout | None, typer.Option(metavar="NAME", help="Layout of the files. [default: content]")
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of text files, e.g. gb18030.")] = "utf-8",
    rater_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column with one rater's ratings. [default: CSV's *_rating]"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NAME", help="Map one of your columns to ours: judgments.grade=relevance."),
    ] = None,
    grade_map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MAP",
            help="Map ratings to grades, e.g. 0=0,1=1,10=3,100=4, bad=0,good=2,skip=none (not judged) or "
            "..0.5=0,0.5..=1. Give one map for all files, or one each ('' = ratings are grades).",
        ),
    ] = None,
    cuts: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help="Thresholds, e.g. 0.25,0.5,0.75: a grade is how many are reached."
        ),
    ] = None,
    max_grade: Annotated[
        int | None, typer.Option(min=1, max=30, help="Highest grade; higher ratings are refused.")
    ] = None,
    raters: Annotated[
        Literal["each", "majority", "median", "final"] | None,
        typer.Option(
            metavar="RULE",
            help="With several raters: each is a judge, one grade by majority or median, or final "
            "(final_rating). [default: each]",
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name of the judge: one for all files, or one each."),
    ] = None,
    query_map: Annotated[Path | None, typer.Option(help="TSV: topic of the qrels, query of the log.")] = None,
    conflicts: Annotated[
        Literal["max"] | None,
        typer.Option(metavar="RULE", help="max: keep the highest of several grades of a result (subtopics)."),
    ] = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import judgments of other tools: Quepid, Search Relevance Workbench, TREC qrels, BEIR, tables.

    Examples
    --------
        clickassay import judgments ratings.csv --raters majority --out quepid

        clickassay import judgments esci.json --grade-map 0=0,1=1,10=3,100=4 --out esci

        clickassay import judgments editors.csv llm.json --judge editors --judge llm --out both

        clickassay import judgments llm-scores.csv --cuts 0.25,0.5,0.75 --out llm
    """
    from clickassay.inputs.importers.judgments import RatingOptions
    from clickassay.inputs.importers.judgments import import_judgments as read
    from clickassay.inputs.importers.ratings import ReadOptions
    from clickassay.inputs.sources.mapping import names_of

    names = names_of("judgments", column or ())
    reading = ReadOptions(layout, encoding, tuple(rater_column or ()), names=names)
    rating = RatingOptions(
        grade_map=tuple(grade_map or ()), cuts=cuts, max_grade=max_grade, raters=raters,
        judges=tuple(judge or ()), query_map=query_map, conflicts=conflicts,
    )  # fmt: skip
    _import(read, files, out=out, read_options=reading, rating_options=rating, json=json, quiet=quiet)


@imports.command("ubi")
@with_options
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
            help="action_name of a click on a result; repeat for several. "
            "[default: click, click_through, item_click, product_click, result_click]",
        ),
    ] = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Import queries and events of OpenSearch User Behavior Insights (UBI).

    Example:

        clickassay import ubi ubi_queries.ndjson ubi_events.ndjson --out shop
    """
    from clickassay.inputs.importers.ubi import CLICK_ACTIONS
    from clickassay.inputs.importers.ubi import import_ubi as read

    _import(read, paths, out=out, click_actions=tuple(click_action or CLICK_ACTIONS), json=json, quiet=quiet)


def _import(
    read: "Callable[..., Imported]", *inputs: object, json: bool, quiet: bool, **options: object
) -> None:
    with shown_progress(quiet=quiet) as progress:
        imported = read(*inputs, **options, progress=progress)
    if json:
        write_json({"folder": str(imported.folder), "counts": imported.counts, "notes": list(imported.notes)})
        return
    say(f"Canonical log: {imported.folder}")
    say(*(f"  {what}: {rows:,}" for what, rows in imported.counts.items()))
    say(*(f"Note: {note}" for note in imported.notes))
