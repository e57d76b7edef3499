"""Impressions to searches and clicks: against an oracle in plain Python, whatever the order of the rows."""

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.errors import EngineError, InputError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.columns import CANONICAL, IMPRESSIONS
from clickassay.inputs.staging import impressions
from clickassay.inputs.staging.lists import DistinctLists
from clickassay.inputs.tables import read_input
from clickassay.jobs.inputs import Sources, open_log

SCHEMA = {
    "search_id": pl.Int64, "user_id": pl.String, "query": pl.String, "timestamp": pl.Int64, "url": pl.String,
    "position": pl.Int64, "page": pl.Int64, "clicked": pl.Boolean, "clicked_at": pl.Int64,
}  # fmt: skip
NOON = 1_767_614_400_000


def made(rows, folder, *, batch, reach, numbered):
    """Return searches, clicks and counts made of rows; lists are numbered or written."""
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "shown.parquet")
    with pytest.MonkeyPatch.context() as patch, scratch():
        patch.setattr(impressions, "BATCH", batch)
        patch.setattr(impressions, "_REACH", reach)
        table = read_input("searches", folder / "shown.parquet", IMPRESSIONS)
        halves = impressions.halves_of(table, numbered=numbered)
        (origin,) = halves["searches"].origins.values()
        assert set(halves["searches"].lists) == ({"results"} if numbered else set())
        searches, clicks = (
            read_input(what, half.path, CANONICAL[what], lists=half.lists).frame.collect()
            for what, half in halves.items()
        )
    assert searches["search_id"].is_unique().all()
    return searches, clicks, {key: rows for key, rows in origin.counts.items() if rows}


def first_position(rows):
    places = [row[5] for row in rows if (row[6] or 1) <= 1]
    return 0 if 2 * places.count(0) > places.count(1) else 1


def expected(rows):
    """Return the same by the definitions."""
    counts = Counter({("read", ""): len(rows)})
    first, searches = first_position(rows), defaultdict(list)
    for row in rows:
        search, *_, url, position, _page, _clicked, _at = row
        null = next(
            (n for n, v in (("search_id", search), ("url", url), ("position", position)) if v is None), ""
        )
        if null:
            counts["rejected", f"null {null}"] += 1
        elif position < first:
            counts["rejected", "position below the first"] += 1
        else:
            searches[search].append(row)
    lists = {search: listed(some, first, counts) for search, some in searches.items()}
    clicks = {
        (row[0], row[3] if row[8] is None else row[8], row[4])
        for some in searches.values()
        for row in some
        if (row[8] is not None if row[7] is None else row[7])
    }
    return {search: one for search, one in lists.items() if one is not None}, clicks, dict(counts)


def listed(rows, first, counts):
    """Return user, query, time and results of a search; None if it is refused."""
    values = [{row[place] for row in rows} - {None} for place in (1, 2)]
    page = min(row[6] or 1 for row in rows)
    here = [row for row in rows if (row[6] or 1) == page]
    at = defaultdict(set)
    for row in here:
        at[row[5]].add(row[4])
    if any(len(one) > 1 for one in values):
        counts["rejected", "ambiguous search_id"] += len(rows)
        return None
    disputed = {place for place, urls in at.items() if len(urls) > 1}
    two = sum(row[5] in disputed for row in here)
    at = {place: urls for place, urls in at.items() if place not in disputed}
    begin = first if page <= 1 else min(row[5] for row in here)
    results = []
    while begin + len(results) in at:
        results += at[begin + len(results)]
    steps = {
        ("left out", "of another page of the search"): len(rows) - len(here),
        ("rejected", "another result at its position"): two,
        ("repeated", "delivered again"): len(here) - two - len(at),
        ("left out", "below a missing position"): len(at) - len(results),
        ("kept", ""): len(results),
    }
    counts.update({step: rows for step, rows in steps.items() if rows})
    times = [row[3] for row in rows if row[3] is not None]
    return (*(next(iter(one), None) for one in values), min(times, default=None), results)


@st.composite
def rows_of_searches(draw):
    """Rows of some searches, most of them sound, in any order."""
    first, rows = draw(st.sampled_from([0, 1])), []
    for search in range(draw(st.integers(1, 6))):
        time = NOON + 1000 * search
        for place in range(draw(st.integers(1, 5))):
            own = (search, f"u{search % 2}", f"q{search % 3}", time)
            row = [*own, f"d{place}", place + first, 1, None, None]
            if draw(st.integers(0, 9)) == 0:
                column = draw(st.sampled_from([0, 1, 2, 3, 4, 5, 6]))
                odd = {1: "x", 2: "y", 3: time - 5, 4: "d0", 5: draw(st.integers(-1, 7)), 6: 2}.get(column)
                row[column] = draw(st.sampled_from([None, odd]))
            row[7] = draw(st.sampled_from([None, True, False]))
            row[8] = draw(st.sampled_from([None, None, NOON + 7]))
            rows += [tuple(row)] * draw(st.sampled_from([1, 1, 1, 1, 2]))
    order = draw(st.sampled_from(["as they are", "mixed"]))
    return draw(st.permutations(rows)) if order == "mixed" else rows


@given(
    rows=rows_of_searches(),
    batch=st.sampled_from([3, 7, 1000]),
    reach=st.sampled_from([1, 4, 1000]),
    numbered=st.booleans(),
)
def test_searches_clicks_and_counts_are_those_of_the_oracle(tmp_path_factory, rows, batch, reach, numbered):
    if not any((row[5] in {0, 1}) and (row[6] or 1) <= 1 for row in rows):
        return
    folder = tmp_path_factory.mktemp("rows")
    searches, clicks, counts = made(rows, folder, batch=batch, reach=reach, numbered=numbered)
    lists, clicked, counted = expected(rows)
    columns = ("search_id", "user_id", "query", "timestamp", "results")
    assert {row[0]: row[1:] for row in searches.select(columns).iter_rows()} == lists
    assert sorted(map(str, clicks.select("search_id", "timestamp", "url").rows())) == sorted(
        map(str, clicked)
    )
    assert counts == counted
    steps = {step: sum(rows for (one, _), rows in counts.items() if one == step) for step, _ in counts}
    assert steps.pop("read") == sum(steps.values())


SEARCH = {"search_id": 1, "user_id": "u", "query": "q", "timestamp": NOON}


def shown(search, place, url, **more):
    return SEARCH | {"search_id": search, "url": url, "position": place} | more


@given(
    arms=st.lists(
        st.lists(st.sampled_from([None, "", "a", "b"]), min_size=3, max_size=3), min_size=1, max_size=5
    ),
    mixed=st.booleans(),
    batch=st.sampled_from([2, 1000]),
)
def test_rows_of_a_search_have_one_variant_or_the_search_is_ambiguous(tmp_path_factory, arms, mixed, batch):
    rows = [
        shown(number, place, f"d{place}", clicked=True, variant=arm, experiment="t")
        for number, some in enumerate(arms)
        for place, arm in enumerate(some, 1)
    ]
    order = (lambda row: row["position"]) if mixed else (lambda row: row["search_id"])
    file = tmp_path_factory.mktemp("rows") / "shown.parquet"
    pl.DataFrame(sorted(rows, key=order), schema_overrides={"variant": pl.String}).write_parquet(file)
    with pytest.MonkeyPatch.context() as patch, scratch():
        patch.setattr(impressions, "BATCH", batch)
        half = open_log(Sources(file), Settings()).searches
        found = half.frame.select("search_id", "variant", "experiment").collect()
        refused = half.made_of["rejected", "ambiguous search_id"]
    said = {number: {*some} - {None} for number, some in enumerate(arms)}
    assert dict(found.select("search_id", "variant").rows()) == {
        number: next(iter(names), None) for number, names in said.items() if len(names) < 2
    }
    assert set(found["experiment"]) <= {"t"}
    assert refused == 3 * sum(len(names) > 1 for names in said.values())


@given(
    teams=st.lists(
        st.lists(st.sampled_from([None, "", "old", "new"]), min_size=1, max_size=4), min_size=1, max_size=5
    ),
    mixed=st.booleans(),
    repeated=st.booleans(),
    batch=st.sampled_from([2, 1000]),
)
def test_rankers_of_results_lie_in_lists_as_the_results_do(tmp_path_factory, teams, mixed, repeated, batch):
    rows = [
        shown(number, place, f"d{place}", clicked=True, team=team, experiment="t")
        for number, some in enumerate(teams)
        for place, team in enumerate(some, 1)
    ]
    gap = [shown(number, len(some) + 2, "below", clicked=False) for number, some in enumerate(teams)]
    order = (lambda row: row["position"]) if mixed else (lambda row: row["search_id"])
    file = tmp_path_factory.mktemp("rows") / "shown.parquet"
    every = sorted([*rows, *(rows if repeated else []), *gap], key=order)
    pl.DataFrame(every, schema_overrides={"team": pl.String}, infer_schema_length=None).write_parquet(file)
    with pytest.MonkeyPatch.context() as patch, scratch():
        patch.setattr(impressions, "BATCH", batch)
        half = open_log(Sources(file), Settings()).searches
        found = half.frame.select("search_id", "teams", pl.col("results").list.len()).collect()
    assert "teams" in half.columns
    assert {row[0]: row[1] for row in found.iter_rows()} == dict(enumerate(teams))
    assert {row[0]: row[2] for row in found.iter_rows()} == {n: len(some) for n, some in enumerate(teams)}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_a_result_of_two_rankers_has_none_whatever_the_order_of_rows(tmp_path, turned, together):
    rows = [
        shown(number, place, f"d{place}", clicked=True, team=team, experiment="t")
        for number in range(2)
        for place, team in ((1, "a"), (2, "b"), (2, "c"), (3, "a"), (3, "a"), (4, None), (4, "b"))
    ]
    rows = sorted(rows[::-1] if turned else rows, key=lambda row: row["search_id"] if together else 0)
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(tmp_path / "shown.parquet")
    with scratch():
        half = open_log(Sources(tmp_path / "shown.parquet"), Settings()).searches
        assert half.frame.select("teams").collect()["teams"].to_list() == [["a", None, "a", None]] * 2


def write(folder, rows, name="shown.parquet"):
    pl.DataFrame(rows).write_parquet(folder / name)
    return folder / name


flags = st.lists(st.sampled_from([True, False, None]), min_size=2, max_size=2)


@given(
    rows=rows_of_searches(), told=st.lists(flags, min_size=40, max_size=40), batch=st.sampled_from([3, 1000])
)
def test_each_action_is_a_row_with_or_without_a_click(tmp_path_factory, rows, told, batch):
    if not any((row[5] in {0, 1}) and (row[6] or 1) <= 1 for row in rows):
        return
    pairs = list(zip(rows, told, strict=False))
    frame = pl.DataFrame(
        [[*row, *pair] for row, pair in pairs],
        schema=SCHEMA | {"added_to_cart": pl.Boolean, "purchased": pl.Boolean},
        orient="row",
    )
    file = tmp_path_factory.mktemp("rows") / "shown.parquet"
    frame.write_parquet(file)
    with pytest.MonkeyPatch.context() as patch, scratch():
        patch.setattr(impressions, "BATCH", batch)
        made = impressions.halves_of(read_input("searches", file, IMPRESSIONS))["clicks"]
        found = pl.read_parquet(made.path).select("search_id", "timestamp", "url", "action")
    first = first_position(rows)
    wanted = {(*click, "click") for click in expected([row for row, _ in pairs])[1]}
    for row, pair in pairs:
        if None not in (row[0], row[4], row[5]) and row[5] >= first:
            names = [name for name, is_told in zip(("add_to_cart", "purchase"), pair, strict=True) if is_told]
            wanted |= {(row[0], row[3] if row[8] is None else row[8], row[4], name) for name in names}
    assert sorted(map(str, found.rows())) == sorted(map(str, wanted))


def test_a_few_zeros_do_not_make_positions_count_from_0(tmp_path):
    rows = [shown(number, place, f"d{place}", clicked=False) for number in range(9) for place in (1, 2)]
    with scratch():
        inputs = open_log(Sources(write(tmp_path, [*rows, shown(9, 0, "d0", clicked=False)])), Settings())
        assert inputs.searches.made_of["rejected", "position below the first"] == 1
        assert inputs.searches.frame.collect()["results"].to_list() == [["d1", "d2"]] * 9


@pytest.mark.parametrize(
    ("texts", "clicked"),
    [(["TRUE", "no", ""], 1), (["1", "0", "2"], 2), (["t", "Yes", "f"], 2), (["0", "0", "0"], 0)],
)
def test_flags_are_read_as_people_write_them(tmp_path, texts, clicked):
    lines = [f"{row},u,q,{NOON},d,1,{text}\n" for row, text in enumerate(texts)]
    file = tmp_path / "shown.csv"
    file.write_text("search_id,user_id,query,timestamp,url,position,clicked\n" + "".join(lines))
    with scratch():
        assert open_log(Sources(file), Settings()).clicks.frame.collect().height == clicked


@pytest.mark.parametrize(
    ("column", "value"), [("clicked", "maybe"), ("clicked_at", "yesterday"), ("purchased", "twice")]
)
def test_a_click_that_cannot_be_read_is_refused_and_named(tmp_path, column, value):
    file = tmp_path / "shown.csv"
    file.write_text(f"search_id,user_id,query,timestamp,url,position,{column}\n1,u,q,{NOON},a,1,{value}\n")
    with scratch(), pytest.raises(InputError, match=f"{column} '{value}' in .* cannot be read; write "):
        open_log(Sources(file), Settings())


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([shown(1, 11, "a", clicked=True)], r"begin at 11, expected 1 or 0; .* column page"),
        ([shown(1, 1, "a")], "neither column clicked nor column clicked_at; give --clicks"),
        (
            [shown(1, place, str(place), clicked=True) for place in range(200)],
            "1 has more than 50 rows; check",
        ),
    ],
)
def test_impressions_that_cannot_be_are_refused_with_the_remedy(tmp_path, monkeypatch, rows, words):
    monkeypatch.setattr(impressions, "_MOST_RESULTS", 50)
    monkeypatch.setattr(impressions, "BATCH", 60)
    with scratch(), pytest.raises(InputError, match=words):
        open_log(Sources(write(tmp_path, rows)), Settings())


def test_a_search_in_two_files_is_read_whole_but_not_into_a_store(tmp_path):
    write(tmp_path, [shown(1, 1, "a", clicked=True), shown(2, 1, "x", clicked=True)], "1.parquet")
    write(tmp_path, [shown(2, 2, "y", clicked=False), shown(3, 1, "b", clicked=True)], "2.parquet")
    with scratch():
        lists = open_log(Sources(tmp_path), Settings()).searches.frame.collect()
        assert dict(lists.select("search_id", "results").rows()) == {1: ["a"], 2: ["x", "y"], 3: ["b"]}
    with scratch(), pytest.raises(InputError, match=r"search_id 2 has rows in several files of .* a store"):
        open_log(Sources(tmp_path), Settings(), by_file=True)


def test_an_enriched_table_of_clicks_is_none_of_impressions():
    from clickassay.inputs.columns import are_impressions

    names = {"search_id", "user_id", "query", "timestamp", "url", "position"}
    assert (are_impressions(names), are_impressions(names | {"clicked"})) == (False, True)
    assert not are_impressions(names | {"clicked", "results"})


def test_a_time_that_cannot_be_read_is_named(tmp_path):
    file = tmp_path / "shown.csv"
    file.write_text("search_id,user_id,query,timestamp,url,position,clicked\n1,u,q,yesterday,a,1,1\n")
    told = []
    with scratch():
        open_log(Sources(file), Settings(), progress=told.append)
    assert next(event.message for event in told if event.note).startswith(
        "searches: timestamp “yesterday” of "
    )


def test_files_without_a_usable_row_are_read_as_such(tmp_path):
    empty = pl.DataFrame([shown(1, 1, "a", clicked=True)]).clear()
    (tmp_path / "log").mkdir()
    empty.write_parquet(tmp_path / "log" / "1.parquet")
    with pytest.raises(InputError, match="the files have no row with a position"), scratch():
        open_log(Sources(tmp_path / "log"), Settings())
    write(tmp_path / "log", [shown(1, 1, "a", clicked=True)], "2.parquet")
    write(tmp_path / "log", [shown(None, 1, "a", clicked=True)], "3.parquet")
    for by_file in (False, True):
        with scratch():
            inputs = open_log(Sources(tmp_path / "log"), Settings(), by_file=by_file)
            assert inputs.searches.frame.collect().height == inputs.clicks.frame.collect().height == 1
            assert inputs.searches.made_of["rejected", "null search_id"] == 1


def numbers_of(lists, keys, results):
    others = [ord(text) for text in results]
    return lists.numbers_of(
        np.array(keys, np.uint64),
        np.array(others, np.uint64),
        lambda rows: pl.Series([[results[row]] for row in rows]),
    ).tolist()


def test_lists_that_share_a_fingerprint_stop_the_job():
    lists = DistinctLists()
    with pytest.raises(EngineError, match="two lists share a fingerprint"):
        numbers_of(lists, [9, 9], ["a", "b"])
    with pytest.raises(EngineError, match="two lists share a fingerprint"):
        numbers_of(lists, [9], ["c"])


def test_results_lie_by_position_however_far_positions_reach(tmp_path):
    most = 2**62
    file = write(tmp_path, [shown(s, at, f"d{at}", clicked=True) for s in (1, 2) for at in (most, 2, 0, 1)])
    with scratch():
        inputs = open_log(Sources(file), Settings())
        assert inputs.searches.frame.collect()["results"].to_list() == [["d0", "d1", "d2"]] * 2
        assert inputs.searches.made_of["left out", "below a missing position"] == 2
