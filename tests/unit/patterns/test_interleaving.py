"""Pairs of interleaved rankers, and the places of each."""

import polars as pl
import pytest

from clickassay.core.contracts.patterns import INTERLEAVED
from clickassay.core.errors import InputError
from clickassay.patterns.interleaving import MOST_RANKERS, ranker_pairs


def rows_of(*teams, depth=3):
    """Return a session of each draft, clicked at its first place."""
    drafts = {"draft": range(len(teams)), "experiment": "t", "teams": teams}
    frame = pl.DataFrame(drafts, schema_overrides={"teams": pl.List(pl.String)})
    pairs = ranker_pairs(frame, depth).with_columns(
        configuration_id=pl.format("c{}", "draft"), fold=0, signal=pl.lit("click"), click_mask=1, sessions=1
    )
    return INTERLEAVED.canonical(pairs.drop("draft", "pair_nr"))


def told(rows):
    """Return rankers and masks by configuration."""
    names = ("configuration_id", "ranker_a", "ranker_b", "team_a", "team_b")
    return sorted(rows.select(names).rows())


def test_a_ranker_alone_has_a_row_without_another():
    assert told(rows_of(["a", None], ["b", "a"])) == [("c0", "a", "", 1, 0), ("c1", "a", "b", 2, 1)]


def test_each_two_of_several_rankers_have_a_row():
    assert told(rows_of(["c", "", "b", "a"], depth=3)) == [
        ("c0", "a", "b", 0, 4), ("c0", "a", "c", 0, 1), ("c0", "b", "c", 4, 1),
    ]  # fmt: skip


def test_too_many_rankers_are_refused():
    assert len(rows_of(*([f"r{n}"] for n in range(MOST_RANKERS)))) == MOST_RANKERS
    with pytest.raises(InputError, match=r"teams: 101 rankers, such as r0, r1 and r10, but at most 100"):
        rows_of(*([f"r{n}"] for n in range(MOST_RANKERS + 1)))
