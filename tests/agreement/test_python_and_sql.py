"""Queries, URLs and ids mean the same to Python and to the macros of each engine, over all of Unicode."""

import hashlib
from collections import Counter
from functools import partial

import duckdb
import polars as pl
import pytest
import sqlglot
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from clickassay.core.files.sql import sql_text
from clickassay.core.settings import load_settings
from clickassay.inputs.normalise import MAY_BE_UNNORMALISED, normalise_queries, normalise_query, normalise_url
from clickassay.logs.spark.session import spark_session
from clickassay.logs.sql import translate as dialect
from clickassay.patterns.digests import configuration_id
from support.logs.odd_texts import (
    BY_THEMSELVES_AND_IN_RUNS,
    CODE_POINTS,
    NORMAL_QUERIES,
    NORMAL_URLS,
    PRIME,
    differing,
    digest,
    is_whole_number,
    numbers,
    odd_texts,
    urls,
)
from support.tiers import first

# an example may be a query of Spark's, so there are few of them, each of many rows
FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def sql(request):
    """Return a function that applies macros, or expressions of macros, to columns c0, c1, ... row by row."""
    if request.param == "spark":
        request.getfixturevalue("spark")
        with spark_session(load_settings(engine="spark")) as session:  # one like those that steps run on
            yield partial(applied, partial(on_spark, session))
        return
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(sql_text("macros/duckdb"))
        yield partial(applied, partial(on_duckdb, connection))


def applied(run, asked, *columns):
    """Apply one expression, or each of several, to columns of values."""
    given = pl.DataFrame({f"c{number}": column for number, column in enumerate(columns)}).to_arrow()
    expressions = [asked] if isinstance(asked, str) else asked
    names = ", ".join(f"{one} AS x{number}" for number, one in enumerate(expressions))
    rows = run(f"SELECT {names} FROM given", given)
    found = [list(column) for column in zip(*rows, strict=True)]
    return found[0] if isinstance(asked, str) else found


def on_duckdb(connection, select, given):
    connection.register("given", given)
    return connection.sql(select).fetchall()


def on_spark(session, select, given):
    session.createDataFrame(given).createOrReplaceTempView("given")
    tree = sqlglot.parse_one(select, dialect="duckdb").transform(
        dialect._with_macros(dialect._macros("spark"))
    )
    return pl.from_arrow(session.sql(tree.sql("spark")).toArrow()).rows()


def code_points(number, *frames):
    """Return frames with all code points: most alone, all in runs; the first frames also with each alone."""
    alone = [(frame, CODE_POINTS) for frame in frames[:number]]
    return first(number, [*((frame, BY_THEMSELVES_AND_IN_RUNS) for frame in frames), *alone])


@pytest.mark.parametrize(("frame", "signs"), code_points(1, "{0} {0}A{0}b {0}", "a b{0}", "{0}a b"))
def test_python_and_sql_agree_about_every_code_point_in_a_query(sql, frame, signs):
    texts = [frame.format(sign) for sign in signs]
    assert differing(texts, map(normalise_query, texts), sql("normalise_query(c0)", texts)) == []


@pytest.mark.parametrize(
    ("frame", "signs"), code_points(2, "Http://A{0}b/{0}#x", "{0}://x", "http://a{0}b/c", "http://a/{0}")
)
def test_python_and_sql_agree_about_every_code_point_in_a_url(sql, frame, signs):
    texts = [frame.format(sign) for sign in signs]
    normal, may_be_unnormalised = sql(["normalise_url(c0)", "may_be_unnormalised(c0)"], texts)
    expected = list(map(normalise_url, texts))
    assert differing(texts, expected, normal) == []
    changed = [form != text for form, text in zip(expected, texts, strict=True)]
    passed_by = [
        ascii(text)
        for text, odd, may in zip(texts, changed, may_be_unnormalised, strict=True)
        if odd and not may
    ]
    assert passed_by[:5] == []


def test_every_code_point_has_one_normal_form():
    again = [sign for sign in CODE_POINTS if normalise_query(normalise_query(sign)) != normalise_query(sign)]
    assert again == []


def test_white_space_is_what_unicode_says_it_is():
    odd = [sign for sign in CODE_POINTS if sign.isspace() != (normalise_query(f"a{sign}b") == "a b")]
    assert odd == []


near_urls = st.one_of(urls, urls, st.text(), st.text("hHtTpPsS:/?#@80.4 \n"))


@FEW
@given(st.lists(near_urls, min_size=150, max_size=250))
def test_python_and_sql_agree_about_drawn_urls(sql, texts):
    asked = ["normalise_url(c0)", "holds_unnormalised_url(c1)", "normal_results(TRUE, TRUE, c1)"]
    expected = list(map(normalise_url, texts))
    normal, odd, lists = sql(asked, texts, [["plain", text] for text in texts])
    assert differing(texts, expected, normal) == []
    assert odd == [form != text for form, text in zip(expected, texts, strict=True)]
    assert lists == [["plain", form] for form in expected]


@FEW
@given(st.lists(st.one_of(st.text(), st.text("aB \t\u00a0\n")), min_size=150, max_size=250))
def test_python_and_sql_agree_about_drawn_queries(sql, texts):
    assert differing(texts, map(normalise_query, texts), sql("normalise_query(c0)", texts)) == []


def test_a_column_of_queries_gets_the_normal_form_of_each_code_point_and_blank():
    texts = [f"a{sign}b" for sign in CODE_POINTS]
    texts += ["", " ", "a  b", " a", "a ", "a b", "a\n", "\na", "A", "Ä b"]
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


QUERIES = NORMAL_QUERIES | {"\u2c2f\ua7dc\U00016ea0": "\u2c5f\u019b\U00016ebb"}  # of Unicode 14, 16 and 17


def test_urls_are_normalised_as_worked_by_hand(sql):
    assert list(map(normalise_url, NORMAL_URLS)) == list(NORMAL_URLS.values())
    assert sql("normalise_url(c0)", list(NORMAL_URLS)) == list(NORMAL_URLS.values())


def test_queries_are_normalised_as_worked_by_hand(sql):
    assert list(map(normalise_query, QUERIES)) == list(QUERIES.values())
    assert sql("normalise_query(c0)", list(QUERIES)) == list(QUERIES.values())


def test_null_stays_null(sql):
    texts, lists = pl.Series([None, "x"]), pl.Series([None, ["x"]], dtype=pl.List(pl.String))
    of_texts = ["normalise_query", "normalise_url", "text_fingerprint", "id_fingerprint"]
    of_lists = ["length_of", "texts_fingerprints"]
    asked = [f"{name}(c0)" for name in of_texts] + [f"{name}(c1)" for name in of_lists]
    for name, (of_null, of_x) in zip(asked, sql(asked, texts, lists), strict=True):
        assert of_null is None, name
        assert of_x is not None, name


LISTS = pl.Series([["a", "b", "a"], [], None, ["a", None], [None]], dtype=pl.List(pl.String))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("length_of(c0)", [3, 0, None, 2, 1]),
        ("holds_null(c0)", [False, False, False, True, True]),
        ("at_place(c0, 1)", ["a", None, None, "a", None]),
        ("at_place(c0, 3)", ["a", None, None, None, None]),
        ("at_place(c0, 9223372036854775807)", [None] * 5),
        ("at_place(c0, NULL)", [None] * 5),
        ("position_in(c0, 'a')", [1, None, None, 1, None]),
        ("position_in(c0, 'b')", [2, None, None, None, None]),
        ("position_in(left_out_results(), NULL)", [None] * 5),
        ("top_of(c0, 2)", [["a", "b"], [], None, ["a", None], [None]]),
        ("left_out_results()", [["left out"]] * 5),
        ("normal_results(FALSE, TRUE, c0)", LISTS.to_list()),
    ],
)
def test_lists_are_taken_apart_as_worked_by_hand(sql, expression, expected):
    assert sql(expression, LISTS) == expected


def test_a_bit_is_that_of_its_position(sql):
    positions = list(range(1, 63))
    assert sql("position_bit(c0)", positions) == [1 << (position - 1) for position in positions]


def test_a_bucket_is_one_bit_of_64(sql):
    digests = list(range(130))
    found = [value % 2**64 for value in sql("bucket_bit(c0)", digests)]  # the highest bit is the sign
    assert found == [1 << (value % 64) for value in digests]


def test_row_numbers_are_all_different(sql):
    found = sql("row_number_of_its_own()", list(range(5000)))
    assert len(set(found)) == 5000


LOOK_ALIKE = [
    *("1", "01", " 1", "1 ", "1\n", "", " ", "\x00", "\x00\x00"),
    *("a", "A", "ab", "ba", "\u00e4", "a\u0308"),
]
ALIKE_PAIRS = [("a", "b"), ("ab", ""), ("", "ab"), ("b", "a"), ("a", "b "), ("a\x1f", "b")]
ALIKE_LISTS = [["a", "b"], ["b", "a"], ["ab"], ["a", "b", ""], ["", "a", "b"], ["a"], [""], ["", ""], []]


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("id_fingerprint(c0)", [LOOK_ALIKE]),
        ("id_fingerprint(c0)", [[0, 1, -1, 2**63 - 1, -(2**63)]]),
        ("text_fingerprint(c0)", [LOOK_ALIKE]),
        ("market_fingerprint(c0)", [LOOK_ALIKE]),
        ("query_fingerprint(c0, c1)", [list(column) for column in zip(*ALIKE_PAIRS, strict=True)]),
        ("list_fingerprint(7, c0)", [ALIKE_LISTS]),
        ("list_fingerprint(c0, c1)", [list(range(9)), [["a"]] * 9]),
    ],
)
def test_what_looks_alike_has_another_fingerprint(sql, expression, columns):
    found = sql(expression, *columns)
    assert len(set(found)) == len(found) == len(columns[0])


configurations = st.tuples(odd_texts, odd_texts, st.lists(odd_texts, min_size=1, max_size=4))


@FEW
@given(st.lists(configurations, min_size=50, max_size=100))
@example(
    [
        ("a", "b\x1fc", ["d"]),
        ("a", "b", ["c\\", "u"]),
        ("", "", [""]),
        ("a\x00", "\U0001f600", ["\\u", "\x1f"]),
    ]
)
def test_python_and_sql_name_a_configuration_alike(sql, given):
    markets, queries, results = (list(column) for column in zip(*given, strict=True))
    found = sql(["configuration_digest(c0, c1, c2)"], markets, queries, results)[0]
    assert found == [configuration_id(*one) for one in given]


def test_a_configuration_id_is_the_md5_of_the_texts_with_a_separator(sql):
    # printf 'all\x1fq\x1fa\x1fb' | md5sum
    known = hashlib.md5(b"all\x1fq\x1fa\x1fb").hexdigest()  # noqa: S324
    assert configuration_id("all", "q", ["a", "b"]) == known
    assert sql("configuration_digest(c0, c1, c2)", ["all"], ["q"], [["a", "b"]]) == [known]


def test_numbers_of_configurations_are_in_the_order_of_their_ids(sql):
    ids = sorted(hashlib.md5(bytes([number])).hexdigest() for number in range(200))  # noqa: S324
    found = sql("leading_number(c0)", ["0" * 32, *ids, "f" * 32])
    assert found == sorted(set(found))
    assert found[0] == 0


@FEW
@given(st.lists(numbers, min_size=50, max_size=100))
@example([-(2**63), 2**63 - 1, 0, -1, PRIME, -PRIME, PRIME - 1, PRIME + 1, 2**62])
def test_an_integer_user_id_is_mixed_without_overflow(sql, ids):
    assert sql("user_digest(c0)", pl.Series(ids, dtype=pl.Int64)) == [digest(number) for number in ids]


@FEW
@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=50, max_size=100))
@example([0, 1, -1, 10**18 - 1, -(10**18) + 1])
def test_a_user_is_the_same_whether_the_id_is_an_integer_or_its_text(sql, ids):
    assert sql("user_digest(c0)", [str(number) for number in ids]) == [digest(number) for number in ids]


@FEW
@given(st.lists(st.one_of(st.text(), st.text("0123456789-+ \n", max_size=21)), min_size=50, max_size=100))
@example(
    ["9" * 19, "12a", "-", "", "12\n", "\n12", " 12", "+5", "\u0661\u0662", "1\u2028", "1\r", "1.0", "0x1"]
)
def test_a_text_user_id_has_the_head_of_its_md5(sql, texts):
    texts = [text for text in texts if not is_whole_number(text)]
    assume(texts)
    heads = [hashlib.md5(text.encode()).hexdigest()[:15] for text in texts]  # noqa: S324
    assert sql("user_digest(c0)", texts) == [int(head, 16) for head in heads]


@FEW
@given(st.lists(st.text(), min_size=50, max_size=100))
def test_a_store_knows_a_search_id_by_the_head_of_its_md5(sql, texts):
    heads = [hashlib.md5(text.encode()).hexdigest()[:16] for text in texts]  # noqa: S324
    assert [int(value) for value in sql("id_digest(c0)", texts)] == [int(head, 16) for head in heads]


@given(st.tuples(odd_texts, odd_texts, odd_texts), st.tuples(odd_texts, odd_texts, odd_texts))
@example(("a", "b\x1fc", "d"), ("a", "b", "c\x1fd"))
@example(("a", "b\\", "d"), ("a", "b\\\\", "d"))
def test_different_configurations_have_different_ids(one, other):
    ids = {configuration_id(market, query, [url]) for market, query, url in (one, other)}
    assert len(ids) == len({one, other})


@pytest.mark.parametrize("folds", [2, 3, 10, 64])
def test_users_in_a_row_spread_evenly_over_folds(sql, folds):
    sizes = Counter(value % folds for value in sql("user_digest(c0)", list(range(20_000))))
    expected = 20_000 / folds
    chi_square = sum((sizes[fold] - expected) ** 2 / expected for fold in range(folds))
    assert (
        chi_square < folds + 5 * (2 * folds) ** 0.5
    )  # mean and deviation of chi-square by degrees of freedom
