"""Rows of the future: rejected and counted, never the end of a store; a clock can be set to repeat runs."""

import json

import polars as pl
import pytest

from support.logs import tiny

SEARCHES = 120
NOON = 1_714_564_800_000  # 2024-05-01T12:00Z
LIST = ["a", "b", "c"]


def rows(begin, number=SEARCHES, step=10_000, first_id=0):
    return pl.DataFrame(
        {
            "search_id": list(range(first_id, first_id + number)),
            "user_id": list(range(number)),
            "query": ["q"] * number,
            "timestamp": [begin + step * row for row in range(number)],
            "results": [LIST] * number,
        }
    )


def clicks_on(searches):
    return searches.select("search_id", pl.col("timestamp") + 5, url=pl.lit("b"))


def night(folder, name, searches):
    for what, frame in (("searches", searches), ("clicks", clicks_on(searches))):
        (folder / what).mkdir(exist_ok=True)
        frame.write_parquet(folder / what / f"{name}.parquet")


def grow(folder, *more):
    log = ("--searches", folder / "searches", "--clicks", folder / "clicks")
    return tiny.inside("patterns", *log, "--store", folder / "store", "--quiet", *more)


def one_more(searches, time):
    return pl.concat([searches, rows(time, number=1, first_id=999_999)])


def test_a_search_of_2099_is_rejected_and_the_store_takes_the_next_night(tmp_path):
    night(tmp_path, 1, one_more(rows(NOON), 4_070_908_800_000))
    assert grow(tmp_path).code == 0
    night(tmp_path, 2, rows(NOON + 86_400_000, first_id=1000))
    assert grow(tmp_path).code == 0
    counts = {
        (source, step, reason): number
        for source, step, reason, number in pl.concat(
            pl.read_parquet(file) for file in (tmp_path / "store").glob("*/closed/funnel.parquet")
        )
        .filter(depth=0)
        .select("source", "step", "reason", "rows")
        .iter_rows()
    }
    assert counts["searches", "rejected", "time out of range"] == 1


def test_a_lone_last_search_is_refused_before_it_closes_the_store_and_taken_if_told_so(tmp_path):
    night(tmp_path, 1, one_more(rows(NOON), NOON + 3 * 86_400_000))
    refused = grow(tmp_path)
    assert refused.code == 2
    assert all(word in refused.err for word in ("1.parquet", "999999", "2024-05-04", "--allow-gap"))
    assert not list((tmp_path / "store").glob("[0-9]*"))
    assert grow(tmp_path, "--allow-gap").code == 0


@pytest.mark.parametrize("later", [86_400_000, 3_600_000])
def test_a_last_search_within_a_day_of_the_one_before_is_taken(tmp_path, later):
    last = rows(NOON)["timestamp"][-1]
    night(tmp_path, 1, one_more(rows(NOON), last + later))
    assert grow(tmp_path).code == 0


def test_a_run_is_repeated_by_its_clock_which_is_a_time(tmp_path):
    log = tiny.write_log(tmp_path)
    early = ("--clock", "2024-04-30T12:01:00", "--max-rejected", "1")
    counted = tiny.counted(log, *early)
    late = sum(10 * row > 60 for row in range(tiny.ROWS))  # searches come every ten seconds from noon on
    assert counted["searches", "rejected", "time out of range"] == late
    settings = json.loads((log.out / "settings.json").read_text())["settings"]
    assert settings["clock"] == "2024-04-30T12:01:00+00:00"
    assert "must be a time such as 2026-06-30" in tiny.refused(log, "clock", more=("--clock", "soon"))
