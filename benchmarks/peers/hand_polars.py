"""Peer: logs to pattern table in Polars, written by hand; what is read in full is streamed.

python benchmarks/peers/hand_polars.py LOG OUT

Few lists are shown many times: the texts of a configuration become a number as soon as they are read, and
come back at the end. What several steps use is collected: numbers only, and the distinct texts.
"""

import sys
from pathlib import Path

import polars as pl

IDLE = pl.duration(minutes=60)
DEPTH = 10
DELIVERY = ("search_id", "user_id", "timestamp")
SESSION = ("user_id", "visit", "query_number")
TEXTS = ("market", "query", "shown")


def main(log: Path, out: Path) -> None:
    """Read the log's Parquet files, write `out`/patterns.parquet."""
    searches = with_texts(pl.scan_parquet(log / "searches.parquet"))
    configurations = kept(searches.select(TEXTS).unique().with_row_index("configuration"))
    numbers = configurations.with_columns(query_number=pl.struct("market", "query").rank("dense"))
    delivered = kept(
        searches.join(numbers, on=TEXTS)
        .select(*DELIVERY, "query_number", "configuration")
        .unique(DELIVERY)  # delivery repeats count once
    )
    clicks = kept(timely_clicks(pl.scan_parquet(log / "clicks.parquet"), delivered))
    searched = kept(session_searches(delivered, clicks))
    out.mkdir(parents=True, exist_ok=True)
    patterns(searched, configurations, clicks).sink_parquet(out / "patterns.parquet", engine="streaming")


def kept(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Compute once what is used several times."""
    return frame.collect(engine="streaming").lazy()


def with_texts(searches: pl.LazyFrame) -> pl.LazyFrame:
    """Normalise queries, join the top of each list to one text."""
    if "market" not in searches.collect_schema():
        searches = searches.with_columns(market=pl.lit("all"))
    return searches.with_columns(
        query=pl.col("query").str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase(),
        shown=pl.col("results").list.head(DEPTH).list.join("\t"),
    )


def timely_clicks(clicks: pl.LazyFrame, delivered: pl.LazyFrame) -> pl.LazyFrame:
    """Keep the clicks within an hour of their search."""
    times = delivered.select("search_id", searched="timestamp")
    late = pl.col("timestamp") - pl.col("searched")
    return clicks.join(times, on="search_id").filter(late.is_between(-IDLE, IDLE))


def session_searches(delivered: pl.LazyFrame, clicks: pl.LazyFrame) -> pl.LazyFrame:
    """Give every search its session, which has the id and the list of its first search."""
    last = clicks.group_by("search_id").agg(last_click=pl.col("timestamp").max())
    active = pl.max_horizontal("timestamp", "last_click").cum_max().shift().over("user_id")
    begins = (pl.col("timestamp") > active + IDLE).fill_null(value=False)
    return (
        delivered.join(last, on="search_id", how="left")
        .sort("timestamp", "search_id")
        .with_columns(begins=begins)
        .with_columns(visit=pl.col("begins").cum_sum().over("user_id"))
        .select(
            "search_id",
            session_id=pl.col("search_id").first().over(SESSION),
            configuration=pl.col("configuration").first().over(SESSION),
        )
    )


def patterns(searched: pl.LazyFrame, configurations: pl.LazyFrame, clicks: pl.LazyFrame) -> pl.LazyFrame:
    """Count sessions by configuration and click mask."""
    lists = configurations.with_columns(results=pl.col("shown").str.split("\t"))
    places = (
        lists.select("configuration", url="results", place=pl.int_ranges(0, pl.col("results").list.len()))
        .explode("url", "place")
        .group_by("configuration", "url")
        .agg(pl.col("place").min())
    )
    masks = (
        clicks.join(searched, on="search_id")
        .select("session_id", "configuration", "url")
        .unique()
        .join(places, on=["configuration", "url"])
        .group_by("session_id")
        .agg(click_mask=pl.lit(2, pl.Int64).pow(pl.col("place")).sum())
    )
    return (
        searched.filter(pl.col("search_id") == pl.col("session_id"))
        .join(masks, on="session_id", how="left")
        .group_by("configuration", pl.col("click_mask").fill_null(0))
        .agg(sessions=pl.len().cast(pl.Int64))
        .join(lists, on="configuration")
        .select("market", "query", "results", "click_mask", "sessions")
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
