"""A pattern table cut into what models are fitted on, and parts of it that are held out."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.click_models.click_log import NO_DOCUMENT, click_log
from clickassay.click_models.comparison import split_by_users, split_sessions
from clickassay.core.errors import ClickModelError
from support.logs.click_logs import random_log


def configurations(*lists, markets=None):
    size = len(lists)
    return pl.DataFrame(
        {
            "configuration_id": [f"c{row}" for row in range(size)],
            "market": markets or ["all"] * size,
            "query": ["q"] * size,
            "results": pl.Series(lists, dtype=pl.List(pl.String)),
        }
    )


def patterns(*rows):
    schema = {"configuration_id": pl.String, "fold": pl.Int32, "click_mask": pl.Int64, "sessions": pl.Int64}
    return pl.DataFrame([(row[0], 0, *row[1:]) for row in rows], schema, orient="row")


LISTS = configurations(["a", "b", "c"], ["b", "a"], ["e"], ["a", "a", "d"])


def test_lists_become_codes_of_documents():
    log = click_log(
        LISTS, patterns(("c0", 0b101, 3), ("c1", 0b10, 2), ("c2", 0, 4), ("c3", 0b010, 1)), depth=3
    )
    assert log.lists.tolist() == [[0, 1, 2], [1, 0, NO_DOCUMENT], [3, NO_DOCUMENT, NO_DOCUMENT], [0, 0, 4]]
    assert log.documents["url"].to_list() == ["a", "b", "c", "e", "d"]
    assert list(zip(log.rows.tolist(), log.masks.tolist(), log.sessions.tolist(), strict=True)) == [
        (0, 0b101, 3), (1, 0b10, 2), (2, 0, 4), (3, 0b010, 1),
    ]  # fmt: skip
    assert log.last_clicks().tolist() == [3, 2, 0, 2]
    sessions, clicks = log.by_list()
    assert sessions.tolist() == [3, 2, 4, 1]
    assert clicks.tolist() == [[3, 0, 3], [0, 2, 0], [0, 0, 0], [0, 1, 0]]


def test_the_same_url_of_another_market_is_another_document():
    log = click_log(
        configurations(["a"], ["a"], markets=["de", "fr"]), patterns(("c0", 1, 1), ("c1", 0, 1)), depth=1
    )
    assert log.lists.tolist() == [[0], [1]]


def test_a_cut_adds_up_patterns_that_become_the_same():
    log = click_log(LISTS, patterns(("c0", 0b101, 3), ("c0", 0b001, 4), ("c0", 0b110, 5)), depth=2)
    assert list(zip(log.masks.tolist(), log.sessions.tolist(), strict=True)) == [(0b01, 7), (0b10, 5)]
    assert log.lists.shape == (4, 2)


def test_patterns_of_other_lists_are_left_out():
    log = click_log(LISTS, patterns(("c0", 1, 3), ("other", 1, 9)), depth=3)
    assert log.sessions.tolist() == [3]


def test_the_deepest_list_has_a_bit_for_each_result():
    urls = [f"u{place}" for place in range(62)]
    log = click_log(configurations(urls), patterns(("c0", 1 << 61, 1), ("c0", (1 << 62) - 1, 2)), depth=62)
    assert log.clicks[:, -1].all()
    assert log.last_clicks().tolist() == [62, 62]


@pytest.mark.parametrize(
    "row", [("c0", 0b1000, 1), ("c1", 0b100, 1), ("c2", 0b10, 1), ("c0", -1, 1), ("c0", 1, 0)]
)
def test_a_mask_that_does_not_fit_its_list_is_refused(row):
    with pytest.raises(
        ClickModelError, match=f"click_mask {row[1]} with sessions {row[2]} does not fit .*{row[0]}"
    ):
        click_log(LISTS, patterns(("c0", 1, 3), row), depth=2)


@pytest.mark.parametrize(
    ("results", "what"),
    [([], "no results"), (None, "no results"), ([None], "null among"), (["a", None], "null among")],
)
def test_a_list_that_is_empty_or_has_a_hole_is_refused(results, what):
    with pytest.raises(ClickModelError, match=f"configuration c1 has {what}.*; rebuild the pattern table"):
        click_log(configurations(["a"], results), patterns(("c0", 1, 3)), depth=1)


def test_a_table_without_sessions_is_refused():
    with pytest.raises(ClickModelError, match="no sessions to fit on"):
        click_log(LISTS, patterns(), depth=2)


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.2, 0.8))
def test_drawn_parts_add_up_to_the_whole(seed, share):
    log = random_log(np.random.default_rng(seed))
    split = split_sessions(log, share=share, seed=seed)
    counts = {}
    for part in (split.train, split.test):
        assert (part.sessions > 0).all()
        for row, mask, times in zip(part.rows, part.masks, part.sessions, strict=True):
            counts[row, mask] = counts.get((row, mask), 0) + times
    assert counts == {(r, m): n for r, m, n in zip(log.rows, log.masks, log.sessions, strict=True)}
    assert not split.by_users
    again = split_sessions(log, share=share, seed=seed)
    assert (again.test.sessions == split.test.sessions).all()


def test_the_share_held_out_is_the_one_asked_for():
    log = random_log(np.random.default_rng(1), patterns=3000)
    held_out = split_sessions(log, share=0.3, seed=1).test.sessions.sum() / log.sessions.sum()
    assert held_out == pytest.approx(0.3, abs=0.02)


def test_a_part_without_sessions_is_refused():
    log = click_log(LISTS, patterns(("c0", 1, 1)), depth=3)
    with pytest.raises(ClickModelError, match="there are no sessions"):
        split_sessions(log, share=0.5, seed=0)
    with pytest.raises(
        ClickModelError, match="no sessions held out; build the pattern table with fewer --folds"
    ):
        split_by_users(log, log.some(log.sessions > 1))


def test_sessions_to_fit_on_without_a_click_are_refused():
    log = click_log(LISTS, patterns(("c0", 0, 1500), ("c1", 0, 500)), depth=3)
    with pytest.raises(ClickModelError, match="2,000 sessions to fit on but no click"):
        split_by_users(log, click_log(LISTS, patterns(("c0", 1, 1)), depth=3))
    with pytest.raises(ClickModelError, match="but no click; nothing to fit"):
        split_sessions(log, share=0.5, seed=0)


def test_sessions_held_out_may_have_no_click():
    log = click_log(LISTS, patterns(("c0", 1, 1)), depth=3)
    of_others = click_log(LISTS, patterns(("c0", 0, 7)), depth=3)
    assert split_by_users(log, of_others).test.sessions.tolist() == [7]
