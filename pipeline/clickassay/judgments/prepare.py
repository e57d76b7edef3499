"""Judgments: scales, conflicts, judges. From rows as read to one grade per (judge, market, query, url)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.patterns import FUNNEL
from clickassay.core.errors import InputError, JudgmentError, SettingsError
from clickassay.core.records import Integers
from clickassay.core.settings import Settings
from clickassay.core.text.words import count, visible
from clickassay.inputs.normalise import (
    MAY_BE_UNNORMALISED,
    QUERY_MAY_BE_UNNORMALISED,
    normalise_query,
    normalise_url,
)
from clickassay.inputs.tables import WholeInput
from clickassay.inputs.text.grades import NOT_JUDGED, NULL_WORDS, REFUSALS, suggestion, value_key
from clickassay.patterns.funnel import usable_rows
from clickassay.patterns.lists import LogLists

KEY = ("judge", "market", "query", "url")
NO_GRADE = "no grade, -1 or a refusal"

_MAX_LABELS = 12
_MAX_EXAMPLES = 3  # examples in a message


@dataclass(frozen=True)
class Judgments:
    """Usable judgments in normal form."""

    # One row per (judge, market, query, url): these four columns as text, and `grade` (Int8), in any order.
    # `market` is 'all' unless the judgments themselves have markets.
    grades: pl.DataFrame
    by_market: bool  # Whether grades hold for one market only.
    # What was read, rejected, repeated and kept, in the form of `contracts.patterns.FUNNEL`.
    funnel: pl.DataFrame
    # Rows of the same form for results without a judgment, made by a rule; None = they have no grade.
    filled: pl.DataFrame | None = None
    # What `join.rows_of_judge` has found, by judge and lists.
    rows_by_lists: dict[tuple[str, int], tuple[LogLists, Integers]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, sorted."""
        return tuple(sorted(self.grades["judge"].unique()))

    @property
    def query_key(self) -> tuple[str, ...]:
        """Columns that identify a query: its text, and the market where grades hold for one market only."""
        return ("market", "query") if self.by_market else ("query",)

    def of_judge(self, judge: str) -> tuple[pl.DataFrame, int]:
        """Return the rows of a judge, filled ones last, and how many are judgments."""
        own = self.grades.filter(pl.col("judge") == judge)
        if self.filled is None:
            return own, own.height
        return pl.concat([own, self.filled.filter(pl.col("judge") == judge)]), own.height


def prepare_judgments(
    rows: pl.DataFrame, log_queries: pl.DataFrame, settings: Settings, *, by_market: bool
) -> Judgments:
    """Check grades, normalise queries and URLs, resolve conflicts, keep the queries of the log.

    Raises JudgmentError if a grade is off the scale, or grades of one (judge, query, url) differ and no rule
    is chosen; InputError if too many rows hold nulls.
    """
    counts: Counter[tuple[str, str]] = Counter({("read", ""): rows.height})
    graded = _parse_grades(rows.with_row_index("row"), settings)
    conditions = {f"null {one}": pl.col(one).is_not_null() for one in ("query", "url", "judge", "market")}
    usable = usable_rows("judgments", graded, conditions, counts, settings.max_rejected)
    judged = usable.filter(pl.col("grade").is_not_null())
    counts["not judged", NO_GRADE] = usable.height - judged.height
    if usable.height and not judged.height:
        raise JudgmentError(
            f"judgments: none of the {usable.height:,} rows has a grade: all are blank, -1 or a word such "
            "as null or refused; put the grades in a column `grade`"
        )
    normal = normal_judgments(judged, normalise_urls=settings.normalise_urls)
    resolved = _resolve_conflicts(normal, settings.conflicts, judged)
    again = normal.height - resolved.height
    others = normal.select(*KEY, "grade").n_unique() - resolved.height if again else 0
    counts["repeated", "same judgment again"] = again - others
    if others:
        counts["repeated", f"another grade: {settings.conflicts}"] = others
    on = ["market", "query"] if by_market else ["query"]
    kept = resolved.join(log_queries.select(on).unique(), on=on, how="semi")
    counts["no query", "its query is not in the log"] = resolved.height - kept.height
    counts["kept", ""] = kept.height
    steps = [("judgments", EVERY, 0, EVERY, step, reason, n) for (step, reason), n in counts.items() if n]
    columns = [column.name for column in FUNNEL.columns]
    return Judgments(kept, by_market, FUNNEL.canonical(pl.DataFrame(steps, schema=columns, orient="row")))


def check_labels(what: str, rows: pl.DataFrame | pl.LazyFrame, settings: Settings) -> None:
    """Refuse too many markets or judges: the column is something else; InputError shows some values."""
    names = [name for name in ("market", "judge") if name in rows.lazy().collect_schema()]
    for name in names:
        values = rows.lazy().select(pl.col(name).unique()).collect()[name].drop_nulls().sort()
        if len(values) > settings.max_markets:
            shown = ", ".join(f"'{visible(value)}'" for value in values.head(_MAX_EXAMPLES))
            raise InputError(
                f"{what}: column {name} has {len(values):,} different values ({shown}, …), expected at most "
                f"{settings.max_markets}, because each is measured separately; rename or drop the column, "
                f"or if these are {name}s, add --max-markets {len(values)}"
            )


def check_markets(markets: pl.Series) -> None:
    """Refuse a log with other markets beside one that is called as all together are (InputError)."""
    if EVERY in markets and markets.n_unique() > 1:
        raise InputError(
            f"searches: a market is called '{EVERY}', which means all markets combined; rename this market"
        )


def judged_queries(rows: pl.DataFrame, *, by_market: bool) -> pl.DataFrame:
    """Return the queries that judgments name, normalised, each once: market (null = every), query."""
    named = rows.select("market", "query").drop_nulls().unique()
    normal = _map_values(named, "query", _odd(named["query"], QUERY_MAY_BE_UNNORMALISED), normalise_query)
    market = pl.col("market") if by_market else pl.lit(None, dtype=pl.String).alias("market")
    return normal.select(market, "query").unique().sort("market", "query")


def _parse_grades(rows: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    grade = rows["grade"]
    if isinstance(grade.dtype, (pl.String, pl.Categorical, pl.Enum)):
        text = grade.cast(pl.String).str.strip_chars()
        known = {label: float(number) for number, label in enumerate(settings.scale)}
        labelled = text.str.to_lowercase().replace_strict(known, default=None, return_dtype=pl.Float64)
        values = labelled.fill_null(text.cast(pl.Float64, strict=False))
        says_none = text.str.to_lowercase().is_in([*NULL_WORDS, *REFUSALS])
        unknown = rows.filter(values.is_null() & text.is_not_null() & ~says_none)
        if unknown.height:  # all of them are named, so that one --scale can
            labels = unknown["grade"].cast(pl.String).str.strip_chars().unique().sort().to_list()
            more = "" if len(labels) <= _MAX_LABELS else f" and {len(labels) - _MAX_LABELS:,} more"
            found = f"found {', '.join(map(repr, labels[:_MAX_LABELS]))}{more}"
            scale = ",".join(settings.scale)
            why = f"not a label of the scale {scale} ({found}; give all labels, worst first, with --scale)"
            _refuse(unknown, why)
        rows = rows.with_columns(values.alias("grade"))
    elif not (grade.dtype.is_numeric() or isinstance(grade.dtype, pl.Null)):
        raise JudgmentError(
            f"judgments: column grade is {grade.dtype}; expected integers or labels of the scale"
        )
    numbers = rows["grade"].cast(pl.Float64).fill_nan(None).replace(NOT_JUDGED, None)
    off = rows.filter(numbers.is_not_null() & ~numbers.is_between(0, settings.max_grade))
    if off.height:
        _refuse(off, f"outside 0..{settings.max_grade} (--max-grade)")
    broken = rows.filter(numbers.is_not_null() & (numbers != numbers.floor()))
    if broken.height:
        keys = [value_key(str(number)) for number in numbers.drop_nulls().unique().sort()]
        guess = suggestion(keys, settings.max_grade)
        by_market = (broken["market"] != EVERY).any()  # the importer has no markets
        command = "by such a rule" if by_market else "clickassay import judgments FILE"
        _refuse(
            broken,
            f"not a whole number 0..{settings.max_grade}; convert all grades: {command} "
            f"{guess.option}{'' if by_market else ' --out FOLDER'} ({guess.guessed})",
        )
    return rows.with_columns(numbers.cast(pl.Int8).alias("grade"))


def _refuse(rows: pl.DataFrame, reason: str) -> None:
    first = rows.row(0, named=True)
    raise JudgmentError(
        f"judgments: grade {first['grade']!r} of row {first['row'] + 1:,} (query {first['query']!r:.60}, "
        f"url {first['url']!r:.80}) is {reason}; {rows.height:,} such rows in total"
    )


def normal_judgments(rows: pl.DataFrame, *, normalise_urls: bool) -> pl.DataFrame:
    """Return rows with query and url in normal form."""
    rows = _map_values(rows, "query", _odd(rows["query"], QUERY_MAY_BE_UNNORMALISED), normalise_query)
    if not normalise_urls:
        return rows
    return _map_values(rows, "url", _odd(rows["url"], MAY_BE_UNNORMALISED), normalise_url)


def _odd(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.filter(texts.str.contains(pattern)).unique()


def _map_values(
    rows: pl.DataFrame, column: str, distinct: pl.Series, function: Callable[[str], str]
) -> pl.DataFrame:
    if distinct.is_empty():
        return rows
    normal = pl.Series("normal", [function(text) for text in distinct], dtype=pl.String)
    mapping = pl.DataFrame({column: distinct, "normal": normal}).filter(pl.col(column) != pl.col("normal"))
    joined = rows.join(mapping, on=column, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("normal", column).alias(column)).drop("normal")


def _resolve_conflicts(rows: pl.DataFrame, rule: str, as_read: pl.DataFrame) -> pl.DataFrame:
    if rows.select(KEY).hash_rows().n_unique() == rows.height:  # repeated ones would share a fingerprint
        return rows.select(*KEY, "grade")
    grouped = rows.group_by(KEY)
    if rule == "error":
        spans = grouped.agg(pl.col("grade").max(), pl.col("grade").min().alias("lowest"))
        if (spans["lowest"] != spans["grade"]).any():
            _refuse_conflicts(rows.join(as_read.select("row", written="url"), on="row"))
        return spans.drop("lowest")
    if rule == "latest":
        return rows.sort("row").group_by(KEY, maintain_order=True).agg(pl.col("grade").last())
    if rule == "mean-rounded":
        # halves go up, as people round; in integers, so that no order of addition matters
        total, number = pl.col("grade").cast(pl.Int64).sum(), pl.len().cast(pl.Int64)
        return grouped.agg(((2 * total + number) // (2 * number)).cast(pl.Int8).alias("grade"))
    return grouped.agg(pl.col("grade").max())


def _refuse_conflicts(rows: pl.DataFrame) -> None:
    """Refuse rows of which some contradict each other; `written` has URLs as they were read."""
    pairs = pl.struct("written", "grade").unique().sort().alias("pairs")
    conflicts = rows.group_by(KEY).agg(pl.col("grade", "written").unique().sort(), pairs)
    conflicts = conflicts.filter(pl.col("grade").list.len() > 1).sort(KEY)
    shown = []
    for row in conflicts.head(_MAX_EXAMPLES).iter_rows(named=True):
        graded = [f"{one['written']!r:.120} has grade {one['grade']}" for one in row["pairs"]]
        if len(row["written"]) == 1:
            graded = [f"{row['written'][0]!r:.80} has grades {', '.join(map(str, row['grade']))}"]
        more = f" and {len(graded) - _MAX_EXAMPLES:,} more" if len(graded) > _MAX_EXAMPLES else ""
        shown.append(f"({row['query']!r:.60}, {', '.join(graded[:_MAX_EXAMPLES])}{more})")
    more = f" and {conflicts.height - _MAX_EXAMPLES:,} more" if conflicts.height > _MAX_EXAMPLES else ""
    merged = conflicts.filter(pl.col("written").list.len() > 1).height
    differ = (
        f"in {count(merged)} of them, differently written URLs normalise to the same URL: if these are "
        "different results (e.g. anchors of one page), add --no-normalise-urls; otherwise "
    )
    raise JudgmentError(
        f"judgments: {conflicts.height:,} contradict each other: {'; '.join(shown)}{more}; "
        f"{differ if merged else ''}correct the file, or choose a rule with --conflicts "
        "max|mean-rounded|latest"
    )


def queries_to_keep(judgments: WholeInput | None, settings: Settings) -> pl.DataFrame | None:
    """Return judged queries (market, null = every; query) if only they are kept; SettingsError if none."""
    if not settings.only_judged:
        return None
    if judgments is None:
        raise SettingsError("--only-judged needs judgments: add --judgments FILE")
    return judged_queries(judgments.rows, by_market=judgments.by_market)
