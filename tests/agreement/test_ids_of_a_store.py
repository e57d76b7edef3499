"""Search ids of a day are compared with those of all days before, of those further back one in 64."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow.parquet as pq
import pytest

from clickassay.core.errors import InputError
from clickassay.core.files.tables import write_table
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.stores import grow_store
from clickassay.logs.grow import COMPARED_DAYS, ONE_IN
from clickassay.patterns import store as store_ids
from clickassay.patterns.batches import ID_ROW_GROUP, write_ids
from clickassay.patterns.store import PatternStore, id_digest

SETTINGS = load_settings(depth=[2])
A_DAY = 3 * ONE_IN
LONG_AGO = COMPARED_DAYS + 2


def write_day(folder, day, ids):
    """Write searches of one day with these ids, a minute apart, and a click on each."""
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)
    times = [start + timedelta(minutes=number) for number in range(len(ids))]
    searches = pl.DataFrame(
        {
            "search_id": ids,
            "user_id": list(range(len(ids))),
            "query": ["q"] * len(ids),
            "timestamp": times,
            "results": [["a", "b"]] * len(ids),
        }
    )
    clicks = pl.DataFrame({"search_id": ids, "timestamp": times, "url": ["a"] * len(ids)})
    for name, rows in (("searches", searches), ("clicks", clicks)):
        (folder / name).mkdir(exist_ok=True, parents=True)
        rows.write_parquet(folder / name / f"{day:03}.parquet")


def add_day(folder, day, ids):
    write_day(folder, day, ids)
    grow_store(
        Sources(str(folder / f"searches/{day:03}.parquet"), str(folder / f"clicks/{day:03}.parquet")),
        folder / "store",
        SETTINGS,
    )


def texts(day):
    """Return ids of a day in the order of their digests."""
    return sorted((f"day {day}, search {number}" for number in range(A_DAY)), key=id_digest)


def first_and_later_day(folder, later, ids):
    add_day(folder, 0, texts(0))
    add_day(folder, later - 1, texts(later - 1))
    add_day(folder, later, ids)


def test_one_id_of_the_last_days_is_found(tmp_path):
    last = max(texts(0), key=id_digest)
    with pytest.raises(InputError, match=r"searches: 1 search ids .* already used in batch 1"):
        first_and_later_day(tmp_path, COMPARED_DAYS, [*texts(COMPARED_DAYS), last])


def test_of_ids_used_anew_long_ago_one_in_64_is_enough(tmp_path):
    with pytest.raises(InputError, match="of one in 64, 3 search ids of the new files were already used"):
        first_and_later_day(tmp_path, LONG_AGO, texts(0))


def test_one_id_of_long_ago_is_found_when_the_store_is_verified(tmp_path, monkeypatch):
    monkeypatch.setattr(store_ids, "_AT_ONCE", 100)
    last = max(texts(0), key=id_digest)
    first_and_later_day(tmp_path, LONG_AGO, [*texts(LONG_AGO), last])
    assert PatternStore(tmp_path / "store").damage() == [
        "run from batch 3 on: 1 search ids were already used by an earlier run; ids must be unique over "
        "the whole log"
    ]


def test_a_store_whose_ids_are_unique_has_no_damage(tmp_path):
    first_and_later_day(tmp_path, LONG_AGO, texts(LONG_AGO))
    assert PatternStore(tmp_path / "store").damage() == []


def test_numbers_that_were_used_far_up_in_the_new_ones_are_found(tmp_path):
    """The ids of the first day lie in the last third of those of the later one."""
    add_day(tmp_path, 0, list(range(1000, 1000 + A_DAY)))
    add_day(tmp_path, LONG_AGO - 1, list(range(-A_DAY, 0)))
    with pytest.raises(InputError, match=r"of one in 64, 9 search ids .* in batch 1 .*one: 1000"):
        add_day(tmp_path, LONG_AGO, list(range(1000 - 2 * A_DAY, 1000 + A_DAY)))


def test_ids_lie_uncompressed_in_small_row_groups(tmp_path):
    """Of an old batch only a block is read, every night: so it is to be quick."""
    ids = pl.DataFrame({"id": range(2 * ID_ROW_GROUP + 1)}, schema={"id": pl.UInt64})
    write_ids(ids.lazy(), tmp_path / "ids.parquet")
    write_ids(pl.concat([ids[:7], ids[7:]], rechunk=False), tmp_path / "again.parquet")
    metadata = pq.read_metadata(tmp_path / "ids.parquet")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [ID_ROW_GROUP, ID_ROW_GROUP, 1]
    assert {group.column(0).compression for group in groups} == {"UNCOMPRESSED"}
    assert [group.column(0).statistics.max for group in groups][-1] == 2 * ID_ROW_GROUP
    assert (tmp_path / "ids.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


@pytest.mark.parametrize("later", [COMPARED_DAYS, LONG_AGO])
def test_ids_that_an_earlier_version_wrote_are_found(later, tmp_path):
    """It wrote them compressed, as any other table."""
    add_day(tmp_path, 0, texts(0))
    file = tmp_path / "store" / "000001" / "ids.parquet"
    write_table(pl.read_parquet(file), file)
    add_day(tmp_path, later - 1, texts(later - 1))
    with pytest.raises(InputError, match=r"search ids of the new files were already used in batch 1"):
        add_day(tmp_path, later, texts(0))
