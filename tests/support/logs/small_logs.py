"""Logs of a few rows or a few thousand, and what the tests of the pattern table compare about them."""

import tempfile
from collections import Counter
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import assume
from hypothesis import strategies as st

from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns

NOON = 1_236_000_000_000  # 2009-03-02T13:20Z, near enough
MINUTE = 60_000
URLS = tuple("abcdefgh")

SCHEMAS = {
    "searches": {
        "search_id": pa.int64(),
        "user_id": pa.int64(),
        "query": pa.string(),
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "results": pa.list_(pa.string()),
        "market": pa.string(),
        "page": pa.int64(),
    },
    "clicks": {"search_id": pa.int64(), "timestamp": pa.timestamp("ms", tz="UTC"), "url": pa.string()},
    "judgments": {"query": pa.string(), "url": pa.string(), "grade": pa.int64(), "judge": pa.string()},
    "queries": {"query": pa.string(), "navigational": pa.bool_()},
}


def search(search_id, minutes, results=URLS, *, user=1, query="q", market="uk", page=1):
    """Return a search row, `minutes` after noon."""
    return {
        "search_id": search_id, "user_id": user, "query": query,
        "timestamp": NOON + round(minutes * MINUTE), "results": list(results), "market": market,
        "page": page,
    }  # fmt: skip


def click(search_id, minutes, url):
    """Return a click row, `minutes` after noon."""
    return {"search_id": search_id, "timestamp": NOON + round(minutes * MINUTE), "url": url}


def write_rows(folder, **tables):
    """Write rows as Parquet files; return their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, rows in tables.items():
        fields = [field for field in SCHEMAS[name].items() if not rows or field[0] in rows[0]]
        if rows and isinstance(rows[0].get("search_id"), str):
            fields = [(column, pa.string() if column == "search_id" else kind) for column, kind in fields]
        paths[name] = str(folder / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), paths[name])
    return paths


def patterns_of(searches, clicks, **settings):
    """Return the pattern table of rows."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_rows(Path(folder), searches=searches, clicks=clicks)
        return log_to_patterns(
            Sources(paths["searches"], paths["clicks"]), load_settings(threads=1, **settings)
        )


def simulated(folder, world="web", *, searches=2_000, queries=30, seed=1):
    """Write a simulated log; return the paths of its tables by name."""
    simulate(world, n_searches=searches, n_queries=queries, seed=seed, out=folder)
    return {name: str(folder / f"{name}.parquet") for name in ("searches", "clicks", "judgments", "queries")}


def session_counts(table, *, by_fold=False):
    """Return sessions by (market, query, results, mask), or with the fold before the mask."""
    joined = table.patterns.join(table.configurations, on="configuration_id")
    counts = Counter()
    for row in joined.iter_rows(named=True):
        fold = (row["fold"],) if by_fold else ()
        counts[row["market"], row["query"], tuple(row["results"]), *fold, row["click_mask"]] += row[
            "sessions"
        ]
    return counts


def funnel_counts(frame):
    """Return rows of a funnel by everything that names them."""
    names = [name for name in frame.columns if name != "rows"]
    return Counter({tuple(row[name] for name in names): row["rows"] for row in frame.iter_rows(named=True)})


def query_buckets(*tables):
    """Return the user buckets of each (market, query), or-ed over tables."""
    rows = [row for table in tables for row in table.queries.iter_rows()]
    keys = {(market, query) for market, query, _ in rows}
    return {key: reduce(int.__or__, (bits for *own, bits in rows if tuple(own) == key)) for key in keys}


@st.composite
def drawn_logs(draw, users=(1, 2, 3)):
    """Draw the searches (one at least) and clicks of users over an evening; ids count from 100 * user."""
    searches, clicks = [], []
    for user in users:
        for number in range(draw(st.integers(0, 6))):
            one = draw(drawn_searches(100 * user + number, user))
            searches.append(one)
            clicks += draw(st.lists(drawn_clicks(one), max_size=3))
    assume(searches)
    return searches, clicks


@st.composite
def drawn_searches(draw, search_id, user):
    """Draw a search of a user within five hours; often at a gap that matters."""
    minutes = draw(st.one_of(st.sampled_from((0, 30, 60, 61, 120, 121)), st.integers(0, 300)))
    shown = draw(st.permutations(URLS))[: draw(st.integers(1, len(URLS)))]
    market = draw(st.sampled_from(("uk", "us")))
    page = draw(st.sampled_from((1, 1, 1, 2)))
    return search(
        search_id, minutes, shown, user=user, query=draw(st.sampled_from("qr")), market=market, page=page
    )


@st.composite
def drawn_clicks(draw, shown):
    """Draw a click of a search, up to 70 minutes before or after it, on any URL."""
    after = draw(st.integers(-70, 70))
    return {
        "search_id": shown["search_id"],
        "timestamp": shown["timestamp"] + after * MINUTE,
        "url": draw(st.sampled_from(URLS)),
    }
