"""Rows of a log that show what is wrong with it, looked for in a part of it where a check fires."""

from collections import Counter

import polars as pl

from clickassay.core.text.words import percent, utc_text, visible
from clickassay.health.forms import alike_in_list
from clickassay.inputs.normalise import MAY_BE_UNNORMALISED, normalise_url

_CLICKS = 100_000
"""Clicks that are looked at, evenly spread over the log."""
_STEP_MS = 900_000
"""Time zones differ by multiples of 15 minutes."""
_FURTHEST_MS = 14 * 3_600_000
"""No time zone is further from UTC."""
_MOST_ROWS = 1000


def click_examples(
    searches: pl.LazyFrame, clicks: pl.LazyFrame, rows: int, idle_ms: int, *, by_url: bool
) -> dict[str, str]:
    """Return sentences that show what is wrong with clicks, by name; one without an example is missing."""
    every = max(1, rows // _CLICKS)
    some = clicks.select("search_id", pl.col("timestamp").alias("clicked_ms"), "url")
    taken = some.drop_nulls("search_id").gather_every(every).collect(engine="streaming")
    wanted = taken.select("search_id").unique().lazy()
    columns = searches.select("search_id", "timestamp", "results")
    found = columns.join(wanted, on="search_id", how="semi").collect(engine="streaming")
    joined = taken.join(found.unique("search_id", keep="first", maintain_order=True), on="search_id")
    texts = {
        "unmatched_example": _ids(taken.join(found, on="search_id", how="anti"), searches),
        "late_example": _offset(joined, idle_ms),
        "elsewhere_example": _urls(joined) if by_url else "",
    }
    texts["lost_example"] = " ".join(filter(None, (texts["unmatched_example"], texts["late_example"])))
    return {name: text for name, text in texts.items() if text}


def merged_example(searches: pl.LazyFrame) -> str:
    """Return a sentence on two URLs of a list with one normal form; '' if the first searches have none."""
    odd = pl.col("results").list.eval(pl.element().str.contains(MAY_BE_UNNORMALISED)).list.any()
    some = searches.select("search_id", "results").head(_CLICKS).filter(odd).head(_MOST_ROWS)
    for name, results in some.collect(engine="streaming").sort("search_id").iter_rows():
        seen: dict[str, str] = {}
        for url in filter(None, results):
            other = seen.setdefault(normalise_url(url), url)
            if other != url:
                return f"For example, search “{visible(name)}” shows “{visible(other)}” and “{visible(url)}”."
    return ""


def _ids(unmatched: pl.DataFrame, searches: pl.LazyFrame) -> str:
    """Show a click's search_id beside one of a search, the same in another form if there is one."""
    if unmatched.is_empty():
        return ""
    ids = unmatched["search_id"].unique().sort().head(_MOST_ROWS)
    if ids.dtype == pl.String:
        forms = (
            pl.DataFrame({"clicked": ids}).with_columns(form=_form("clicked")).unique("form", keep="first")
        )
        alike = (
            searches.select("search_id").with_columns(form=_form("search_id"))
            .filter(pl.col("form").is_in(forms["form"].implode()))
            .sort("search_id").head(1).collect(engine="streaming")
        )  # fmt: skip
        if alike.height:
            pair = alike.join(forms, on="form").row(0, named=True)
            return (
                f"For example, a click names search “{visible(pair['clicked'])}”, but the search is called "
                f"“{visible(pair['search_id'])}”."
            )
    other = searches.select(pl.col("search_id").min()).collect(engine="streaming").item()
    return f"For example, a click names search “{visible(ids[0])}”; an existing search is “{visible(other)}”."


def _form(name: str) -> pl.Expr:
    """Return ids without what often differs: case, blanks, quotes, a prefix, leading zeros, an end ``.0``."""
    plain = pl.col(name).str.to_lowercase().str.strip_chars("\"' \t").str.replace(r"\.0+$", "")
    return plain.str.replace(r"^.*[:/_#-]", "").str.strip_chars_start("0").alias("form")


def _offset(joined: pl.DataFrame, idle_ms: int) -> str:
    """Name the offset that would bring most late clicks back, if it is most of them; else show one."""
    late = joined.with_columns(late=pl.col("clicked_ms") - pl.col("timestamp"))
    late = late.filter(pl.col("late").abs() > idle_ms).sort("late", "search_id")
    if late.is_empty():
        return ""
    # the offset, a multiple of 15 minutes, that brings most clicks in time
    counts = Counter(value // _STEP_MS for value in late["late"].to_list())
    steps = max(1, idle_ms // _STEP_MS)
    offsets = {start - part for start in counts for part in range(steps)} - {0}
    backs = {
        offset: sum(counts[offset + part] for part in range(steps))
        for offset in sorted(offsets, key=abs, reverse=True)
        if abs(offset) * _STEP_MS <= _FURTHEST_MS
    }
    best = max(backs, key=lambda offset: (backs[offset], counts[offset]), default=0)
    offset, back = best * _STEP_MS, backs.get(best, 0)
    row = late.row(late.height // 2, named=True)
    shown = (
        f"for example, search “{visible(row['search_id'])}” is at {utc_text(row['timestamp'])}, its click at "
        f"{utc_text(row['clicked_ms'])}."
    )
    if back * 2 < late.height:
        return shown[0].upper() + shown[1:]
    hours, minutes = divmod(abs(offset) // 60_000, 60)
    length = " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))
    side = "late" if offset > 0 else "early"
    return (
        f"{percent(back / late.height)} of them are {length} {side}: the time zones probably differ; {shown}"
    )


def _urls(joined: pl.DataFrame) -> str:
    """Show a click's URL beside a result of its search: the same in another form, or else the first."""
    shown = joined.filter(~pl.col("url").is_in(pl.col("results")), pl.col("results").list.len() > 0)
    for row in shown.drop_nulls("url").sort("search_id", "url").head(_MOST_ROWS).iter_rows(named=True):
        results = [url for url in row["results"] if url]
        if normalise_url(row["url"]) in map(normalise_url, results) or not results:
            continue
        alike = alike_in_list(row["url"], results)
        result, why = (results[0], "") if alike is None else (alike[0], f": they differ in {alike[1]}")
        return (
            f"For example, search “{visible(row['search_id'])}” shows “{visible(result)}”, and its click is "
            f"on “{visible(row['url'])}”{why}."
        )
    return ""
