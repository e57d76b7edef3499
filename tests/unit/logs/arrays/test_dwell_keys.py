"""Dwell times where users and times are too far apart to be one number of 64 bits."""

import polars as pl

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns

MINUTE = 60_000
START = 1_236_000_000_000
FAR = 4_100_000_000_000  # 2099


def log_of(users):
    """Make a log: users search 40 minutes apart, and click one minute after it."""
    times = [START + 40 * MINUTE * place for place, _ in enumerate(users)]
    times[-1] = FAR
    ids = [f"s{place}" for place, _ in enumerate(users)]
    searches = {"search_id": ids, "user_id": users, "timestamp": times, "query": ["q"] * len(ids)}
    clicks = {"search_id": ids, "timestamp": [time + MINUTE for time in times], "url": ["a"] * len(ids)}
    return pl.DataFrame({**searches, "results": [["a", "b"]] * len(ids)}), pl.DataFrame(clicks)


def decided(users, folder, **more):
    settings = load_settings(
        signal=("satisfied",), last_click="unsatisfied", idle_minutes=60, clock="2100-12-31", **more
    )
    places = folder / "searches.parquet", folder / "clicks.parquet"
    for frame, place in zip(log_of(users), places, strict=True):
        frame.write_parquet(place)
    table = log_to_patterns(Sources(*places), settings)
    rows = table.funnel.filter(source="dwell times").select("step", "rows")
    return dict(rows.iter_rows())


def test_a_search_of_another_user_ends_no_dwell_time_however_far_apart_users_are(tmp_path):
    near = decided([7, 7, 8, 9, 9, 10], tmp_path)
    assert near == {"next event": 2, "last click": 4, "satisfied": 2, "distinct": 6}
    assert decided([7, 7, 8, 9, 9, 10**9], tmp_path) == near
    assert decided([7, 7, 8, 9, 9, 10**9], tmp_path, engine="duckdb") == near
