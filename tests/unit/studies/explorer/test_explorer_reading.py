"""What a page reads from a run: the right rows, digests for queries of few users, only confirmed splits."""

import html
import json
from collections import Counter
from functools import cache
from hashlib import sha256

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.run import RUN_QUERIES
from clickassay.core.errors import ReportError
from clickassay.core.records import SampleKey
from clickassay.core.text.escape import terminal
from clickassay.core.text.privacy import with_digests
from clickassay.studies.explorer import charts
from clickassay.studies.explorer import panels as pieces
from clickassay.studies.explorer import read as reading
from clickassay.studies.explorer.charts import bin_sessions
from clickassay.studies.explorer.classes import splits_of
from support.reports.harmful import HARMS
from support.runs.sample_run import copied_run, hostile_run, sample, table

KEY = SampleKey("north", 5, "all")
CHOSEN = {"click_metric": "MaxRR", "editorial_metric": "AP(rel=2)"}


@cache
def north():
    return table("configurations").filter(market="north", depth=5)


def scatter(run, members=None):
    return reading.points(run, KEY, click_metric="MaxRR", editorial_metric="AP(rel=2)", members=members)


def digest(text, queries):
    """The digest that a run with these queries gives a text."""
    rows = queries.select("market", "query", "users_at_least").sort("market", "query").rows()
    key = sha256(repr(rows).encode()).hexdigest()
    return sha256(f"{key}\nnorth\n{text}".encode()).hexdigest()[:6]


def with_users(folder, users):
    """Copy the sample with a table `queries`: `users` of some queries, 9 of all others."""
    names = north()["query"].unique().sort()
    frame = pl.DataFrame({"market": ["north"] * len(names), "query": names})
    counts = [users.get(name, 9) for name in names]
    frame = frame.with_columns(users_at_least=pl.Series(counts, dtype=pl.Int32))
    digests = [digest(name, frame) for name in frame["query"]]
    return copied_run(folder, queries=frame.with_columns(digest=pl.Series(digests)))


def test_a_scatter_has_the_configurations_of_its_key_and_no_others():
    found = scatter(reading.explored_run(sample()))
    expected = {row["configuration_id"]: (row["MaxRR"], row["AP(rel=2)"]) for row in north().to_dicts()}
    assert {row[0]: row[3:] for row in found.iter_rows()} == expected
    assert found["n_sessions"].is_sorted(descending=True)


def test_members_keep_the_configurations_of_their_queries():
    some = pl.Series(sorted(set(north()["query"]))[:7])
    found = scatter(reading.explored_run(sample()), some)
    assert Counter(found["query"]) == Counter(query for query in north()["query"] if query in set(some))


@pytest.mark.parametrize(("split", "class_"), [("length", "2"), ("length", "4+"), ("frequency", "10")])
def test_a_class_has_as_many_configurations_as_the_run_says(split, class_):
    run = reading.explored_run(sample())
    stored = table("correlations").filter(
        **{"market": "north", "depth": 5, "split": split, "class": class_, "click_metric": "UCTR"}
    )
    found = scatter(run, splits_of(run, KEY).members(split, class_))
    assert found.height == stored["n_configurations"][0]
    assert found["n_sessions"].sum() == stored["n_sessions"][0]


def test_a_split_by_an_attribute_is_not_offered_and_the_page_says_so():
    splits = splits_of(reading.explored_run(sample()), KEY)
    assert [split.name for split in splits.splits] == ["all", "length", "frequency"]
    assert splits.left_out == ("navigational",)
    assert "navigational" in pieces.splits_words(splits)


def test_a_split_that_the_run_counts_otherwise_is_not_offered(tmp_path):
    moved = pl.when(split="length", **{"class": "2"}).then(pl.col("n_queries") + 1).otherwise("n_queries")
    run = reading.explored_run(
        copied_run(
            tmp_path / "run", correlations=table("correlations").with_columns(moved.alias("n_queries"))
        )
    )
    splits = splits_of(run, KEY)
    assert "length" not in [split.name for split in splits.splits]
    assert "length" in splits.left_out


def test_thirds_by_click_entropy_are_worked_out_from_the_clicks(tmp_path):
    labels = entropy_thirds()
    stored = table("correlations").filter(market="north", depth=5)
    overall = stored.filter(split="all")
    thirds = [
        overall.with_columns(
            pl.lit("click_entropy").alias("split"),
            pl.lit(name).alias("class"),
            n_queries=pl.lit(sum(label == name for label in labels.values()), dtype=pl.Int64),
            n_configurations=pl.lit(rows_of(labels, name).height, dtype=pl.Int64),
            n_sessions=pl.lit(rows_of(labels, name)["n_sessions"].sum(), dtype=pl.Int64),
        )
        for name in ("low", "middle", "high")
    ]
    run = reading.explored_run(copied_run(tmp_path / "run", correlations=pl.concat([overall, *thirds])))
    splits = splits_of(run, KEY)
    for name in ("low", "middle", "high"):
        members = splits.members("click_entropy", name)
        assert sorted(members) == sorted(query for query, label in labels.items() if label == name)


def entropy_thirds():
    """Give each query of the sample its third, by plain loops."""
    patterns = table("patterns")
    clicked = {query: Counter() for query in north()["query"]}
    masks = {}
    for identity, _, mask, sessions in patterns.iter_rows():
        masks.setdefault(identity, []).append((mask, sessions))
    for row in north().iter_rows(named=True):
        for mask, sessions in masks[row["configuration_id"]]:
            for place, url in enumerate(row["results"]):
                if mask >> place & 1:
                    clicked[row["query"]][url] += sessions
    entropies = {query: entropy(list(counts.values())) for query, counts in clicked.items()}
    order = sorted(entropies, key=lambda query: (entropies[query], query))
    return {query: ("low", "middle", "high")[3 * rank // len(order)] for rank, query in enumerate(order)}


def entropy(counts):
    shares = np.sort(np.array(counts, dtype=float)) / max(1, sum(counts))
    return round(float(-(shares * np.log2(shares)).sum()), 12) + 0.0


def rows_of(labels, name):
    return north().filter(pl.col("query").is_in([query for query, label in labels.items() if label == name]))


# ---- queries of few users ---------------------------------------------------------------------


def test_a_query_of_few_users_and_its_results_are_digests_and_others_are_not(tmp_path):
    heaviest = north().sort("n_sessions", descending=True)
    rare, other = heaviest["query"][0], next(q for q in heaviest["query"] if q != heaviest["query"][0])
    folder = with_users(tmp_path / "run", {rare: 4, other: 5})
    run, queries = reading.explored_run(folder), pl.read_parquet(folder / "queries.parquet")
    labels = reading.query_labels(run, KEY)
    shown = dict(labels.select("query", "label").iter_rows())
    assert shown[rare] == f"query {digest(rare, queries)}"
    assert shown[other] == other
    row = heaviest.row(0, named=True)
    hidden = reading.configuration(run, KEY, row["configuration_id"], labels)
    assert hidden.query == f"query {digest(rare, queries)}"
    assert hidden.results == tuple(f"result {digest(url, queries)}" for url in row["results"])
    page = pieces.configuration_html(run, KEY, hidden, "UCTR", "ERR")
    files = pieces.configuration_json(hidden) + pieces.configuration_csv(hidden)
    for text in (rare, *row["results"]):
        assert text not in page
        assert text.encode() not in files


def in_json(text):
    return json.dumps(text)[1:-1]


def in_csv(text):
    return text.replace('"', '""')


def all_that_is_shown(run):
    """Yield every text of the page that queries can come into, for each configuration of a run."""
    for key in run.keys:
        labels, rows = reading.query_labels(run, key), reading.points(run, key, **CHOSEN, members=None)
        named = reading.with_labels(rows, labels)
        yield pieces.points_csv(named, *CHOSEN.values()).decode()
        yield json.dumps(charts.scatter(named, rows, **CHOSEN, ring=rows["configuration_id"][0]).to_dict())
        for identity in rows["configuration_id"]:
            found = reading.search(rows, labels, identity, 1).row(0, named=True)
            yield pieces.match_words(found["query"], found["n_sessions"], identity)
            shown = reading.configuration(run, key, identity, labels)
            yield html.unescape(pieces.configuration_html(run, key, shown, *CHOSEN.values()))
            yield (pieces.configuration_json(shown) + pieces.configuration_csv(shown)).decode()


@pytest.mark.parametrize("users", ["some", "none", "no table"])
def test_no_query_of_too_few_users_nor_a_result_of_it_is_shown_anywhere(tmp_path, users):
    heaviest = (
        north().group_by("query").agg(pl.sum("n_sessions")).sort("n_sessions", "query", descending=True)
    )
    kept = heaviest["query"].head(24)
    few = north().filter(pl.col("query").is_in(kept.implode()))
    names = dict(
        zip(kept, (f"{harm} of one {n}." for n, harm in enumerate([*HARMS, "plain", "é日本"])), strict=True)
    )
    urls = few["results"].explode().unique().sort()
    harms = {url: f"{HARMS[n % 22]} at one {n}." for n, url in enumerate(urls)}
    few = few.with_columns(
        pl.col("query").replace_strict(names), pl.col("results").list.eval(pl.element().replace_strict(harms))
    )
    enough = set(list(names.values())[::3]) if users == "some" else set()
    counts = [("north", query, 5 if query in enough else 4) for query in names.values() if users == "some"]
    schema = {"market": pl.String, "query": pl.String, "users_at_least": pl.Int32}
    queries = with_digests(pl.DataFrame(counts, schema=schema, orient="row"))
    queries = RUN_QUERIES.canonical(queries.with_columns(query_group=None))
    only = {"market": "north", "depth": 5}
    folder = copied_run(
        tmp_path / "run",
        configurations=few,
        queries=queries,
        statistics=table("statistics").filter(**only),
        correlations=table("correlations").filter(**only),
    )
    if users == "no table":
        (folder / "queries.parquet").unlink()
    named = few.filter(pl.col("query").is_in(enough))
    allowed = enough | set(named["results"].explode())
    hidden = {*names.values(), *harms.values()} - allowed
    spelled = hidden | {form(text) for text in hidden for form in (terminal, in_json, in_csv)}
    texts = "\n".join(all_that_is_shown(reading.explored_run(folder, 5)))
    assert [text for text in spelled if text in texts] == []
    assert all(terminal(text) in texts for text in allowed)


def test_without_counts_of_users_no_query_is_named_and_the_page_says_why(tmp_path):
    folder = copied_run(tmp_path / "run")
    (folder / "queries.parquet").unlink()
    run = reading.explored_run(folder, 5)
    assert set(reading.query_labels(run, KEY)["label"]) == {"query unknown"}
    assert "does not say how many users" in pieces.hiding_words(run)


def test_a_least_of_one_user_shows_all():
    run = reading.explored_run(sample(), 1)
    labels = reading.query_labels(run, KEY)
    assert labels["label"].to_list() == labels["query"].to_list() == sorted(set(north()["query"]))


def test_the_text_of_a_hidden_query_finds_nothing_but_its_digest_and_id_do():
    run = reading.explored_run(sample(), 64)
    labels, rows = reading.query_labels(run, KEY), scatter(run)
    rare = rows.filter(pl.col("query").is_in(labels.filter("hidden")["query"].implode()))
    query, identity = rare["query"][0], rare["configuration_id"][0]
    assert reading.search(rows, labels, query, 50).is_empty()
    name = table("queries").filter(market="north", query=query)["digest"][0]
    assert reading.search(rows, labels, name.upper(), 50)["configuration_id"][0] == identity
    assert reading.search(rows, labels, identity[:12], 50)["configuration_id"].to_list() == [identity]


def test_a_search_is_for_text_not_for_a_pattern():
    run = reading.explored_run(sample(), 1)
    labels, rows = reading.query_labels(run, KEY), scatter(run)
    assert reading.search(rows, labels, ".*", 50).is_empty()
    word = rows["query"][0].split()[0]
    found = reading.search(rows, labels, word.upper(), 3)
    assert found.height == 3
    assert all(word in query for query in found["query"])


def test_a_download_of_hostile_texts_starts_no_formula_and_keeps_every_row(tmp_path):
    run = reading.explored_run(hostile_run(tmp_path / "run"), 1)
    labels = reading.query_labels(run, run.keys[0])
    rows = reading.points(run, run.keys[0], click_metric="UCTR", editorial_metric="ERR", members=None)
    text = pieces.points_csv(reading.with_labels(rows, labels), "UCTR", "ERR").decode()
    back = pl.read_csv(text.encode(), infer_schema=False)
    assert back.height == rows.height
    assert not [query for query in back["query"] if query.startswith(("=", "+", "-", "@"))]


# ---- what cannot be shown ---------------------------------------------------------------------


@pytest.mark.parametrize("name", reading.NEEDED)
def test_a_missing_table_is_named_and_a_broken_one_is_one_line(tmp_path, name):
    folder = copied_run(tmp_path / "run")
    (folder / f"{name}.parquet").unlink()
    with pytest.raises(ReportError, match=f"no {name}.parquet .*clickassay run"):
        reading.explored_run(folder)
    (folder / f"{name}.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ReportError, match="broken") as raised:
        reading.explored_run(folder)
    assert "\n" not in str(raised.value)


def with_settings(folder, **settings):
    file = copied_run(folder) / "settings.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    written["settings"] |= settings
    file.write_text(json.dumps(written), encoding="utf-8")
    return folder


def test_settings_that_a_later_release_adds_do_not_matter(tmp_path):
    folder = with_settings(tmp_path / "run", later=True, persistence=0.7)
    assert reading.explored_run(folder).finished.settings.persistence == 0.7


def test_a_run_without_judged_configurations_has_nothing_to_choose(tmp_path):
    nothing = table("statistics").with_columns(n_sessions=pl.lit(0, dtype=pl.Int64))
    assert reading.explored_run(copied_run(tmp_path / "run", statistics=nothing)).keys == ()


# ---- pieces -----------------------------------------------------------------------------------


def test_a_correlation_is_shown_with_its_interval_and_a_missing_one_with_its_reason():
    run = reading.explored_run(sample())
    row = reading.correlation(
        run, KEY, split="all", class_="all", click_metric="UCTR", editorial_metric="RBP"
    )
    page = pieces.correlation_html(row, scatter(run), "UCTR", "RBP")
    assert f"{row['correlation']:.3f}" in page
    assert f"{row['ci_low']:.3f} to {row['ci_high']:.3f}" in page
    none = {**row, "correlation": None, "reason": "the click metric is the same in every configuration"}
    assert "No correlation: the click metric is the same" in pieces.correlation_html(
        none, north(), "UCTR", "RBP"
    )
    assert "no correlation for this choice" in pieces.correlation_html(None, north(), "UCTR", "RBP")


def test_steps_that_do_not_reach_the_run_are_pointed_out():
    run = reading.explored_run(sample(), 1)
    shown = reading.configuration(run, KEY, north()["configuration_id"][0], reading.query_labels(run, KEY))
    steps = pieces.editorial_of(run, shown, "DCG")
    assert "but the value in the run is" not in pieces.arithmetic_html(steps, shown.values["DCG"])
    assert "but the value in the run is" in pieces.arithmetic_html(steps, shown.values["DCG"] + 0.001)


def test_success_by_chance_is_the_share_of_all_sessions_that_would_meet_a_good_result():
    run = reading.explored_run(sample(), 1)
    patterns = table("patterns").filter(
        pl.col("configuration_id").is_in(north()["configuration_id"].implode())
    )
    met = sum(n for mask, n in patterns.select("click_mask", "sessions").iter_rows() if mask & 0b101)
    assert reading.random_success(run, KEY, 0b101) == pytest.approx(met / patterns["sessions"].sum())


def test_the_map_of_a_large_scatter_keeps_every_session_in_its_cell():
    every = pl.DataFrame(
        {"editorial": [0.0, 0.01, 1.0, 2.0], "click": [0.0, 0.0, 0.5, 1.0], "n_sessions": [1, 2, 4, 8]}
    )
    cells = bin_sessions(every)
    assert cells["sessions"].to_list() == [3, 4, 8]
    for x, y in every.select("editorial", "click").iter_rows():
        inside = cells.filter(
            pl.col("editorial") <= x,
            pl.col("editorial_end") >= x,
            pl.col("click") <= y,
            pl.col("click_end") >= y,
        )
        assert inside.height == 1


def test_the_chart_holds_no_text_of_a_query_that_is_hidden():
    run = reading.explored_run(sample(), 64)
    labels, rows = reading.query_labels(run, KEY), scatter(run)
    rare = rows.filter(pl.col("query").is_in(labels.filter("hidden")["query"].implode()))
    ring = rare["configuration_id"][0]
    chart = charts.scatter(
        reading.with_labels(rows, labels), rows, click_metric="MaxRR", editorial_metric="AP(rel=2)", ring=ring
    )
    spec = json.dumps(chart.to_dict(), default=str)
    assert ring in json.dumps(rows["configuration_id"].to_list())
    assert not [query for query in labels.filter("hidden")["query"] if f'"{query}"' in spec]


def test_a_run_with_a_highest_grade_and_no_labels_can_be_explored(tmp_path):
    run = reading.explored_run(with_settings(tmp_path / "run", max_grade=9), 1)
    assert run.finished.settings.max_grade == 9
    row = north().row(0, named=True)
    shown = reading.configuration(run, KEY, row["configuration_id"], reading.query_labels(run, KEY))
    page = pieces.configuration_html(run, KEY, shown, "UCTR", "ERR")
    assert "perfect" not in page
    assert "excellent" not in page
