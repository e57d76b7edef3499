"""What a log says of two rankers whose results were put into one list: a table beside the patterns."""

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.text.words import listed, visible

MOST_RANKERS = 100
"""Rankers of all tests together; more are probably ids in the wrong column."""

_FEW = 1000
"""Rankings whose rankers are looked at first: ids in the wrong column would fill memory."""


def ranker_pairs(drafts: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return each two rankers of drafts, and the places that each gave.

    drafts: draft (a number), experiment, teams: the ranker of each place; null and '' = none.
    depth: places that masks have.

    Returns draft, pair_nr (in the order of experiment and rankers), and experiment, ranker_a, ranker_b,
    team_a, team_b as `INTERLEAVED` has them.

    Raises InputError if there are too many rankers.
    """
    for some in (drafts.head(_FEW), drafts):
        in_places = some.explode("teams").with_columns(place=pl.int_range(pl.len()).over("draft"))
        given = in_places.filter(pl.col("teams") != "").rename({"teams": "ranker_a"})
        names = given["ranker_a"].unique().sort()
        if len(names) > MOST_RANKERS:
            raise InputError(
                f"teams: {len(names):,} rankers, such as {listed(map(visible, names[:3]))}, but at most "
                f"{MOST_RANKERS}; is this the right column?"
            )
    bit = pl.when(pl.col("place") < depth).then(pl.lit(2, pl.Int64).pow(pl.col("place"))).otherwise(0)
    key = ["draft", "experiment"]
    teams = given.group_by(*key, "ranker_a").agg(team_a=bit.sum())
    others = teams.rename({"ranker_a": "ranker_b", "team_a": "team_b"})
    pairs = teams.join(others, on=key).filter(pl.col("ranker_a") < pl.col("ranker_b"))
    alone = teams.filter(pl.len().over("draft") == 1)
    alone = alone.with_columns(ranker_b=pl.lit(""), team_b=pl.lit(0, pl.Int64)).select(pairs.columns)
    every = pl.concat([pairs, alone])
    number = pl.struct("experiment", "ranker_a", "ranker_b").rank("dense").cast(pl.Int64)
    return every.with_columns(pair_nr=number)
