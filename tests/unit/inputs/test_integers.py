"""Ids are integers of any width, or texts: what every file says of them is the same id."""

import json
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.errors import InputError
from clickassay.inputs.columns import CLICKS, SEARCHES
from clickassay.inputs.tables import collected, read_input
from clickassay.logs.log import checked_log

RANGES = {
    **{getattr(pl, f"Int{bits}"): (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64, 128)},
    **{getattr(pl, f"UInt{bits}"): (0, 2**bits - 1) for bits in (8, 16, 32, 64, 128)},
}
FITS = (-(2**63), 2**63 - 1)


def test_every_integer_type_of_polars_is_tried():
    known = {kind for kind in vars(pl).values() if isinstance(kind, type) and issubclass(kind, pl.DataType)}
    assert {kind for kind in known if kind.is_integer()} == set(RANGES)


def ids_of(folder, *files):
    """Return the ids that clicks in these files name: frames as Parquet, texts as JSON lines."""
    place = folder / "clicks"
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    for number, file in enumerate(files):
        if isinstance(file, str):
            (place / f"{number}.jsonl").write_text(file)
        else:
            file.write_parquet(place / f"{number}.parquet")
    return collected(read_input("clicks", place, CLICKS))["search_id"]


def clicks(ids, dtype):
    ids = pl.Series("search_id", ids, dtype=dtype)
    return ids.to_frame().with_columns(timestamp=pl.lit(1_235_995_200_250), position=pl.lit(1))


def lines(ids):
    return "".join(json.dumps({"search_id": one, "timestamp": 5, "position": 1}) + "\n" for one in ids)


@given(
    st.sampled_from(list(RANGES)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(st.integers(*RANGES[kind]) | st.none(), min_size=1))
    )
)
def test_ids_of_every_integer_type_are_numbers_or_their_digits(tmp_path_factory, drawn):
    kind, ids = drawn
    found = ids_of(tmp_path_factory.mktemp("ids"), clicks(ids, kind))
    assert found.dtype in (pl.Int64, pl.String)
    assert [None if one is None else str(one) for one in found] == [
        None if one is None else str(one) for one in ids
    ]


@given(st.lists(st.integers(-(2**127), 2**128 - 1), min_size=1, max_size=8))
def test_ids_of_json_lines_keep_each_digit(tmp_path_factory, ids):
    found = ids_of(tmp_path_factory.mktemp("ids"), lines(ids))
    assert [str(one) for one in found] == [str(one) for one in ids]
    assert (found.dtype == pl.Int64) == all(FITS[0] <= one <= FITS[1] for one in ids)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8), st.integers(0, 8))
def test_searches_and_clicks_meet_whichever_half_is_wide(tmp_path_factory, ids, cut):
    folder = tmp_path_factory.mktemp("ids")
    kinds = [pl.UInt64 if one % 2 else pl.Int128 for one in ids]
    named = sorted(set(ids))
    (folder / "s").mkdir()
    for number, (one, kind) in enumerate(zip(named, kinds, strict=False)):
        shown = {"search_id": [one], "user_id": [one], "query": ["q"], "timestamp": [5], "results": [["a"]]}
        narrow = pl.Int64 if one <= FITS[1] else kind
        pl.DataFrame(shown, schema_overrides={"search_id": narrow, "user_id": kind}).write_parquet(
            folder / "s" / f"{number}.parquet"
        )
    (folder / "c.jsonl").write_text(lines(ids[:cut] + ids))
    log = checked_log(
        read_input("searches", folder / "s", SEARCHES), read_input("clicks", folder / "c.jsonl", CLICKS)
    )
    met = log.clicks.frame.join(log.searches.frame, on="search_id").collect()
    assert sorted(map(int, met["search_id"])) == sorted(ids[:cut] + ids)


def test_a_file_of_small_ids_and_one_of_large_ids_are_one_table(tmp_path):
    files = (
        clicks([7, 8], pl.Int32),
        clicks([8, 2**64 - 1], pl.UInt64),
        lines([9, 2**127]),
        clicks([7.0], None),
    )
    assert ids_of(tmp_path, *files).to_list() == [
        "7", "8", "8", "18446744073709551615", "9", str(2**127), "7",
    ]  # fmt: skip


def test_the_width_of_ids_in_json_lines_does_not_depend_on_the_order_of_rows(tmp_path):
    ids = [*range(12_000), 2**64 - 1]
    assert ids_of(tmp_path, lines(ids)).to_list() == [str(one) for one in ids]


def test_decimals_without_places_are_integers(tmp_path):
    for digits, dtype in ((18, pl.Int64), (38, pl.String)):
        frame = clicks([1, 10**17], pl.Int64).with_columns(pl.col("search_id").cast(pl.Decimal(digits, 0)))
        found = ids_of(tmp_path, frame)
        assert (found.dtype, [str(one) for one in found]) == (dtype, ["1", "100000000000000000"])


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1) | st.none(), min_size=1))
def test_whole_floats_are_the_integers_that_pandas_made_them_of(tmp_path_factory, ids):
    floats = [None if one is None else float(one) for one in ids]
    assert ids_of(tmp_path_factory.mktemp("ids"), clicks(floats, pl.Float64)).to_list() == ids


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, pl.Float64), (2.0**53, pl.Float64), (-(2.0**53), pl.Float64), (math.nan, pl.Float64),
     (math.inf, pl.Float64), (2.0**24, pl.Float32), (2.0**64, pl.Float64)],
)  # fmt: skip
@pytest.mark.parametrize("column", ["search_id", "timestamp", "position", "url"])
def test_a_float_that_may_have_been_another_number_is_refused(tmp_path, value, dtype, column):
    frame = clicks([1, 2], pl.Int64).with_columns(url=pl.lit("a"))
    frame = frame.with_columns(pl.Series(column, [1.0, value], dtype=dtype))
    with pytest.raises(InputError, match=rf'column {column} of .* is {dtype}.*pandas.*astype\("Int64"\)'):
        ids_of(tmp_path, frame)


def test_positions_are_whole_numbers_however_they_are_written(tmp_path):
    file = tmp_path / "clicks.csv"
    file.write_text("search_id,timestamp,position\na,5,3.0\nb,5, 4\nc,5,18446744073709551616\nd,5,1.5\n")
    positions = collected(read_input("clicks", file, CLICKS))["position"]
    assert positions.to_list() == [3, 4, 2**63 - 1, None]


def test_wide_results_and_clicked_results_are_the_same_texts(tmp_path):
    shown = {"search_id": [1], "user_id": [1], "query": ["q"], "timestamp": [5]}
    results = pl.Series("results", [[2**64 - 1, 7]], dtype=pl.List(pl.UInt64))
    pl.DataFrame(shown).with_columns(results).write_parquet(tmp_path / "s.parquet")
    found = collected(read_input("searches", tmp_path / "s.parquet", SEARCHES))
    assert found["results"].to_list() == [["18446744073709551615", "7"]]
    wide = clicks([1], pl.Int64).with_columns(url=pl.Series([2**64 - 1], dtype=pl.UInt128))
    wide.write_parquet(tmp_path / "c.parquet")
    assert collected(read_input("clicks", tmp_path / "c.parquet", CLICKS))["url"].to_list() == [
        str(2**64 - 1)
    ]


IN_TEXT = {
    "3.0": "3", "-4.0": "-4", "0.0": "0", "9007199254740991.0": "9007199254740991",
    **{text: text for text in ("9007199254740992.0", "3.5", "a.0", ".0", "1.0.0", "1e3.0", "3.", "007", "")},
}  # fmt: skip
"""Ids as CSV has them, and what they mean: beyond 2^53 a float may have been another number."""


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "together"])
def test_an_id_in_text_that_is_a_whole_float_below_2_to_the_53rd_is_the_integer(tmp_path, alone):
    for ids in [[one] for one in IN_TEXT] if alone else [list(IN_TEXT)]:
        cells = "".join(f"{one},5,1\n" for one in ids)
        (tmp_path / "clicks.csv").write_text("search_id,timestamp,position\n" + cells, encoding="utf-8")
        found = collected(read_input("clicks", tmp_path / "clicks.csv", CLICKS))["search_id"].to_list()
        assert found == [IN_TEXT[one] or None for one in ids]
