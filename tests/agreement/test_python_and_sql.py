"""Queries, URLs and ids mean the same to Python and to SQL, over all of Unicode."""

import hashlib
from collections import Counter

import duckdb
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from clickassay.core.files.sql import sql_text
from clickassay.inputs.normalise import MAY_BE_UNNORMALISED, normalise_queries, normalise_query, normalise_url
from clickassay.patterns.digests import configuration_id
from support.logs.odd_texts import (
    BY_THEMSELVES_AND_IN_RUNS,
    CODE_POINTS,
    NORMAL_QUERIES,
    NORMAL_URLS,
    differing,
    digest,
    is_whole_number,
    numbers,
    odd_texts,
    urls,
)


@pytest.fixture(scope="module")
def sql():
    """Return a function that applies a macro to columns of values, row by row."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(sql_text("macros/duckdb"))

    def apply(macro, *columns):
        names = [f"c{number}" for number in range(len(columns))]
        connection.register("given", pl.DataFrame(dict(zip(names, columns, strict=True))).to_arrow())
        return [
            value for (value,) in connection.sql(f"SELECT {macro}({', '.join(names)}) FROM given").fetchall()
        ]

    yield apply
    connection.close()


QUERY = "{0} {0}A{0}b {0}"
URLS = ("Http://A{0}b/{0}#x", "{0}://x")


def filled(frame, signs):
    return [frame.format(sign) for sign in signs]


@pytest.fixture(params=["runs", pytest.param("each", marks=pytest.mark.thorough)])
def signs(request):
    """Return all code points: most by themselves and all in runs, or each by itself."""
    return {"runs": BY_THEMSELVES_AND_IN_RUNS, "each": CODE_POINTS}[request.param]


def test_python_and_sql_agree_about_every_code_point_in_a_query(sql, signs):
    texts = filled(QUERY, signs)
    assert differing(texts, map(normalise_query, texts), sql("normalise_query", texts)) == []


@pytest.mark.parametrize("frame", URLS)
def test_python_and_sql_agree_about_every_code_point_in_a_url(sql, signs, frame):
    texts = filled(frame, signs)
    assert differing(texts, map(normalise_url, texts), sql("normalise_url", texts)) == []


def test_every_code_point_has_one_normal_form():
    again = [sign for sign in CODE_POINTS if normalise_query(normalise_query(sign)) != normalise_query(sign)]
    assert again == []


def test_white_space_is_what_unicode_says_it_is():
    odd = [sign for sign in CODE_POINTS if sign.isspace() != (normalise_query(f"a{sign}b") == "a b")]
    assert odd == []


@settings(max_examples=40)
@given(st.lists(st.one_of(urls, st.text(), st.text("hHtTpPsS:/?#@80.4 \n")), min_size=20, max_size=60))
def test_python_and_sql_agree_about_drawn_urls(sql, texts):
    assert differing(texts, map(normalise_url, texts), sql("normalise_url", texts)) == []


def test_a_column_of_queries_gets_the_normal_form_of_each_code_point_and_blank():
    texts = [f"a{sign}b" for sign in CODE_POINTS] + [
        "",
        " ",
        "a  b",
        " a",
        "a ",
        "a b",
        "a\n",
        "\na",
        "A",
        "Ä b",
    ]
    expected = [normalise_query(text) for text in texts]
    assert normalise_queries(pl.Series(texts, dtype=pl.String)).to_list() == expected
    # none of them looks odd, and nothing is to be done
    plain = ["a b", "", "x-1.5 'y' ~{}"]
    assert normalise_queries(pl.Series(plain)).to_list() == [normalise_query(text) for text in plain] == plain


@given(st.lists(st.one_of(st.none(), st.text(), st.text("aZ .~\t\x7f\u00a0")), max_size=30))
def test_a_column_of_drawn_queries_gets_the_normal_form_of_each(texts):
    expected = [None if text is None else normalise_query(text) for text in texts]
    assert normalise_queries(pl.Series(texts, dtype=pl.String)).to_list() == expected


def missed(texts):
    """Return the URLs that are not in normal form although the reader passes them by as if they were."""
    urls = pl.Series(texts, dtype=pl.String)
    passed_by = urls.filter(~urls.str.contains(MAY_BE_UNNORMALISED))
    return [ascii(url) for url in passed_by if normalise_url(url) != url][:5]


def test_the_reader_passes_by_no_code_point_that_a_normal_url_lacks():
    assert missed([f"http://a{sign}b/c" for sign in CODE_POINTS]) == []
    assert missed([f"http://a/{sign}" for sign in CODE_POINTS]) == []


@settings(max_examples=40)
@given(st.lists(st.one_of(urls, st.text("hHtTpPsS:/?#@80.4 \n")), min_size=20, max_size=60))
def test_the_reader_passes_by_no_drawn_url_that_is_not_normal(texts):
    assert missed(texts) == []


@settings(max_examples=20)
@given(st.lists(st.text(), min_size=20, max_size=60))
def test_python_and_sql_agree_about_drawn_queries(sql, texts):
    assert differing(texts, map(normalise_query, texts), sql("normalise_query", texts)) == []


@given(st.text())
def test_a_normal_query_stays_as_it_is(text):
    normal = normalise_query(text)
    assert normalise_query(normal) == normal


@given(urls)
def test_a_normal_url_stays_as_it_is_but_for_what_was_there_twice(url):
    # one slash and one port are dropped, so of two, one is left to drop
    assume("//" not in url.partition("://")[2] and ":80:80" not in url)
    normal = normalise_url(url)
    assert normalise_url(normal) == normal


def test_urls_are_normalised_as_worked_by_hand(sql):
    assert list(map(normalise_url, NORMAL_URLS)) == list(NORMAL_URLS.values())
    assert sql("normalise_url", list(NORMAL_URLS)) == list(NORMAL_URLS.values())


def test_queries_are_normalised_as_worked_by_hand(sql):
    assert list(map(normalise_query, NORMAL_QUERIES)) == list(NORMAL_QUERIES.values())
    assert sql("normalise_query", list(NORMAL_QUERIES)) == list(NORMAL_QUERIES.values())


@settings(max_examples=60)
@given(odd_texts, odd_texts, st.lists(odd_texts, min_size=1, max_size=4))
@example("a", "b\x1fc", ["d"])
@example("a", "b", ["c\\", "u"])
def test_python_and_sql_name_a_configuration_alike(sql, market, query, results):
    named = sql("configuration_digest", [market], [query], [results])
    assert named == [configuration_id(market, query, results)]


@given(st.tuples(odd_texts, odd_texts, odd_texts), st.tuples(odd_texts, odd_texts, odd_texts))
@example(("a", "b\x1fc", "d"), ("a", "b", "c\x1fd"))
@example(("a", "b\\", "d"), ("a", "b\\\\", "d"))
def test_different_configurations_have_different_ids(one, other):
    ids = {configuration_id(market, query, [url]) for market, query, url in (one, other)}
    assert len(ids) == len({one, other})


def test_a_configuration_id_is_the_md5_of_the_texts_with_a_separator():
    # printf 'all\x1fq\x1fa\x1fb' | md5sum
    assert configuration_id("all", "q", ["a", "b"]) == hashlib.md5(b"all\x1fq\x1fa\x1fb").hexdigest()  # noqa: S324


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=20))
def test_an_integer_user_id_is_mixed_without_overflow(sql, ids):
    assert sql("user_digest", pl.Series(ids, dtype=pl.Int64)) == [digest(number) for number in ids]


@settings(max_examples=60)
@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_a_user_is_the_same_whether_the_id_is_an_integer_or_its_text(sql, number):
    assert sql("user_digest", [str(number)]) == [digest(number)]


@settings(max_examples=60)
@given(st.text())
@example("9" * 19)
@example("12a")
@example("-")
def test_a_text_user_id_has_the_head_of_its_md5(sql, text):
    assume(not is_whole_number(text))
    assert sql("user_digest", [text]) == [int(hashlib.md5(text.encode()).hexdigest()[:15], 16)]  # noqa: S324


@pytest.mark.parametrize("folds", [2, 3, 10, 64])
def test_users_in_a_row_spread_evenly_over_folds(sql, folds):
    sizes = Counter(value % folds for value in sql("user_digest", list(range(20_000))))
    expected = 20_000 / folds
    chi_square = sum((sizes[fold] - expected) ** 2 / expected for fold in range(folds))
    assert (
        chi_square < folds + 5 * (2 * folds) ** 0.5
    )  # mean and deviation of chi-square by degrees of freedom
