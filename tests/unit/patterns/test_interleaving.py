"""Pairs of interleaved rankers, turned so that the control is first."""

import polars as pl
import pytest

from clickassay.core.contracts.patterns import INTERLEAVED
from clickassay.core.errors import InputError
from clickassay.patterns.interleaving import MOST_RANKERS, against, ranker_pairs


def rows_of(*teams, depth=3):
    """Return a session of each draft, clicked at its first place."""
    drafts = {"draft": range(len(teams)), "experiment": "t", "teams": teams}
    frame = pl.DataFrame(drafts, schema_overrides={"teams": pl.List(pl.String)})
    pairs = ranker_pairs(frame, depth).with_columns(
        configuration_id=pl.format("c{}", "draft"), fold=0, signal=pl.lit("click"), click_mask=1, sessions=1
    )
    return INTERLEAVED.canonical(pairs.drop("draft"))


def told(rows):
    """Return rankers and masks by configuration."""
    names = ("configuration_id", "ranker_a", "ranker_b", "team_a", "team_b")
    return sorted(rows.select(names).rows())


def test_control_is_first_whatever_its_name():
    rows = rows_of(["new", "control", None, "new"], ["control", "new", "new"])
    assert told(against(rows, "control")) == [("c0", "control", "new", 2, 1), ("c1", "control", "new", 1, 6)]
    assert told(against(rows, "new")) == [("c0", "new", "control", 1, 2), ("c1", "new", "control", 6, 1)]
    assert against(rows, "nobody").is_empty()


def test_lists_of_one_ranker_are_of_the_pair_if_there_is_one_pair():
    rows = rows_of(["b", "a"], ["a"], ["b"])
    assert told(against(rows, "b")) == [
        ("c0", "b", "a", 1, 2),
        ("c1", "b", "a", 0, 1),
        ("c2", "b", "a", 1, 0),
    ]
    several = rows_of(["b", "a"], ["a"], ["b"], ["b", "c"])
    assert told(against(several, "b")) == [("c0", "b", "a", 1, 2), ("c3", "b", "c", 1, 2)]


def test_each_two_of_several_rankers_have_a_row():
    assert told(rows_of(["c", "", "b", "a"], depth=3)) == [
        ("c0", "a", "b", 0, 4), ("c0", "a", "c", 0, 1), ("c0", "b", "c", 4, 1),
    ]  # fmt: skip


def test_too_many_rankers_are_refused():
    assert len(rows_of(*([f"r{n}"] for n in range(MOST_RANKERS)))) == MOST_RANKERS
    with pytest.raises(InputError, match=r"teams: 101 rankers, such as r0, r1 and r10, but at most 100"):
        rows_of(*([f"r{n}"] for n in range(MOST_RANKERS + 1)))
