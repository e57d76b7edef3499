"""Which queries are named, and the digests of the others: the one rule behind the report and the explorer."""

import hashlib
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.core.text.privacy import QueryLabels, digest, number_rare_classes, run_key, with_digests
from support.reports.harmful import HARMS

COLUMNS = ["market", "query", "users_at_least"]
SCHEMA = {"market": pl.String, "query": pl.String, "users_at_least": pl.Int32}


def users(*rows):
    """A run's table `queries`."""
    return with_digests(pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def frame_of(*pairs):
    return pl.DataFrame(pairs, schema={"market": pl.String, "query": pl.String}, orient="row")


def name_of(queries, market, query):
    """What stands for a query, by hashlib alone."""
    rows = sorted(queries.select(COLUMNS).rows())
    key = hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()
    text = f"{key}\n{market}\n{query}".encode("utf-8", "surrogatepass")
    return f"query {hashlib.sha256(text).hexdigest()[:6]}"


def shown(labels, *pairs):
    return labels.label(frame_of(*pairs)).select("label", "hidden").rows()


def test_below_the_border_of_users_a_query_has_a_digest_and_on_it_its_name():
    queries = users(("m", "four", 4), ("m", "five", 5))
    found = shown(QueryLabels(queries, 5), ("m", "five"), ("m", "four"))
    assert found == [("five", False), (name_of(queries, "m", "four"), True)]


def test_users_of_one_market_do_not_count_for_another():
    queries = users(("east", "q", 64), ("west", "q", 1))
    frame = pl.DataFrame({"market": ["west", "east", "west"], "query": ["q"] * 3, "url": ["u", "u", "v"]})
    found = QueryLabels(queries, 5).relabel(frame, "url")
    assert found.columns == frame.columns
    rare = name_of(queries, "west", "q")
    assert found["query"].to_list() == [rare, "q", rare]
    assert found["url"].to_list() == [None, "u", None]


@pytest.mark.parametrize("queries", [None, users(), users(("m", "known", 64))], ids=["no", "empty", "other"])
def test_a_query_of_whose_users_nothing_is_known_has_no_digest_that_could_be_guessed(queries):
    labels = QueryLabels(queries, 2)
    assert shown(labels, ("m", "my own name")) == [("query unknown", True)]
    assert labels.result_labels("m", "my own name", ["a", "b"]) == ("result unknown",) * 2


def test_a_border_of_one_user_names_every_query_known_or_not():
    labels = QueryLabels(users(("m", "none", 0)), 1)
    assert shown(labels, ("m", "none"), ("m", "other")) == [("none", False), ("other", False)]
    assert labels.result_labels("m", "other", ["a"]) == ("a",)
    assert labels.rule == QueryLabels(None, 1).rule == "Every query is named."


def test_users_that_are_null_are_none():
    queries = users(("m", "q", None))
    assert shown(QueryLabels(queries, 2), ("m", "q")) == [(name_of(queries, "m", "q"), True)]


def test_results_of_a_rare_query_are_digests_under_the_key_of_the_run():
    queries = users(("m", "rare", 4), ("m", "often", 5))
    labels = QueryLabels(queries, 5)
    name = name_of(queries, "m", "http://a").replace("query", "result")
    assert labels.result_labels("m", "rare", ["http://a"]) == (name,)
    assert labels.result_labels("m", "often", ["http://a"]) == ("http://a",)


def test_a_digest_cannot_be_computed_from_the_text_without_the_queries_of_the_run():
    rows = [("m", "my own name", 1), ("m", "weather", 60), ("n", "my own name", 1)]
    one = run_key(pl.DataFrame(rows, schema=COLUMNS, orient="row"))
    other = run_key(pl.DataFrame([("m", "my own name", 2), *rows[1:]], schema=COLUMNS, orient="row"))
    assert one == run_key(pl.DataFrame(rows[::-1], schema=COLUMNS, orient="row"))
    found = {digest(key, market, "my own name") for key in (one, other) for market in ("m", "n")}
    assert len(found) == 4
    assert all(re.fullmatch("[0-9a-f]{6}", name) for name in found)


def test_no_rows_stay_no_rows_of_the_same_form():
    frame = pl.DataFrame(schema={"market": pl.String, "query": pl.String, "url": pl.String})
    assert QueryLabels(users()).relabel(frame, "url").schema == frame.schema


TEXTS = st.one_of(st.text(min_size=1, max_size=12), st.sampled_from(HARMS), st.just("query unknown"))
TOLD = st.dictionaries(
    st.tuples(st.sampled_from(["m", "n"]), TEXTS), st.one_of(st.none(), st.integers(0, 64))
)


@settings(max_examples=40)
@given(told=TOLD, more=st.lists(TEXTS, max_size=3), border=st.integers(2, 64), known=st.booleans())
def test_no_query_of_too_few_users_nor_a_result_of_it_is_ever_shown(told, more, border, known):
    rows = [(*pair, count) for pair, count in told.items()]
    labels = QueryLabels(users(*rows) if known else None, border)
    enough = {pair for pair, count in told.items() if known and (count or 0) >= border}
    pairs = [*told, *(("other", query) for query in more)]
    frame = frame_of(*pairs).with_columns(url=pl.col("query") + "/", number=pl.lit(1))
    found = labels.relabel(frame, "url")
    for pair, query, url in zip(pairs, found["query"], found["url"], strict=True):
        (result,) = labels.result_labels(*pair, [f"{pair[1]}/"])
        if pair in enough:
            assert (query, url, result) == (pair[1], f"{pair[1]}/", f"{pair[1]}/")
        else:
            assert re.fullmatch("query ([0-9a-f]{6}|unknown)", query)
            assert url is None
            assert re.fullmatch("result ([0-9a-f]{6}|unknown)", result)
    assert found["number"].sum() == len(pairs)


def test_values_of_an_attribute_that_few_queries_have_are_numbers_and_our_own_classes_never():
    rows = [("town", "Ys", 1), ("town", "Paris", 9), ("town", "Ankh", 4), ("length", "1", 1)]
    frame = pl.DataFrame(rows, schema=["split", "class", "n_queries"], orient="row")
    found = number_rare_classes(frame, ("length",), 5)
    assert found["class"].to_list() == ["rare value 3", "Paris", "rare value 1", "1"]
    assert number_rare_classes(frame, ("length",), 1).equals(frame)
