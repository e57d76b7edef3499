"""A healthy log of ten days, and what can be wrong with one: each case with what must be said.

The healthy log has 4,000 searches of 500 users for 100 queries, 60 results a query, lists of 8 to 10; the
first result is clicked most, a minute after its search.
"""

import numpy as np
import polars as pl

DAY_MS, MINUTE_MS = 86_400_000, 60_000
START_MS = 1_750_000_000_000 // DAY_MS * DAY_MS
SEARCHES, USERS, QUERIES, DAYS = 4_000, 500, 100, 10


def healthy():
    """Return searches and clicks."""
    rng = np.random.default_rng(22)
    query = rng.integers(QUERIES, size=SEARCHES)
    length = rng.integers(8, 11, size=SEARCHES)
    times = START_MS + np.sort(rng.integers(DAYS * DAY_MS, size=SEARCHES))
    lists = [
        [f"https://shop.example/{number}/{place}" for place in range(1, size + 1)]
        for number, size in zip(query, length, strict=True)
    ]
    searches = pl.DataFrame(
        {
            "search_id": [f"s{number:05d}x" for number in range(SEARCHES)],
            "user_id": [f"u{user}" for user in rng.integers(USERS, size=SEARCHES)],
            "query": [f"query {number}" for number in query],
            "timestamp": times,
            "results": lists,
        }
    )
    place = np.minimum(rng.geometric(0.5, size=SEARCHES), length) - 1
    clicks = pl.DataFrame(
        {
            "search_id": searches["search_id"],
            "timestamp": times + MINUTE_MS,
            "url": [urls[at] for urls, at in zip(lists, place, strict=True)],
        }
    ).filter(pl.Series(rng.random(SEARCHES) < 0.6))
    return searches, clicks


NUMBER = pl.col("search_id").str.slice(1, 5).cast(pl.Int64)


def changed(column, value, share=1.0):
    """Return a change of a column, in rows of a share of the searches."""
    return lambda frame: frame.with_columns(
        pl.when(100 * share > NUMBER * 37 % 100).then(value).otherwise(pl.col(column)).alias(column)
    )


def unchanged(frame):
    """Change nothing."""
    return frame


UPPER = pl.col("search_id").str.to_uppercase()
LATER = pl.col("timestamp") + 2 * 60 * MINUTE_MS
OTHER_URL = pl.col("url").str.replace("https://shop.example/", "SKU-")
NOON = pl.col("timestamp") // DAY_MS * DAY_MS + DAY_MS // 2
AT_NOON, TENTH_AT_NOON = changed("timestamp", NOON), changed("timestamp", NOON, 0.1)
FIRST_USER = pl.lit("crawler")
DAY = (pl.col("timestamp") - START_MS) // DAY_MS


def without_day(day):
    """Return a change that leaves out a day."""
    return lambda frame: frame.filter(day != DAY)


def day_again(times, most=SEARCHES):
    """Return a change that has the fifth day's searches several times, or `most` of them, under other ids."""

    def change(frame):
        fifth = frame.filter(DAY == 5).head(most)
        more = [fifth.with_columns(pl.col("search_id") + f"-{again}") for again in range(times - 1)]
        return pl.concat([frame, *more])

    return change


def one_query(share):
    """Return a change by which a share of the searches are for one query."""
    return changed("query", pl.lit("login"), share)


# name: (change of searches, change of clicks, {check: status}, words that must be said)
SICK = {
    "ids in upper case": (
        unchanged, changed("search_id", UPPER), {"lost_clicks": "stop", "unmatched_clicks": "finding"},
        ("100.0%", "“S00000X”" , "“s00000x”"),
    ),
    "60% of the ids broken": (
        unchanged, changed("search_id", "lost-" + pl.col("search_id"), 0.6), {"unmatched_clicks": "finding"},
        ("“lost-s", "“s0"),
    ),
    "a few ids broken": (
        unchanged, changed("search_id", "lost-" + pl.col("search_id"), 0.1), {"unmatched_clicks": "caution"},
        ("name an unknown search_id",),
    ),
    "a dropped time zone": (
        unchanged, changed("timestamp", LATER), {"lost_clicks": "stop", "late_clicks": "finding"},
        ("100.0% of them are 2 h late", "the time zones probably differ"),
    ),
    "half of the clicks late": (
        unchanged, changed("timestamp", LATER, 0.5), {"late_clicks": "finding"}, ("2 h late",),
    ),
    "URLs in another form": (
        unchanged, changed("url", OTHER_URL), {"clicks_elsewhere": "finding"},
        ("100.0%", "shows “https://shop.example/", "is on “SKU-"),
    ),
    "dates without times": (AT_NOON, AT_NOON, {"same_minute": "caution"},
                            ("100.0%", "12:00 UTC")),
    "a busy minute": (TENTH_AT_NOON, TENTH_AT_NOON, {"busy_minute": "caution"},
                      ("10.", "12:00 UTC")),
    "a crawler": (changed("user_id", FIRST_USER, 0.2), unchanged, {"busy_user": "caution"}, ("20.",)),
    "ids per request": (changed("user_id", pl.col("search_id")), unchanged, {"one_search_each": "caution"},
                        ("nearly all users have only one",)),
    "a day is missing": (without_day(3), without_day(3), {"missing_days": "caution"},
                         ("1 day", "2025-06-18")),
    "a day came three times": (day_again(3), unchanged, {"double_days": "caution"}, ("1 day", "2025-06-20")),
    "a night without clicks": (unchanged, without_day(3), {"days_without_clicks": "finding"},
                               ("1 day has searches and no click", "2025-06-18")),
    "one query": (one_query(0.3), unchanged, {"busy_query": "caution"}, ("have the same query",)),
    "lists of one result": (
        changed("results", pl.col("results").list.head(1)), unchanged,
        {"one_list_length": "caution", "clicks_elsewhere": "finding"}, ("Every ranking has 1 result",),
    ),
    "lists upside down": (changed("results", pl.col("results").list.reverse()), unchanged,
                          {"flat_clicks": "caution"}, ("position 1 in",)),
    "no click": (unchanged, lambda frame: frame.clear(), {"no_clicks": "finding"}, ("The log has no click",)),
    "clicks of another name": (
        unchanged, lambda frame: frame.with_columns(action=pl.lit("Clicked")), {"no_clicks": "finding"},
        ("action is not a click, such as clicked",),
    ),
}  # fmt: skip

NEIGHBOURS = {
    "healthy": (unchanged, unchanged),
    "1% of the ids broken": (unchanged, changed("search_id", "lost-" + pl.col("search_id"), 0.01)),
    "1% of the clicks late": (unchanged, changed("timestamp", LATER, 0.01)),
    "15% of the clicks elsewhere": (unchanged, changed("url", OTHER_URL, 0.15)),
    "4% in one minute": (changed("timestamp", NOON, 0.04), changed("timestamp", NOON, 0.04)),
    "a keen user": (changed("user_id", FIRST_USER, 0.02), unchanged),
    "two searches a user": (
        changed("user_id", pl.int_range(pl.len()).floordiv(2).cast(pl.String)),
        unchanged,
    ),
    "the last day is missing": (without_day(9), without_day(9)),
    "a busy day": (day_again(2, 300), unchanged),
    "a frequent query": (one_query(0.15), unchanged),
    "lists of two lengths": (changed("results", pl.col("results").list.head(9)), unchanged),
}
