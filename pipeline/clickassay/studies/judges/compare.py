"""How far judges agree: from judgments alone, each number with an interval that takes queries as units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.judges import CONFUSION
from clickassay.core.errors import InputError, NothingInCommonError
from clickassay.core.files.scratch import scratch_folder, with_scratch
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Progress, silent
from clickassay.core.text.words import listed
from clickassay.correlation.agreement import agreement, agreement_of_all, confusion
from clickassay.health.overlap import Side, names_apart
from clickassay.inputs.importers.judgments import RatingOptions, import_judgments
from clickassay.inputs.normalise import normalise_query, normalise_url
from clickassay.studies.judges.bias import bias
from clickassay.studies.judges.forms import BIAS, RANKING_PAIRS, RANKINGS, SHARES


@dataclass(frozen=True)
class JudgesCompared:
    """Judges compared."""

    judges: tuple[str, ...]  # Their names, in the order of the files.
    # agreement, confusion, grades, bias, rankings, ranking_pairs: Tables in the forms of `contracts.judges`
    # and `studies.judges.forms`; the last two without rows where no rankings are given.
    agreement: pl.DataFrame
    confusion: pl.DataFrame
    grades: pl.DataFrame
    # Results that judges grade differently, the largest difference first: query, url, grade (empty, to be
    # filled in), and a column for each judge.
    sheet: pl.DataFrame
    # By judge: results judged more than once, and how many of them have the same grade each time.
    repeated: dict[str, tuple[int, int]]
    bias: pl.DataFrame
    not_judged: int = 0  # Ratings of the files that are no judgments: blank, -1, refused.
    rankings: pl.DataFrame = field(default_factory=RANKINGS.empty)
    ranking_pairs: pl.DataFrame = field(default_factory=RANKING_PAIRS.empty)
    # Tables judge_disagreements and judge_comparisons of a run; none where no log is given.
    clicks: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@with_scratch()
def judgments_of(
    files: Sequence[Path], options: RatingOptions, *, progress: Progress = silent
) -> tuple[tuple[str, ...], pl.DataFrame, int]:
    """Read judgments of two judges or more, as `import judgments` does.

    Returns names of the judges; rows judge, topic, doc, grade as in the files, and query, url, the normalised
    forms; how many ratings are no judgments. Raises InputError for an unreadable file, or one judge.
    """
    folder = scratch_folder(listed([str(file) for file in files])) / "judgments"
    reading = replace(options, repeats=True)
    counts = import_judgments(files, out=folder, rating_options=reading, progress=progress).counts
    rows = scan_parquet(folder / "judgments.parquet").collect()
    judges = tuple(rows["judge"].unique(maintain_order=True)) if "judge" in rows.columns else ()
    if len(judges) < 2:
        raise InputError(
            f"{listed([str(file) for file in files])}: one judge; give a file for each judge, or a table "
            "with a column judge"
        )
    if EVERY in judges:
        raise InputError(f"a judge is called {EVERY!r}, which stands for all judges; name it by --judge")
    normal = {query: normalise_query(query) for query in rows["query"].unique()}
    urls = {url: normalise_url(url) for url in rows["url"].unique()}
    named = pl.col("query").replace_strict(normal, return_dtype=pl.String)
    url = pl.col("url").replace_strict(urls, return_dtype=pl.String)
    dropped = counts["ratings_blank"] + counts["ratings_not_judged"]
    return judges, rows.with_columns(topic="query", doc="url", query=named, url=url), dropped


def compare_judges(
    judges: tuple[str, ...],
    rows: pl.DataFrame,
    *,
    max_grade: int | None = None,
    classes: pl.DataFrame | None = None,
) -> JudgesCompared:
    """Compare judges by the results that they have in common; NothingInCommonError if no two have any.

    rows: judge, query, url, grade. Of a result that a judge judged more than once, the first counts.
    max_grade: top of the scale, which AC1 depends on; None = the highest grade given.
    classes: columns query, each once, and a text for each kind of classes that bias is measured by.
    """
    key = ["judge", "query", "url"]
    once = rows.unique(key, keep="first", maintain_order=True)
    size = max((int(str(once["grade"].max())) if max_grade is None else max_grade) + 1, 2)
    pairs = judged_by_both(judges, once)
    if not pairs:
        one, two = (
            Side(f"{judge} has", once.filter(judge=judge).select("query", text="url")) for judge in judges[:2]
        )
        raise NothingInCommonError(
            f"judges {listed(judges)} have no result in common: {names_apart(one, two, ('query',))}; give "
            "files that use the same names of queries and results"
        )
    parts = [agreement(names, pair, size) for names, pair in pairs.items()]
    if len(judges) > 2:
        parts.append(agreement_of_all(once, size))
    shares = once.group_by("judge", "grade").agg(rows=pl.len().cast(pl.Int64))
    again = rows.group_by(key).agg(times=pl.len(), equal=pl.col("grade").n_unique() == 1)
    again = again.filter(pl.col("times") > 1).group_by("judge").agg(pl.len(), pl.col("equal").sum())
    columns = [f"grade of {name}" for name in judges]
    named = once.with_columns(judge=pl.format("grade of {}", "judge"))
    wide = named.pivot("judge", index=["query", "url"], values="grade", maintain_order=True)
    lowest, highest = (pl.min_horizontal(columns), pl.max_horizontal(columns))
    apart = wide.with_columns(apart=highest - lowest).filter(pl.col("apart") > 0)
    ordered = apart.sort("apart", "query", "url", descending=[True, False, False])
    if _named(once):  # other tools know them as they are written
        written = once.unique(["query", "url"], keep="first").select("query", "url", "topic", "doc")
        ordered = ordered.join(written, on=["query", "url"], maintain_order="left")
        ordered = ordered.with_columns(query="topic", url="doc")
    return JudgesCompared(
        judges,
        pl.concat(parts),
        CONFUSION.canonical(pl.concat([confusion(names, pair) for names, pair in pairs.items()])),
        SHARES.canonical(shares.with_columns(share=pl.col("rows") / pl.col("rows").sum().over("judge"))),
        ordered.select("query", "url", pl.lit(None, pl.Int8).alias("grade"), *columns),
        {judge: (int(results), int(equal)) for judge, results, equal in again.sort("judge").iter_rows()},
        BIAS.canonical(pl.concat([bias(names, pair, classes, size) for names, pair in pairs.items()])),
    )


def judged_by_both(judges: tuple[str, ...], rows: pl.DataFrame) -> dict[tuple[str, str], pl.DataFrame]:
    """Return results that both judged, for every two judges with any: market, query, url, grade_a, grade_b.

    `place`, 0..1, is where the result stands in the file of the second; texts are of the first.
    """
    once = rows.unique(["judge", "query", "url"], keep="first", maintain_order=True)
    columns, pairs = (*_named(once), "query", "url", "grade_b", "place"), {}
    for a, b in combinations(judges, 2):
        one, two = (once.filter(judge=name).drop("judge") for name in (a, b))
        two = two.with_columns(place=pl.int_range(pl.len()) / pl.len())
        both = one.join(two, on=["query", "url"], suffix="_b", maintain_order="left")
        if both.height:
            pairs[a, b] = both.select(*columns, grade_a="grade", market=pl.lit(EVERY))
    return pairs


def _named(rows: pl.DataFrame) -> list[str]:
    return [name for name in ("topic", "doc") if name in rows.columns]
