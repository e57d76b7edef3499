"""Deep lists and many folds need keys of two words; clicks lie beyond the stored depth: engines agree."""

import random

import pytest

from clickassay.patterns.table import read_patterns
from support.logs.small_logs import click, search, write_rows
from support.spark.spark_logs import differing_tables, made_by

LONG = 70


def deep_log(seed):
    """Return searches with lists of up to 70 results, and clicks anywhere on them."""
    rng = random.Random(seed)  # noqa: S311 - a test's choice
    urls = [f"u{number}" for number in range(LONG + 10)]
    searches = []
    for number in range(120):
        shown, user = rng.sample(urls, rng.randint(1, LONG)), rng.randint(1, 4)
        searches.append(search(number, 7 * number, shown, user=user, query=rng.choice("qr")))
    clicked = [row for row in searches for _ in range(rng.randint(0, 4))]
    shown = [(row, rng.choice([*row["results"], *urls[:3]])) for row in clicked]
    return searches, [click(row["search_id"], 7 * row["search_id"] + 1, url) for row, url in shown]


@pytest.mark.parametrize(("depth", "folds"), [(62, 1024), (62, 1), (40, 300), (3, 1024)])
def test_arrays_and_sql_leave_the_same_bytes(depth, folds, tmp_path):
    searches, clicks = deep_log(depth + folds)
    paths = write_rows(tmp_path / "log", searches=searches, clicks=clicks)
    ours, theirs = (
        made_by(engine, paths["searches"], paths["clicks"], tmp_path / engine, depth=(depth,), folds=folds)
        for engine in ("arrays", "duckdb")
    )
    assert differing_tables(ours, theirs) == []
    table = read_patterns(ours)
    assert table.patterns["click_mask"].max() >= 2 ** (min(depth, LONG) // 2)
    assert (table.patterns["fold"].max() > 0) == (folds > 1)


@pytest.mark.parametrize("depth", [3, 62])
def test_positions_name_the_same_results_as_urls(depth, tmp_path):
    searches, clicks = deep_log(depth)
    lists = {row["search_id"]: row["results"] for row in searches}
    known = [row for row in clicks if row["url"] in lists[row["search_id"]]]
    by_url = write_rows(tmp_path / "urls", searches=searches, clicks=known)
    ours = made_by("arrays", by_url["searches"], by_url["clicks"], tmp_path / "one", depth=(depth,))
    placed = tmp_path / "placed.csv"
    lines = [
        f"{row['search_id']},{row['timestamp']},{lists[row['search_id']].index(row['url']) + 1}"
        for row in known
    ]
    placed.write_text("\n".join(["search_id,timestamp,position", *lines]), encoding="utf-8")
    theirs = made_by("arrays", by_url["searches"], placed, tmp_path / "other", depth=(depth,))
    assert differing_tables(ours, theirs) == []
