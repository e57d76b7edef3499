"""Numbers, and text from logs, as words."""

import pytest

from clickassay.core.text.words import (
    capital,
    listed,
    number,
    percent,
    plural,
    sentence,
    signed,
    span,
    visible,
    without_secrets,
)


def test_long_text_is_cut_to_its_limit():
    assert visible("x" * 100, limit=10) == "x" * 9 + "…"
    assert visible("x" * 10, limit=10) == "x" * 10


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4804, "0.480"),
        (-0.0126, "\N{MINUS SIGN}0.013"),
        (-0.0001, "0.000"),
        (0.0, "0.000"),
        (None, "\N{EN DASH}"),
        (1234.5, "1,234.500"),
    ],
)
def test_numbers_have_three_decimals_and_a_true_minus(value, text):
    assert number(value) == text


def test_small_words_read_as_english():
    assert [signed(0.05), signed(-0.05), signed(0.0)] == ["+0.050", "\N{MINUS SIGN}0.050", "0.000"]
    assert [percent(0.0583), percent(None), percent(1.0)] == ["5.8%", "\N{EN DASH}", "100.0%"]
    assert [listed([]), listed("a"), listed("ab"), listed("abc", "or")] == ["", "a", "a and b", "a, b or c"]
    assert [plural(1, "query", "queries"), plural(2000, "query", "queries")] == ["1 query", "2,000 queries"]
    assert [span(-0.1, 0.25), span(None, 0.2)] == ["\N{MINUS SIGN}0.100 to 0.250", "no interval"]
    assert [sentence("eRR leads"), sentence("Is it?"), capital("market LLM")] == [
        "ERR leads.",
        "Is it?",
        "Market LLM",
    ]


WITHOUT_A_SECRET = (
    "abfss://container@account.dfs.core.windows.net/logs",
    "sc://host:15002 does not answer",
    "spark://host:7077/a@b",
    "http://shop.example:80/?page=2&q=signs of life",
    "--cost-column token, --judge a@b.example: found 'x=y', expected VALUE=GRADE",
    "http://shop.example/p?id=7 and http://user.example/~me:you",
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "no server at sc://h:15002/;token=HUSH;user_id=me (refused)",
            "no server at sc://h:15002/;… (refused)",
        ),
        ("sc:/h:15002/;use_ssl=true;token=HUSH", "sc:/h:15002/;…"),
        ("s3://KEY:HU/SH+x@bucket/logs does not exist", "s3://…@bucket/logs does not exist"),
        ("cannot write s3a:/KEY:HUSH@bucket", "cannot write s3a:/…@bucket"),
        ("'https://HUSH@host/x': no", "'https://…@host/x': no"),
        ("https://h/a.csv?X-Amz-Date=1&X-Amz-Signature=HUSH: no", "https://h/a.csv?… no"),
        ("https://h/a?sv=2024&sig=HUSH is", "https://h/a?… is"),
        ("jdbc:x://h/db;password=HUSH;a=b", "jdbc:x://h/db;password=…;a=b"),
        ("spark.hadoop.fs.s3a.secret.key=HUSH", "spark.hadoop.fs.s3a.secret.key=…"),
        ("CLICKASSAY_TOKEN=HUSH is unknown", "CLICKASSAY_TOKEN=… is unknown"),
        *((text, text) for text in WITHOUT_A_SECRET),
    ],
)
def test_a_message_has_no_secret_and_stays_where_it_had_none(text, told):
    assert without_secrets(text) == told
