"""`clickassay import`: logs and judgments of other tools as canonical tables."""

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from clickassay.cli.console import say, write_json
from clickassay.cli.options import JSON, OUT, QUIET, declared_option, with_options
from clickassay.cli.progress import shown_progress

imports = typer.Typer(
    help="Convert logs from other tools to Parquet.", no_args_is_help=True, add_completion=False
)

Layout = Literal["table", "quepid", "srw", "qrels", "beir", "rre", "rank-eval"]
Declared = Callable[..., dict[str, Any] | None]


def importer(declared: Declared) -> Declared:
    """Make a command of the importer that has the name of a function, which declares what the command takes.

    Every command also takes --out, --json and --quiet. What the function returns goes to the importer, or
    else all that the command was given.
    """
    name = declared.__name__

    @functools.wraps(declared)
    def command(*, out: Path, json: bool, quiet: bool, **given: object) -> None:
        module = import_module(f"clickassay.inputs.importers.{name.removeprefix('import_')}")
        with shown_progress(quiet=quiet) as progress:
            imported = getattr(module, name)(**(declared(**given) or given), out=out, progress=progress)
        if json:
            counts, notes = imported.counts, list(imported.notes)
            write_json({"folder": str(imported.folder), "counts": counts, "notes": notes})
            return
        say(f"Canonical log: {imported.folder}")
        say(*(f"  {what}: {rows:,}" for what, rows in imported.counts.items()))
        say(*(f"Note: {note}" for note in imported.notes))

    own = inspect.signature(declared, eval_str=True).parameters.values()
    options = [declared_option("out", OUT, inspect.Parameter.empty), *own]
    options += [declared_option("json", JSON, False), declared_option("quiet", QUIET, False)]
    read_by_typer: Any = command
    read_by_typer.__signature__ = inspect.Signature([one.replace(kind=one.KEYWORD_ONLY) for one in options])
    command.__annotations__ = {one.name: one.annotation for one in options}
    imports.command(name.removeprefix("import_").replace("_", "-"))(with_options(command))
    return declared


@importer
def import_yandex(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Log in the layout of Yandex's Relevance Prediction.")
    ],
    judgments: Annotated[Path | None, typer.Option(help="Judgments: query, url, relevance.")] = None,
    query_map: Annotated[
        Path | None, typer.Option(help="TSV: query id of the log, query of the judgments.")
    ] = None,
    time_unit_ms: Annotated[float, typer.Option(help="Milliseconds in one unit of the log's time.")] = 1.0,
) -> None:
    """Import a log in Yandex's layout (also NAVER's CLARA).

    Example:

        clickassay import yandex CLARA2SearchLog_beta --judgments CLARA2QueryUrlRelevance_beta --out clara
    """


@importer
def import_trec_session(
    xml: Annotated[Path, typer.Argument(metavar="XML", help="Sessions of the TREC Session Track.")],
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Its judgments by topic.")],
) -> None:
    """Import the sessions and judgments of a TREC Session Track.

    Example:

        clickassay import trec-session sessiontrack2012.xml qrels2012.txt --out trec2012
    """


@importer
def import_letor(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Lines grade qid:N feature:value ...")],
    sizes: Annotated[Path | None, typer.Option(help="Lines of each query, where FILE has no qid.")] = None,
) -> None:
    """Import judged documents of a learning-to-rank set (LETOR, MSLR-WEB30k, LightGBM).

    Example:

        clickassay import letor Fold1/test.txt --out mslr
    """


@importer
def import_yahoo_l18(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Search logs, one page per line.")],
    judgments: Annotated[Path | None, typer.Option(help="Its judgments: query, url, grade.")] = None,
) -> None:
    """Import Yahoo's L18, anonymised search logs with relevance judgments.

    Example:

        clickassay import yahoo-l18 search_logs-v1.txt --judgments relevance_judgments-v1.txt --out l18
    """


@importer
def import_tiangong_st(
    xml: Annotated[Path, typer.Argument(metavar="XML", help="Its sessions.")],
    judgments: Annotated[Path | None, typer.Option(help="Its human labels.")] = None,
    encoding: Annotated[Literal["utf-8", "gb18030"], typer.Option(help="Encoding of both files.")] = "utf-8",
) -> None:
    """Import the sessions and human labels of TianGong-ST.

    Example:

        clickassay import tiangong-st sessions.xml --judgments human_labels.txt --out tiangong
    """


@importer
def import_baidu_ultr(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One unpacked part of its search sessions.")],
    judgments: Annotated[Path | None, typer.Option(help="Its expert labels.")] = None,
) -> None:
    """Import searches and expert labels of Baidu-ULTR.

    Example:

        clickassay import baidu-ultr part-00000 --judgments annotation_data_0522.txt --out baidu
    """


@importer
def import_pyclick(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Pages QueryID, results : clicks;")],
) -> None:
    """Import pages in the layout of PyClick's sample.

    Example:

        clickassay import pyclick trainSample --out sample
    """


@importer
def import_judgments(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="One or more files of judgments.")],
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
) -> dict[str, Any]:
    """Import judgments of other tools: Quepid, Search Relevance Workbench, TREC qrels, BEIR, tables.

    Examples
    --------
        clickassay import judgments ratings.csv --raters majority --out quepid

        clickassay import judgments esci.json --grade-map 0=0,1=1,10=3,100=4 --out esci

        clickassay import judgments editors.csv llm.json --judge editors --judge llm --out both

        clickassay import judgments llm-scores.csv --cuts 0.25,0.5,0.75 --out llm
    """
    from clickassay.inputs.importers.judgments import RatingOptions
    from clickassay.inputs.importers.ratings import ReadOptions
    from clickassay.inputs.sources.mapping import names_of

    names = names_of("judgments", column or ())
    reading = ReadOptions(layout, encoding, tuple(rater_column or ()), names=names)
    rating = RatingOptions(
        grade_map=tuple(grade_map or ()), cuts=cuts, max_grade=max_grade, raters=raters,
        judges=tuple(judge or ()), query_map=query_map, conflicts=conflicts,
    )  # fmt: skip
    return {"files": files, "read_options": reading, "rating_options": rating}


@importer
def import_ubi(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Queries and events: bulk or JSON lines, Parquet, CSV, or folders."
        ),
    ],
    click_action: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="action_name of a click on a result; repeat for several. "
            "[default: click, click_through, item_click, product_click, result_click]",
        ),
    ] = None,
) -> dict[str, Any]:
    """Import queries and events of OpenSearch User Behavior Insights (UBI).

    Example:

        clickassay import ubi ubi_queries.ndjson ubi_events.ndjson --out shop
    """
    from clickassay.inputs.importers.ubi import CLICK_ACTIONS

    return {"paths": paths, "click_actions": tuple(click_action or CLICK_ACTIONS)}
