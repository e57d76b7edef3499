"""Columns of an input under names of its own: which column of the files is which of ours.

A name with dots goes into records: ``user.id`` is the field `id` of the column `user`, and
``items.product.id`` of a column of lists the fields of its items. A column whose whole name has dots is meant
before such a path.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.settings.project import TABLES
from clickassay.core.text.words import did_you_mean, listed
from clickassay.inputs.columns import (
    CANONICAL,
    CLICKED,
    IMPRESSIONS,
    OF_SIGNALS,
    OF_TESTS,
    OTHERS_KEPT,
    SAYS_CLICKED,
    TABLE_COLUMNS,
    TEAMS,
    Wanted,
    required,
)
from clickassay.inputs.files import READ_ERRORS
from clickassay.inputs.types import converted

Names = Mapping[str, str]
"""The path in the files of each of our columns that has another name there."""

OUR_NAMES: Names = MappingProxyType({})
"""Names of files whose columns are called as ours."""

LIKELY: Mapping[str, tuple[str, ...]] = {
    "search_id": ("request_id", "query_id", "impression_id", "serp_id", "event_id", "id"),
    "user_id": (
        *("uid", "user", "visitor_id", "visitor", "client_id", "customer_id"),
        *("cookie_id", "session_id"),
    ),
    "query": ("q", "query_text", "search_query", "search_term", "keyword", "keywords", "term", "text"),
    "timestamp": (
        *("ts", "time", "event_time", "created_at", "datetime", "occurred_at", "t"),
        *("assigned_at", "exposed_at", "first_exposure"),
    ),
    "results": (
        *("result_ids", "product_ids", "item_ids", "doc_ids"),
        *("documents", "docs", "items", "hits", "urls"),
    ),
    "url": (
        *("product_id", "item_id", "doc_id", "document_id", "docno", "docid", "corpus_id"),
        *("document", "doc", "result", "sku", "asin"),
    ),
    "position": ("rank", "pos", "slot", "place"),
    "grade": ("label", "rating", "relevance", "rel", "judgment", "judgement", "score"),
    "judge": ("assessor", "annotator", "rater"),
    "market": ("country", "locale", "site", "region"),
    "page": ("page_number", "page_no"),
    "clicked": ("is_clicked", "was_clicked", "click", "is_click"),
    "clicked_at": ("click_time", "click_ts", "click_timestamp", "clicked_time", "clicked_ts"),
    "action": ("event_type", "event_name", "action_name", "action_type", "event", "interaction"),
    "dwell_seconds": ("dwell_time", "dwell", "dwell_s", "time_on_page"),
    "added_to_cart": ("add_to_cart", "in_cart", "carted", "atc"),
    "purchased": ("purchase", "is_purchased", "bought", "ordered", "converted", "conversion"),
    "value": ("amount", "revenue"),
    "name": ("outcome", "outcome_name", "score_name"),
    "outcome_id": ("order_id", "transaction_id"),
    "configuration_id": ("list_id",),
    "experiment": ("test", "test_name", "experiment_name", "test_id", "experiment_id", "experiment_key"),
    "variant": (
        *("variant_id", "variant_name", "variation", "variation_id", "variation_name"),
        *("arm", "treatment", "ab_test", "group"),
    ),
    "teams": ("rankers", "search_configs", "search_configurations", "ranking_functions"),
    "team": (
        *("ranker", "ranking_function", "search_config", "search_configuration"),
        *("search_configuration_id", "search_configuration_uuid"),
    ),
    "until": ("valid_until", "assigned_until", "ended_at"),
    "difference": ("delta", "effect", "lift", "uplift", "click_difference", "clicks_difference"),
    "error": ("se", "stderr", "std_error", "standard_error"),
    "ci_low": ("low", "lower", "ci_lower"),
    "ci_high": ("high", "upper", "ci_upper"),
    "p_value": ("p", "p_val"),
    "changed": ("share_changed", "changed_share", "lists_changed"),
}
"""What a column is called elsewhere, the likeliest first; for messages and proposals, never for reading."""

_ROW_IDS = frozenset({"id", "eventid"})
"""Names of ids that in other tables than searches are those of a row."""

_ARMS = frozenset({
    "variant", "variantid", "variantname", "experiment", "experimentid", "experimentname", "arm", "abtest",
    "treatment", "team", "ranker", "rankingid",
})  # fmt: skip
"""Keys of columns that tell apart rankings which were shown at the same time."""

_READ_ARMS = (*OF_TESTS, "team", TEAMS)
"""Columns of ours that do."""

_INSTEAD = (CLICKED, frozenset({"configuration_id", "search_id", "query", "results"}))
"""Columns of which one is enough."""

_NAMING = ("id", "url", "uri", "text", "value", "name")
"""Fields that name what a record is about, the likeliest first."""

SAMPLE = 1_000
"""Rows that a proposal is tried on."""


def _key(name: str) -> str:
    """Return what is compared of a name: ``pageNumber``, ``PAGE NUMBER`` and ``page_number`` are one."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _keys(name: str) -> list[str]:
    return [_key(one) for one in (name, *LIKELY.get(name, ()))]


def _columns_of(what: str) -> tuple[Wanted, ...]:
    return (*TABLE_COLUMNS.get(what, ()), *(IMPRESSIONS if what == "searches" else ()))


def _unread_arms(what: str, wanted: Sequence[Wanted]) -> frozenset[str]:
    """Return the keys of columns of a table that tell arms apart and are never read."""
    arms = _ARMS if what in ("searches", "clicks") else frozenset[str]()
    return arms.difference(*(_keys(want.name) for want in wanted if want.name in _READ_ARMS))


def names_of(what: str, columns: Sequence[str]) -> dict[str, str]:
    """Return a table's names of ``searches.search_id=request_id``; SettingsError if unknown or repeated."""
    known = list(dict.fromkeys(want.name for want in _columns_of(what)))
    found: dict[str, str] = {}
    for text in columns:
        name, _, source = text.partition("=")
        table, _, column = name.partition(".")
        if table != what:
            continue
        if column not in known:
            hint = did_you_mean(column, known, str)
            raise SettingsError(f"--column {text}: {what} has no column {column}; {hint}")
        if found.get(column, source) != source:
            raise SettingsError(f"--column {text}: {column} of {what} is mapped twice; give it once")
        found[column] = source
    return found


def columns_under(
    what: str, file: object, schema: pl.Schema, names: Names
) -> dict[str, tuple[pl.Expr, pl.DataType]]:
    """Return what selects each column of files, `file` being the first, under our names, and its type.

    Raises InputError if they lack one of `names`, which are called otherwise there.
    """
    used = {*names, *names.values()}
    found = {name: (pl.col(name), dtype) for name, dtype in schema.items() if name not in used}
    for name, path in names.items():
        at = _at(schema, path)
        if at is None:
            raise InputError(
                f"{what}: no column {path} in {file}, which --column {what}.{name}={path} names; it has: "
                f"{', '.join(schema)}"
            )
        found[name] = (at[0].alias(name), at[1])
    return found


def needed_columns(what: str, columns: Sequence[str], names: Names) -> list[str] | None:
    """Return the columns that are read, with those of `set_aside`, in their order; None where all are."""
    there = {*names, *columns} - set(names.values())
    shapes = {"searches": (CANONICAL["searches"], IMPRESSIONS)}.get(what, (_columns_of(what),))
    is_whole = all(path.partition(".")[0] in columns or path in columns for path in names.values())
    if what in OTHERS_KEPT or not is_whole or not any(required(shape) <= there for shape in shapes):
        return None  # the message of what is missing names all that there is
    ours = {want.name for want in _columns_of(what)}
    paths = [names.get(name, name) for name in ours]
    likely = {key for name in ours for key in _keys(name)} | _unread_arms(what, ())
    return [
        one
        for one in columns
        if one in paths or _key(one) in likely or any(path.startswith(f"{one}.") for path in paths)
    ]


def spelled_out(what: str, schema: pl.Schema, names: Names) -> list[str]:
    """Return the columns of texts that are read as times, numbers or lists; none if there are no rows."""
    kinds = {names.get(want.name, want.name): want.kind for want in _columns_of(what)}
    texts = (pl.String, pl.Categorical, pl.Enum)
    return [
        name
        for name, dtype in schema.items()
        if isinstance(dtype, texts)
        and kinds.get(name) in ("time", "moment", "integer", "flag", "seconds", "texts")
    ]


def _at(schema: pl.Schema, path: str) -> tuple[pl.Expr, pl.DataType] | None:
    if path in schema:
        return pl.col(path), schema[path]
    fields = path.split(".")
    for size in range(len(fields) - 1, 0, -1):
        first = ".".join(fields[:size])
        if first in schema:
            return _field(pl.col(first), schema[first], fields[size:])
    return None


def _dtype(dtype: object) -> pl.DataType:
    return dtype() if isinstance(dtype, type) else dtype  # type: ignore[return-value]


def _field(column: pl.Expr, dtype: pl.DataType, fields: list[str]) -> tuple[pl.Expr, pl.DataType] | None:
    if not fields:
        return column, dtype
    if isinstance(dtype, pl.List | pl.Array):
        inner = _field(pl.element(), _dtype(dtype.inner), fields)
        items = column.arr.to_list() if isinstance(dtype, pl.Array) else column
        return None if inner is None else (items.list.eval(inner[0]), pl.List(inner[1]))
    if not isinstance(dtype, pl.Struct):
        return None
    types = {field.name: field.dtype for field in dtype.fields}
    for size in range(len(fields), 0, -1):
        name = ".".join(fields[:size])
        if name in types:
            return _field(column.struct.field(name), _dtype(types[name]), fields[size:])
    return None


def rival_grades(names: Iterable[str]) -> list[str]:
    """Return columns that may each be the grade, a score last; none if one alone may be, or is called so."""
    by_key = {_key(name): name for name in names}
    found = [by_key[_key(one)] for one in LIKELY["grade"] if _key(one) in by_key and one != "score"]
    return found if len(found) > 1 and "grade" not in by_key else []


def likely_columns(
    what: str, missing: Sequence[str], schema: pl.Schema, rows: pl.LazyFrame | None = None
) -> dict[str, str]:
    """Return the columns (paths of fields) that missing ones may be, by name, type and values, each once.

    missing: the first choose first. rows: their texts are tried; None = by types alone.
    """
    wants = {want.name: want for want in reversed(_columns_of(what))}
    free = {_key(name): name for name in reversed(schema.names()) if name not in wants}
    found: dict[str, str] = {}
    for is_ours in (True, False):  # names that differ from ours in case or blanks alone come first
        for name in [one for one in missing if one not in found]:
            if name == "grade" and rival_grades(schema):
                continue  # the user chooses
            want = wants.get(name, Wanted(name, "any"))
            ours, *keys = _keys(name)
            if want.optional and what == "queries":
                keys = []  # attributes have names of their own
            if not is_ours and not want.optional:  # a slip of the pen
                others = [key for key in free if not any(key in _keys(one) for one in wants)]
                keys += get_close_matches(ours, others, n=1, cutoff=0.87)
            for key in [one for one in ([ours] if is_ours else keys) if one in free]:
                path = _leaf(free[key], schema, want, rows)
                if path is not None:
                    found[name] = path
                    del free[key]
                    break
    return {name: found[name] for name in missing if name in found}


def rivals(name: str, names: Names, schema: pl.Schema) -> list[str]:
    """Return further columns that may be the one that was taken for one of ours."""
    free = set(schema) - {name, *names, *(path.partition(".")[0] for path in names.values())}
    return sorted(one for one in free - {names[name]} if _key(one) in _keys(name))


def _leaf(path: str, schema: pl.Schema, want: Wanted, rows: pl.LazyFrame | None) -> str | None:
    at = _at(schema, path)
    if at is None:
        return None
    inner = _dtype(at[1].inner) if isinstance(at[1], pl.List | pl.Array) else at[1]
    if not isinstance(inner, pl.Struct):
        return path if _fits(*at, want, rows) else None
    types = {field.name: _dtype(field.dtype) for field in inner.fields}
    by_key = {_key(name): name for name in types}
    naming = [by_key[key] for key in (*_keys(want.name), *_NAMING) if key in by_key]
    nested = [name for name, one in types.items() if isinstance(one, pl.Struct | pl.List | pl.Array)]
    fields = (_leaf(f"{path}.{name}", schema, want, rows) for name in dict.fromkeys([*naming, *nested]))
    return next(filter(None, fields), None)


def _fits(column: pl.Expr, dtype: pl.DataType, want: Wanted, rows: pl.LazyFrame | None) -> bool:
    is_text = isinstance(dtype, pl.String | pl.Categorical | pl.Enum)
    if want.kind == "any":
        return is_text or dtype.is_numeric()
    read = converted(column, dtype, want.kind, from_text=True)
    if read is None or isinstance(dtype, pl.Null):
        return False
    if rows is None or not is_text or want.kind in ("id", "text"):
        return True
    with suppress(*READ_ERRORS):
        written = column.cast(pl.String).str.strip_chars().replace("", None)
        some = rows.head(SAMPLE).select(written=written, read=read).drop_nulls("written").collect()
        return 2 * some["read"].null_count() <= some.height
    return False


def set_aside(
    what: str, wanted: Sequence[Wanted], schema: pl.Schema, rows: pl.LazyFrame | None = None
) -> Iterator[str]:
    """Yield what to say of columns that are not read, and may be ours or tell arms of an A/B test apart."""
    beside = [some for some in _INSTEAD if not some.isdisjoint(schema)]
    beside += [SAYS_CLICKED] if SAYS_CLICKED.isdisjoint(schema) else []  # clicks are given
    pointless = frozenset[str]().union(*beside)
    absent = {
        want.name: want.meaning
        for want in wanted
        if want.optional and want.name not in schema and want.name not in pointless
    }
    for name, path in likely_columns(what, list(absent), schema, rows).items():
        told = f"if it is {name} ({absent[name]}), add {_options(what, {name: path})}"
        yield f"{what}: column {path} is ignored; {told}"
    yield from arms_told(what, wanted, schema)


def arms_told(what: str, wanted: Sequence[Wanted], schema: pl.Schema) -> Iterator[str]:
    """Yield what to say of columns of a log that tell arms of an A/B test apart and are not read."""
    unread = _unread_arms(what, wanted)
    arms = [name for name in schema if _key(name) in unread]
    if arms:
        named = f"column {arms[0]} is" if len(arms) == 1 else f"columns {', '.join(arms)} are"
        yield (
            f"{what}: {named} ignored; arms of an A/B test are compared if searches name them (--column "
            "searches.variant=…), or --assignments"
        )


def _options(what: str, names: Names) -> str:
    return " ".join(f"--column {shlex.quote(f'{what}.{name}={path}')}" for name, path in names.items())


def advice(what: str, missing: Sequence[str], schema: pl.Schema, rows: pl.LazyFrame | None = None) -> str:
    """Return what to add to a command so that missing and optional columns are found; '' = none likely."""
    grades = rival_grades(schema) if what == "judgments" and "grade" in missing else []
    choice = f"; {may_be_grades(grades)}: choose one, e.g. {GRADE_OPTION}{grades[0]}" if grades else ""
    table = likely_table(schema, rows) if what == "searches" else None
    if table is not None and table.is_impressions:
        found = table.names
    else:
        found = likely_columns(what, _needed_first(_SHAPES.get(what, ()), missing, schema), schema, rows)
        if not found.keys() & {*missing}:
            return choice
    if what not in TABLES:  # files of a study, whose columns have their own names
        renamed = ", ".join(f"{path} to {name}" for name, path in found.items())
        return f"; are these meant? Then rename {renamed}"
    return f"{choice}; are these meant? Then add {_options(what, found)}"


GRADE_OPTION = "--column judgments.grade="


def may_be_grades(rivals: Sequence[str]) -> str:
    """Return what is wrong where several columns may be the grade."""
    return f"{listed(rivals)} could each be the grade"


@dataclass(frozen=True)
class LikelyTable:
    """What a file of no known layout may be."""

    name: str  # A table of `TABLES`, but for queries.
    names: Names  # Columns that have another name in the input.
    is_impressions: bool = False  # Whether it has one row for each result shown.

    @property
    def options(self) -> str:
        """The options that say so, but for the file."""
        return _options(self.name, self.names)


_SHAPES: Mapping[str, Sequence[Wanted]] = {**TABLE_COLUMNS, "shown": IMPRESSIONS}
"""Columns of each table, and of searches with a row for each result shown."""


def likely_table(schema: pl.Schema, rows: pl.LazyFrame | None = None, file: str = "") -> LikelyTable | None:
    """Return the table that has all it needs under likely names; of queries, which need one column, never.

    rows, file: tried with a proposal; scores of searches have the columns of outcomes, but another file name.
    """
    found: dict[str, dict[str, str]] = {}
    there: dict[str, set[str]] = {}
    for shape, wanted in _SHAPES.items():
        absent = _needed_first(wanted, (), schema)
        names = likely_columns("searches" if shape == "shown" else shape, absent, schema, rows)
        is_of_rows = shape not in ("searches", "judgments") and _key(names.get("search_id", "")) in _ROW_IDS
        if required(wanted) <= (has := {*schema, *names}) and not is_of_rows:
            found[shape], there[shape] = names, has
    # the shapes that may be meant, the likeliest first, by the columns that each would have
    as_clicks, as_judgments, as_scores = (
        set(there.get(one, ())) for one in ("clicks", "judgments", "scores")
    )
    is_click = bool(as_clicks & CLICKED)
    is_judged = "judge" in as_judgments or not (is_click and as_clicks & {"position", *OF_SIGNALS})
    is_score = bool(as_scores & {"configuration_id", "results"}) or "score" in file
    of_queries = {*_keys("search_id"), *_keys("query")} - _ROW_IDS
    is_of_users = of_queries.isdisjoint(map(_key, schema))
    meant = {
        "searches": True, "shown": True, "judgments": is_judged, "clicks": is_click, "scores": is_score,
        "outcomes": True, "past_tests": True, "assignments": is_of_users,
    }  # fmt: skip
    for shape, is_meant in meant.items():
        if not is_meant or shape not in there:
            continue
        is_shown = shape == "shown"
        if not is_shown or SAYS_CLICKED & there[shape] or _show_lists(found[shape], schema, rows):
            return LikelyTable("searches" if is_shown else shape, found[shape], is_shown)
    return None


def _needed_first(wanted: Sequence[Wanted], missing: Sequence[str], schema: pl.Schema) -> list[str]:
    """Return the columns that are not there: those that are missing, others that are needed, the optional."""
    absent = sorted((want for want in wanted if want.name not in schema), key=lambda want: want.optional)
    return list(dict.fromkeys([*missing, *(want.name for want in absent)]))


def _show_lists(names: Names, schema: pl.Schema, rows: pl.LazyFrame | None) -> bool:
    """Return whether most searches of some rows have several results, from the first place without a gap."""
    search, place = (_at(schema, names.get(one, one)) for one in ("search_id", "position"))
    if rows is None or search is None or place is None:
        return False
    number = converted(*place, "integer", from_text=True)
    with suppress(*READ_ERRORS):
        some = rows.head(SAMPLE).select(search=search[0].cast(pl.String), place=number).drop_nulls()
        places = pl.col("place")
        of_search = some.group_by("search").agg(
            first=places.min(), places=places.n_unique(), reach=1 + places.max() - places.min()
        )
        whole = pl.col("first").is_in([0, 1]) & (pl.col("places") == pl.col("reach")) & (pl.col("places") > 1)
        return bool(of_search.select(2 * whole.sum() > pl.len()).collect().item())
    return False
