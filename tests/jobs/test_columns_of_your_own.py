"""A log whose columns have other names gives the bytes of one with ours, in every format, on every engine."""

import polars as pl
import pytest

from clickassay.core.files.scratch import scratch
from clickassay.core.settings import load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources, open_log
from clickassay.jobs.patterns import log_to_patterns
from support.logs import tiny
from support.places import SAMPLE

COLUMNS = (
    *(
        "searches.search_id=request_id",
        "searches.timestamp=ts",
        "searches.query=q",
        "searches.user_id=user.id",
    ),
    "searches.results=items.product.id",
    *("clicks.search_id=request_id", "clicks.timestamp=ts", "clicks.url=product"),
    *("judgments.query=q", "judgments.url=product", "judgments.grade=label"),
)
FIRST = 3000
"""Searches of the sample that are taken."""


def tables():
    """A part of the sample as records under names of its own."""
    searches = pl.read_parquet(SAMPLE["searches"]).head(FIRST)
    clicks = pl.read_parquet(SAMPLE["clicks"]).join(searches, on="search_id", how="semi")
    product = pl.struct(product=pl.struct(pl.element().alias("id"), pl.lit(1).alias("price")))
    named = searches.rename({"search_id": "request_id", "timestamp": "ts", "query": "q"}).with_columns(
        user=pl.struct(pl.col("user_id").alias("id"), name=pl.lit("x")),
        items=pl.col("results").list.eval(product),
    )
    return {
        # a column of our name that means something else: times of loading
        "searches": named.drop("user_id", "results").with_columns(timestamp=pl.lit(0)),
        "clicks": clicks.rename({"search_id": "request_id", "timestamp": "ts", "url": "product"}),
        "judgments": pl.read_parquet(SAMPLE["judgments"]).rename(
            {"query": "q", "url": "product", "grade": "label"}
        ),
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same part of the sample under our names."""
    folder = tmp_path_factory.mktemp("plain")
    searches = pl.read_parquet(SAMPLE["searches"]).head(FIRST)
    searches.write_parquet(folder / "searches.parquet", row_group_size=500)
    clicks = pl.read_parquet(SAMPLE["clicks"]).join(searches, on="search_id", how="semi")
    clicks.write_parquet(folder / "clicks.parquet", row_group_size=500)
    return folder


@pytest.fixture(scope="module")
def renamed(tmp_path_factory):
    """The tables under names of their own, as Parquet."""
    folder = tmp_path_factory.mktemp("renamed")
    for name, frame in tables().items():
        frame.write_parquet(folder / f"{name}.parquet", row_group_size=500)
    return folder


def pattern_table(folder, **settings):
    files = (str(folder / f"{name}.parquet") for name in ("searches", "clicks"))
    return log_to_patterns(Sources(*files), load_settings(**settings))


def same(one, other):
    counts = (table.funnel.sort(table.funnel.columns) for table in (one, other))
    names = ("configurations", "patterns", "queries")
    return next(counts).equals(next(counts)) and all(
        getattr(one, name).equals(getattr(other, name)) for name in names
    )


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("batch", ["auto", "500"])
def test_a_log_of_records_under_other_names_gives_the_same_table(plain, renamed, engine, batch):
    expected = pattern_table(plain)
    assert same(pattern_table(renamed, engine=engine, batch=batch, column=COLUMNS), expected)


def test_a_whole_run_reads_judgments_under_other_names_too(plain, renamed):
    settings = {"click_models": ["NONE"], "iterations": 2, "depth": [5], "clock": "2026-06-01"}
    found = []
    for folder, columns, graded in (
        (plain, (), SAMPLE["judgments"]),
        (renamed, COLUMNS, str(renamed / "judgments.parquet")),
    ):
        given = {**settings, "column": columns}
        found.append(
            analyse(pattern_table(folder, **given), Sources(judgments=graded), load_settings(**given))
        )
    ours, other = found
    for name in ("correlations", "within", "configurations", "health", "next_judgments"):
        assert other[name].equals(ours[name]), name


def test_a_store_takes_a_file_under_other_names_for_another_one(renamed, tmp_path):
    log = [f"--{what}={renamed / what}.parquet" for what in ("searches", "clicks")]
    store = tmp_path / "store"
    columns = [f"--column={one}" for one in COLUMNS]
    tiny.said_by("patterns", *log, *columns, "--store", store)
    again = tiny.said_by("patterns", *log, *columns, "--store", store)
    assert "0 batches added; 2 files already read" in again
    other = [one.replace("clicks.url=product", "clicks.url=request_id") for one in columns]
    line = tiny.refusal("patterns", *log, *other, "--store", store)
    assert "clicks.parquet has changed since it went into" in line
    assert "or is read with another --column now" in line


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_column_that_may_say_what_was_done_is_named_where_it_is_not_read(plain, tmp_path, engine):
    clicks = pl.read_parquet(plain / "clicks.parquet")
    names = {"Event_Type": pl.lit("purchase"), "dwell_time": pl.lit(3.0), "event_date": pl.lit("x")}
    clicks.with_columns(**names).write_parquet(tmp_path / "clicks.parquet")
    notes = []
    inputs = (str(plain / "searches.parquet"), str(tmp_path / "clicks.parquet"))
    for column in ((), ("clicks.action=Event_Type",)):
        told = []
        with scratch():
            open_log(Sources(*inputs), load_settings(column=column, engine=engine), progress=told.append)
        notes.append([event.message for event in told if event.note])
    first, second = notes
    assert [note.split("add ")[1] for note in first] == [
        "--column clicks.action=Event_Type", "--column clicks.dwell_seconds=dwell_time",
    ]  # fmt: skip
    assert second == first[1:]


def test_columns_of_results_shown_that_may_be_actions_are_named(tmp_path):
    row = {"search_id": 1, "user_id": 1, "query": "q", "timestamp": 1, "url": "a", "position": 1}
    shown = pl.DataFrame([row | {"clicked": True, "add_to_cart": True, "bought": False}])
    shown.write_parquet(tmp_path / "shown.parquet")
    told = []
    with scratch():
        open_log(Sources(str(tmp_path / "shown.parquet")), load_settings(), progress=told.append)
    assert [event.message.split("add ")[1] for event in told if event.note] == [
        "--column searches.added_to_cart=add_to_cart", "--column searches.purchased=bought",
    ]  # fmt: skip
