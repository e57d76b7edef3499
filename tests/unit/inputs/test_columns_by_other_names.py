"""Columns that the files of an input call otherwise: renamed, taken out of records, or named in a message."""

import json
import shlex
from datetime import UTC, datetime

import polars as pl
import pytest

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.settings import load_settings
from clickassay.inputs.columns import (
    ASSIGNMENTS,
    CANONICAL,
    IMPRESSIONS,
    JUDGMENTS,
    OUTCOMES,
    SCORES,
    SEARCHES,
)
from clickassay.inputs.sources.mapping import LIKELY, likely_columns, names_of, needed_columns, set_aside
from clickassay.inputs.tables import collected, read_input
from clickassay.jobs.project import found_project
from clickassay.studies.labelling.inputs import RANKING

TIME = datetime(2026, 1, 5, tzinfo=UTC)
ROWS = [
    {"request": 1, "user": {"id": "u", "age": 3}, "q": "a b", "ts": TIME, "site": "uk",
     "items": [{"product": {"id": "x"}}, {"product": {"id": "y"}}]},
    {"request": 2, "user": {"id": "v", "age": 4}, "q": "c", "ts": TIME, "site": "de", "items": []},
]  # fmt: skip
NAMES = {
    "search_id": "request", "user_id": "user.id", "query": "q", "timestamp": "ts", "market": "site",
    "results": "items.product.id",
}  # fmt: skip


@pytest.fixture(params=["parquet", "ndjson"])
def file(request, tmp_path):
    """The rows, once as Parquet and once as JSON lines."""
    place = tmp_path / f"log.{request.param}"
    if request.param == "parquet":
        pl.DataFrame(ROWS).write_parquet(place)
    else:
        lines = (json.dumps({**row, "ts": row["ts"].isoformat()}) for row in ROWS)
        place.write_text("\n".join(lines), encoding="utf-8")
    return place


def test_columns_and_fields_of_records_are_read_under_our_names(file):
    rows = collected(read_input("searches", file, SEARCHES, names=NAMES))
    milliseconds = int(TIME.timestamp() * 1000)
    assert rows.columns == [want.name for want in SEARCHES]
    assert rows.select("search_id", "user_id", "query", "timestamp", "results", "market", "page").rows() == [
        (1, "u", "a b", milliseconds, ["x", "y"], "uk", 1),
        (2, "v", "c", milliseconds, [], "de", 1),
    ]


def test_a_column_whose_own_name_has_dots_is_meant_before_a_field(tmp_path):
    frame = pl.DataFrame({"user": [{"id": "field"}], "user.id": ["column"], "a.b": [{"c.d": "deep"}]})
    frame.write_parquet(tmp_path / "j.parquet")
    for path, value in {"user.id": "column", "a.b.c.d": "deep"}.items():
        names = {"query": path, "url": "user.id", "grade": "user.id"}
        rows = collected(read_input("judgments", tmp_path / "j.parquet", JUDGMENTS, names=names))
        assert rows["query"].to_list() == [value]


def test_a_column_of_our_name_is_not_read_where_another_is_meant(tmp_path):
    pl.DataFrame({"query": ["q"], "url": ["wrong"], "doc": ["right"], "grade": [1]}).write_csv(
        tmp_path / "j.csv"
    )
    rows = collected(read_input("judgments", tmp_path / "j.csv", JUDGMENTS, names={"url": "doc"}))
    assert rows["url"].to_list() == ["right"]


def test_attributes_of_queries_keep_their_names_but_for_the_one_that_is_meant(tmp_path):
    pl.DataFrame({"term": ["a"], "kind": ["b"]}).write_csv(tmp_path / "q.csv")
    wanted = CANONICAL["queries"]
    table = read_input("queries", tmp_path / "q.csv", wanted, keep_others=True, names={"query": "term"})
    assert collected(table).drop("market").to_dicts() == [{"query": "a", "kind": "b"}]


def test_a_folder_can_spell_out_a_column_under_another_name(tmp_path):
    for site in ("uk", "de"):
        folder = tmp_path / "log" / f"site={site}"
        folder.mkdir(parents=True)
        pl.DataFrame([{"query": site, "url": "x", "grade": 1}]).write_parquet(folder / "part.parquet")
    rows = collected(read_input("judgments", tmp_path / "log", JUDGMENTS, names={"market": "site"}))
    assert sorted(rows.select("query", "market").rows()) == [("de", "de"), ("uk", "uk")]


def test_ids_beyond_64_bits_are_text_under_any_name(tmp_path):
    high = 2**63 + 5
    pl.DataFrame({"id": pl.Series([high], dtype=pl.UInt64), "query": ["q"], "url": ["u"]}).write_parquet(
        tmp_path / "p.parquet"
    )
    table = read_input("judgments", tmp_path / "p.parquet", JUDGMENTS, names={"grade": "id"})
    assert table.parts[0].wide == {"grade"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"grade": "lable"}, "lable in {file}, which --column judgments.grade=lable names; it has: q, "),
        ({"grade": "doc.label"}, "no column doc.label in {file}"),  # doc is no record
        ({"grade": "record.none"}, "no column record.none in {file}"),
    ],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path, names, said):
    file = tmp_path / "j.parquet"
    pl.DataFrame({"q": ["a"], "doc": ["b"], "record": [{"label": 1}]}).write_parquet(file)
    with pytest.raises(InputError, match="judgments: ") as error:
        read_input("judgments", file, JUDGMENTS, names=names)
    assert said.format(file=file) in str(error.value)


def test_a_missing_column_names_the_likely_one_and_what_to_add(tmp_path):
    file = tmp_path / "log.parquet"
    pl.DataFrame(ROWS).write_parquet(file)
    with pytest.raises(InputError) as error:
        read_input("searches", file, SEARCHES)
    options = [
        "--column searches.user_id=user.id", "--column searches.query=q", "--column searches.timestamp=ts",
        "--column searches.results=items.product.id", "--column searches.market=site",
    ]  # fmt: skip
    assert str(error.value).endswith(f"are these meant? Then add {' '.join(options)}")
    given = names_of("searches", [option.split()[1] for option in options])
    assert {**given, "search_id": "request"} == NAMES


def test_columns_of_a_file_that_no_option_renames_are_to_be_renamed_there(tmp_path):
    (tmp_path / "r.csv").write_text("q,SKU,rank\na,b,1\n")
    with pytest.raises(InputError, match=r"are these meant\? Then rename q to query, SKU to url$"):
        read_input("ranking", tmp_path / "r.csv", RANKING)


def test_a_column_is_proposed_once_and_never_in_place_of_ours():
    schema = pl.Schema(dict.fromkeys(("Product_ID", "label", "grade", "querry"), pl.String()))
    assert likely_columns("judgments", ["query", "url"], schema) == {"query": "querry", "url": "Product_ID"}
    assert likely_columns("judgments", ["grade"], schema) == {"grade": "label"}
    assert likely_columns("searches", ["results"], pl.Schema({"nothing": pl.String()})) == {}


VALUES = {
    "id": "7", "text": "lamp", "time": "2026-01-05T00:00:00Z", "moment": "2026-01-05T00:00:00Z",
    "texts": '["a", "b"]', "integer": "1", "flag": "true", "seconds": "3.5", "any": "2",
}  # fmt: skip
"""A text of each kind, as a cell of CSV."""

SHAPES = {
    "searches": SEARCHES, "shown": IMPRESSIONS, "clicks": CANONICAL["clicks"], "judgments": JUDGMENTS,
    "queries": CANONICAL["queries"], "scores": SCORES, "outcomes": OUTCOMES,
    "assignments": ASSIGNMENTS,
}  # fmt: skip
"""Columns of each input, and of searches with a row for each result shown."""

NEEDS = {
    "shown": {"clicked_at", "clicked"}, "clicks": {"url", "position"},
    "scores": {"configuration_id", "search_id", "query", "results"},
}  # fmt: skip
"""Columns of which one is there."""


def upper(name):
    return name.upper()


def spellings():
    """Yield each column of each input, needed or not, under each name that it may have elsewhere."""
    for shape, wanted in SHAPES.items():
        for want in wanted:
            first, *rest = want.name.split("_")
            camel = first + "".join(map(str.capitalize, rest))
            names = [upper(want.name), camel, want.name.replace("_", " ").title()]
            likely = () if shape == "queries" and want.optional else LIKELY.get(want.name, ())
            row_ids = ("id", "event_id") if shape != "searches" else ()  # of a row: said, never written
            names += [one for one in likely if one not in row_ids]
            for name in dict.fromkeys(one for one in names if one != want.name):
                yield pytest.param(shape, want.name, name, id=f"{shape}-{want.name}-{name}")


def written(shape, column, name, folder):
    """Write a table that has the needed columns, one of those of which one is needed, and this one so."""
    group = NEEDS.get(shape, set())
    has = {want.name: want.kind for want in SHAPES[shape] if not want.optional or want.name == column}
    if group - {column} and (shape == "shown" or not group & has.keys()):
        beside = min(group - {column})
        has[beside] = next(want.kind for want in SHAPES[shape] if want.name == beside)
    cells = {name if ours == column else ours: VALUES[kind] for ours, kind in has.items()}
    more = {"color": "red"} if shape == "queries" else {}
    file = folder / f"{shape}.csv"
    pl.DataFrame([cells | more]).write_csv(file)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "column", "name"), list(spellings()))
def test_every_column_is_proposed_and_named_under_every_likely_name(shape, column, name, tmp_path):
    file = written(shape, column, name, tmp_path)
    what = "searches" if shape == "shown" else shape
    option = f"{what}.{column}={name}"
    # what `init` writes, and `inspect` says of an unknown file
    (table,) = found_project(file).tables
    assert (table.name, dict(table.columns)) == (what, {column: name})
    assert table.is_impressions == (shape == "shown")
    # what is kept of a frame or of what lies in a store: all there is where a needed column is missing
    columns = pl.scan_csv(file).collect_schema().names()
    is_lost = {want.name: not want.optional for want in SHAPES[shape]}[column]
    names = {column: name} if is_lost else {}
    assert needed_columns(what, [*columns, "unknown"], names) == (None if shape == "queries" else columns)
    # what a run says: the remedy where the column is needed, else a note
    wanted = SHAPES[shape]
    try:
        part = read_input(what, file, wanted, keep_others=shape == "queries").parts[0]
        (said,) = set_aside(what, wanted, part.schema, part.frame)
        assert said.startswith(f"{what}: column {name} is ignored; if it is {column} (")
    except InputError as error:
        said = str(error)
    words = shlex.split(said.partition("add ")[2])
    assert words == ["--column", option]
    rows = collected(read_input(what, file, wanted, names=names_of(what, [option])))
    assert rows[column].null_count() == 0


def test_names_are_given_as_options_or_as_sections_of_a_settings_file(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text(
        'depth = [3]\n[columns.searches]\nsearch_id = "request"\n[columns.judgments]\nurl = "product.id"\n',
        encoding="utf-8",
    )
    settings = load_settings(file)
    assert settings.column == ("searches.search_id=request", "judgments.url=product.id")
    assert names_of("searches", settings.column) == {"search_id": "request"}
    assert names_of("judgments", settings.column) == {"url": "product.id"}
    assert names_of("clicks", settings.column) == {}
    assert load_settings(file, column=["clicks.url=a=b"]).column == ("clicks.url=a=b",)  # options win
    assert names_of("clicks", ["clicks.url=a=b"]) == {"url": "a=b"}


def test_kinds_of_outcomes_are_a_section_too(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('[outcomes]\nstars = "rating"\nrevenue = "sum"\n', encoding="utf-8")
    settings = load_settings(file)
    assert settings.outcome_kind == ("stars=rating", "revenue=sum")
    assert settings.ratings == {"stars"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[columns]\nsearch_id = 'x'", "columns needs a section for each table, such as "),
        ("columns = 3", "columns needs a section for each table"),
        ("outcomes = 'rating'", 'such as [outcomes] with stars = "rating"'),
        ("[outcomes]\nstars = 'mean'", "stars=mean"),
        ("[columns.orders]\nid = 'x'", "found 'orders.id=x', must be TABLE.COLUMN=NAME"),
        ("[colums.searches]\nid = 'x'", "section [colums]; settings stand without sections"),
    ],
)
def test_a_section_that_is_none_is_refused(tmp_path, text, said):
    file = tmp_path / "settings.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load_settings(file)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["searches.serch_id=x"], "searches has no column serch_id; did you mean search_id"),
        (["searches.query=x", "searches.query=y"], "query of searches is mapped twice; give it once"),
    ],
)
def test_a_name_of_no_column_is_refused(columns, said):
    with pytest.raises(SettingsError) as error:
        names_of("searches", columns)
    assert said in str(error.value)
