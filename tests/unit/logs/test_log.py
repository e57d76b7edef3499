"""A log of two halves: what joins them, and what of them is taken."""

import polars as pl

from clickassay.inputs.columns import CLICKS, SEARCHES
from clickassay.inputs.tables import read_input
from clickassay.logs.log import checked_log, local_half

NOON_MS = 1_235_995_200_250
SEARCH = {"search_id": [1], "user_id": [2], "query": ["Q"], "timestamp": [NOON_MS], "results": [["a", "b"]]}
CLICK = {"search_id": ["1"], "timestamp": [NOON_MS], "url": ["b"]}


def read(folder, what, wanted, columns):
    file = folder / f"{what}.parquet"
    pl.DataFrame(columns).write_parquet(file)
    return read_input(what, file, wanted)


def test_ids_are_text_in_both_halves_if_they_are_in_one(tmp_path):
    log = checked_log(read(tmp_path, "searches", SEARCHES, SEARCH), read(tmp_path, "clicks", CLICKS, CLICK))
    assert not log.searches.has_numbers("search_id")
    ids = [half.frame.collect()["search_id"].to_list() for half in log.halves.values()]
    assert ids == [["1"], ["1"]]
    (file,) = log.searches.files
    assert log.searches.opened([file], (0, 1)).collect()["search_id"].to_list() == ["1"]


def test_a_half_is_cut_to_some_of_its_files(tmp_path):
    for number in range(3):
        pl.DataFrame(SEARCH | {"search_id": [number]}).write_parquet(tmp_path / f"{number}.parquet")
    half = local_half(read_input("searches", tmp_path, SEARCHES))
    first, _, last = half.fingerprints()
    some = half.only([first, last])
    assert some.frame.collect()["search_id"].to_list() == [0, 2]
    assert [chunk.file for chunk in some.chunks(0, 2 * NOON_MS)] == [first, last]
    assert half.only([]).frame.collect().is_empty()
    assert half.only(list(half.fingerprints())) is half
