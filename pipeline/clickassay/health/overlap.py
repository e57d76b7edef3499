"""What two tables have in common by their names, and whether columns that say the same agree."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
    """Say that no name of two tables is the same.

    key: columns, of the last of which the example is, of a common one of the first if there is one.
    Returns as "judgments have 'd1', the run has 'D1' (they differ in case)".
    """
    if key and ours.rows.join(theirs.rows, on=key, how="semi").is_empty():  # then the keys are what differs
        ours, theirs = (replace(side, rows=side.rows.select(text=key[-1])) for side in (ours, theirs))
        key = ()
    wanted, known = ours.rows.unique(), theirs.rows.unique()
    alike = alike_urls(wanted, known, key, known)
    if alike is None and not key:
        alike = alike_queries(wanted["text"], known["text"])
    pair, form = {"wanted": wanted["text"].min(), "known": known["text"].min()}, ""
    if alike is not None:
        form, pair = f"; they differ in {alike.form}", alike.pairs.row(0, named=True)
    elif key:
        met = wanted.join(known.select(key).unique(), on=key, how="semi").sort(*key, "text").head(1)
        if met.height:
            names = known.join(met, on=key, how="semi")["text"]
            pair = {**met.row(0, named=True), "wanted": met["text"][0], "known": names.min()}
    where = "".join(f" ({name} {_shown(pair[name])})" for name in key if pair.get(name) is not None)
    return f"{theirs.has} {_shown(pair['known'])}, {ours.has} {_shown(pair['wanted'])}{where}{form}"


def _shown(name: object) -> str:
    return "nothing" if name is None else f"'{visible(name, limit=_EXAMPLE)}'"


def rank_findings(what: str, rows: pl.DataFrame, *, decides: str) -> Iterator[str]:
    """Yield where ranks (null = none) and scores of lists contradict each other; `decides`: score or rank."""
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
            example = "".join(
                f" (query {_shown(row['query'])}: {row['above']:g} at rank {row['better']:g}, "
                f"{row['score']:g} at rank {row['rank']:g})"
                for row in rises.iter_rows(named=True)
            )
            of = f"{count(of_kind.height)} of {plural(lists.height, 'ranking')} of {visible(what)}"
            yield f"In {of}, {words}{example}; the {decides} is used."


_UP, _DOWN = pl.col("up"), pl.col("down")
_CONTRADICTIONS = {
    "ranks contradict scores": _UP > _DOWN,
    "ranks and scores partly disagree": (_UP > 0) & (_UP <= _DOWN),
    "all scores are equal but ranks differ": (_UP == 0) & (_DOWN == 0),
}
