"""Times without a zone, against Python's own time zones."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from clickassay.core.settings import Settings
from clickassay.inputs.columns import CLICKS
from clickassay.inputs.sources.values import times_by_zone
from clickassay.inputs.tables import mixed_times, read_input
from clickassay.inputs.types import converted
from clickassay.logs.chunks import chunks_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
# a day around each change of 2026 in the three zones, and any time between 1990 and 2100
CHANGES = ("2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04")
NEAR_CHANGES = st.builds(
    lambda day, minutes: datetime.fromisoformat(day) + timedelta(minutes=minutes),
    st.sampled_from(CHANGES),
    st.integers(-300, 900),
)
LOCAL = st.one_of(NEAR_CHANGES, st.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31)))


def by_python(local, zone):
    """Milliseconds of the earlier instant at which clocks show a time; None if they never do."""
    instant = local.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)
    if instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != local:
        return None
    return (instant - EPOCH) // timedelta(milliseconds=1)


def read(values, dtype, zone):
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    return frame.select(converted(pl.col("x"), dtype, "time", from_text=True, time_zone=zone))["x"].to_list()


@given(st.lists(LOCAL, min_size=1, max_size=20), st.sampled_from(ZONES))
def test_local_times_are_the_instants_that_python_finds(times, zone):
    expected = [by_python(time, zone) for time in times]
    assert read([time.isoformat(" ") for time in times], pl.String(), zone) == expected
    for unit in ("us", "ns"):
        assert read(times, pl.Datetime(unit), zone) == expected
    whole = [time.replace(microsecond=0) for time in times]
    assert read(whole, pl.Datetime("ms"), zone) == [by_python(time, zone) for time in whole]


@given(st.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31)), st.sampled_from(ZONES))
def test_an_instant_is_the_same_with_its_zone_and_as_number_whatever_zone_is_given(time, zone):
    time = time.replace(microsecond=time.microsecond // 1000 * 1000, tzinfo=UTC)
    ms = (time - EPOCH) // timedelta(milliseconds=1)
    shown = time.astimezone(ZoneInfo(zone)).isoformat()
    utc = time.isoformat().replace("+00:00", "Z")
    assert read([shown, utc, str(ms)], pl.String(), zone) == [ms] * 3
    assert read([time], pl.Datetime("ms", "UTC"), zone) == [ms]
    assert read([ms], pl.Int64(), zone) == [ms]


def test_of_an_hour_that_comes_twice_the_first_is_meant_and_an_hour_left_out_is_no_time():
    twice, never = "2026-10-25 02:30:00", "2026-03-29T02:30:00"
    first = (datetime(2026, 10, 25, 0, 30, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
    assert read([twice, never], pl.String(), "Europe/Berlin") == [first, None]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_at_the_ends_of_their_range_stop_nothing(unit):
    far = pl.Series([-(2**63) + 1, 2**63 - 1, 0]).cast(pl.Datetime(unit))
    found = read(far, pl.Datetime(unit), "Europe/Berlin")
    assert found[2] == -3_600_000
    assert found[0] < -(2**42)
    assert found[1] > 2**42


def clicks_with(folder, name, times):
    file = folder / name
    frame = pl.DataFrame({"search_id": range(len(times)), "timestamp": times, "url": ["u"] * len(times)})
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[file.suffix](
        file
    )
    return file


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl"])
def test_times_with_and_without_a_zone_are_counted_and_numbers_are_neither(name, tmp_path):
    times = [
        "2026-05-01 10:00:00", "2026-05-01T10:00:00.5", "2026-05-01T10:00:00Z", "1777629600000", "", None,
    ]  # fmt: skip
    table = read_input(
        "clicks", clicks_with(tmp_path, name, [*times, "2026-05-01 12:00:00+02:00", "soon"]), CLICKS
    )
    assert times_by_zone(table.parts) == (2, 2)
    assert mixed_times(table) == {"clicks": (2, 2)}


def test_files_whose_timestamps_differ_in_having_a_zone_are_counted_and_files_alike_are_not_read(tmp_path):
    local = [datetime(2026, 5, 1, 10), None]
    clicks_with(tmp_path, "a.parquet", local)
    assert mixed_times(read_input("clicks", tmp_path, CLICKS)) == {}
    clicks_with(tmp_path, "b.parquet", [datetime(2026, 5, 1, 10, tzinfo=UTC)] * 3)
    assert mixed_times(read_input("clicks", tmp_path, CLICKS)) == {"clicks": (3, 1)}


def test_a_footer_of_local_times_is_not_taken_for_utc(tmp_path):
    clicks_with(tmp_path, "a.parquet", [datetime(2026, 5, 1, 10), datetime(2026, 5, 1, 11)])
    utc, berlin = (
        chunks_of(read_input("clicks", tmp_path, CLICKS, time_zone=zone), 0, 2**42)[0]
        for zone in ("UTC", "Europe/Berlin")
    )
    two_hours = 7_200_000
    assert (berlin.first_ms, berlin.last_ms) == (utc.first_ms - two_hours, utc.last_ms - two_hours)


def test_a_zone_that_nobody_knows_is_refused_with_those_like_it():
    assert Settings(time_zone="Europe/Berlin").time_zone == "Europe/Berlin"
    with pytest.raises(ValidationError, match=r"did you mean .*Europe/Berlin"):
        Settings(time_zone="Europe/Berln")
    for unknown in ("", "localtime", "../UTC", "+02:00"):
        with pytest.raises(ValidationError, match="IANA"):
            Settings(time_zone=unknown)
