"""What two tables have in common by their names, and whether columns that say the same agree."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from clickassay.core.text.words import count, plural, visible
from clickassay.health.forms import alike_queries, alike_urls

_EXAMPLE = 80


@dataclass(frozen=True)
class Side:
    """One of two tables that are joined by names."""

    has: str  # What it is, with its verb: ``judgments have``.
    # The columns of the key, if any, and `text`: the names that are to meet the names of the other side.
    rows: pl.DataFrame


def names_apart(ours: Side, theirs: Side, key: tuple[str, ...] = ()) -> str:
    """Say that no name of two tables is the same, with one name of each side, and the form if one would do.

    ours, theirs: the tables; with a `key` (such as the query), the example is of a key that both have, or of
      the last column of the key if they have none.

    Returns the end of a sentence, as "judgments have 'd1', the run has 'D1' (they differ in case)".
    """
    if key and ours.rows.join(theirs.rows, on=key, how="semi").is_empty():  # then the keys are what differs
        ours, theirs = (replace(side, rows=side.rows.select(text=key[-1])) for side in (ours, theirs))
        key = ()
    alike = _alike(ours.rows.unique(), theirs.rows.unique(), key)
    if alike is None:
        pair, form = _first_pair(ours.rows, theirs.rows, key), ""
    else:
        form, pair = f"; they differ in {alike[0]}", alike[1]
    where = "".join(f" ({name} {_shown(pair[name])})" for name in key if pair.get(name) is not None)
    return f"{theirs.has} {_shown(pair['known'])}, {ours.has} {_shown(pair['wanted'])}{where}{form}"


def _shown(name: object) -> str:
    return "nothing" if name is None else f"'{visible(name, limit=_EXAMPLE)}'"


def _alike(
    ours: pl.DataFrame, theirs: pl.DataFrame, key: tuple[str, ...]
) -> tuple[str, dict[str, object]] | None:
    urls = partial(alike_urls, ours, theirs, key, theirs)
    queries = partial(alike_queries, ours["text"], theirs["text"])
    for search in (urls,) if key else (urls, queries):
        alike = search()
        if alike is not None:
            return alike.form, alike.pairs.row(0, named=True)
    return None


def _first_pair(ours: pl.DataFrame, theirs: pl.DataFrame, key: tuple[str, ...]) -> dict[str, object]:
    if key:
        met = ours.join(theirs.select(key).unique(), on=key, how="semi").sort(*key, "text").head(1)
        if met.height:
            names = theirs.join(met, on=key, how="semi")["text"]
            return {**met.row(0, named=True), "wanted": met["text"][0], "known": names.min()}
    return {"wanted": ours["text"].min(), "known": theirs["text"].min()}


def rank_findings(what: str, rows: pl.DataFrame, *, decides: str) -> Iterator[str]:
    """Yield sentences where ranks and scores of lists contradict each other.

    what: name of the rankings.
    rows: query, rank (null = none), score: the rows of all lists.
    decides: ``score`` or ``rank``: by which of them the lists are ordered.
    """
    ranked = rows.drop_nulls("rank").sort("query", "rank", maintain_order=True)
    before = ranked.select("query", "rank", "score").shift(1)
    steps = ranked.select(
        "query",
        pl.col("rank", "score"),
        before["rank"].alias("better"),
        before["score"].alias("above"),
        rise=pl.col("score") - before["score"],
    ).filter(pl.col("query") == before["query"], pl.col("rank") > before["rank"])
    up, down = (pl.col("rise") > 0).sum(), (pl.col("rise") < 0).sum()
    lists = steps.group_by("query", maintain_order=True).agg(up=up, down=down)
    for words, kind in _CONTRADICTIONS.items():
        of_kind = lists.filter(kind)
        if of_kind.height:
            rises = steps.filter(pl.col("rise") > 0).join(of_kind.head(1), on="query", how="semi").head(1)
            example = "".join(map(_as_example, rises.iter_rows(named=True)))
            of = f"{count(of_kind.height)} of {plural(lists.height, 'list')} of {visible(what)}"
            yield f"In {of} {words}{example}; the {decides} decides."


_UP, _DOWN = pl.col("up"), pl.col("down")
_CONTRADICTIONS = {
    "ranks run against scores": _UP > _DOWN,
    "ranks and scores disagree in part": (_UP > 0) & (_UP <= _DOWN),
    "all scores are equal and ranks are not": (_UP == 0) & (_DOWN == 0),
}


def _as_example(row: dict[str, Any]) -> str:
    better, worse = (f"{row[score]:g} at rank {row[rank]:g}" for score, rank in _ENDS)
    return f" (query {_shown(row['query'])}: {better}, {worse})"


_ENDS = (("above", "better"), ("score", "rank"))
