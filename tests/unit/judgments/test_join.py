"""Pattern table and judgments joined, worked by hand (the table is in tiny_table)."""

import hashlib

import pytest

from clickassay.patterns.digests import configuration_id
from support.logs.tiny_table import judged_at, judgment_rows, table_of


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()  # noqa: S324


def patterns_of(judged):
    return list(judged.patterns.select("n", "click_mask", "sessions").iter_rows())


def test_lists_that_the_cut_makes_the_same_become_one_configuration():
    judged = judged_at(2)
    assert judged.rows.to_dicts() == [
        {
            "market": "all",
            "query": "q",
            "results": ["a", "b"],
            "configuration_id": md5("all\x1fq\x1fa\x1fb"),
            "n": 0,
        }
    ]
    assert judged.grades.tolist() == [[3, 1]]
    assert patterns_of(judged) == [(0, 0, 5), (0, 1, 2), (0, 2, 4)]  # the click on third place is cut off


def test_what_is_too_short_and_what_lacks_a_grade_is_counted_separately():
    judged = judged_at(2)
    assert judged.too_short == {"all": 5}
    assert judged.not_judged == {"all": 7}


def test_at_the_stored_depth_each_list_stands_by_itself():
    judged = judged_at(3)
    assert judged.rows["results"].to_list() == [["a", "b", "c"]]
    assert judged.grades.tolist() == [[3, 1, 0]]
    assert patterns_of(judged) == [(0, 0, 3), (0, 1, 2), (0, 4, 1)]
    assert judged.too_short == {"all": 12}  # the lists a and x y
    assert judged.not_judged == {"all": 5}  # the list a b d


def test_at_depth_one_all_lists_are_long_enough():
    judged = judged_at(1)
    assert judged.rows["query"].to_list() == ["q", "r"]
    assert judged.grades.tolist() == [[3], [2]]
    assert patterns_of(judged) == [(0, 0, 14), (0, 1, 2), (1, 1, 7)]
    assert judged.too_short == {}
    assert sum(judged.not_judged.values()) == 0


def test_the_pool_counts_all_judgments_of_the_query_shown_or_not():
    assert judged_at(1).pool.tolist() == [[1, 1, 0, 1, 1], [0, 0, 1, 0, 0]]


def test_every_session_is_kept_or_counted_out():
    for depth in (1, 2, 3):
        judged = judged_at(depth)
        kept = judged.patterns["sessions"].sum()
        assert kept + sum(judged.too_short.values()) + sum(judged.not_judged.values()) == 23


def test_each_judge_has_a_grade_and_a_pool_of_its_own():
    rows = judgment_rows([("q", "a", 4), ("q", "b", 4), ("q", "a", 0)], judge=["editor", "editor", "model"])
    editor, model = judged_at(2, rows=rows, judge="editor"), judged_at(2, rows=rows, judge="model")
    assert editor.grades.tolist() == [[4, 4]]
    assert editor.pool.tolist() == [[0, 0, 0, 0, 2]]
    assert model.grades.tolist() == []
    assert model.not_judged == {"all": 18}


@pytest.mark.parametrize(
    ("by_market", "grades", "pools"),
    [(True, [[1], [2]], [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]), (False, [[2], [2]], [[0, 0, 1, 0, 0]] * 2)],
)
def test_judgments_with_markets_hold_for_their_market_only(by_market, grades, pools):
    table = table_of([("uk", "q", "a"), ("us", "q", "a")], [{0: 1}, {1: 1}])
    markets = ["uk", "us"] if by_market else ["all", "all"]
    rows = judgment_rows([("q", "a", 1), ("q", "a", 2)], market=markets)
    judged = judged_at(1, table, rows, by_market=by_market, conflicts="max")
    assert judged.rows["market"].to_list() == ["uk", "us"]
    assert judged.grades.tolist() == grades
    assert judged.pool.tolist() == pools


def test_without_a_judged_configuration_there_are_no_rows():
    judged = judged_at(2, rows=judgment_rows([("other", "a", 1)]))
    assert judged.rows.is_empty()
    assert judged.patterns.is_empty()
    assert (judged.grades.shape, judged.pool.shape) == ((0, 2), (0, 5))


def test_no_two_lists_of_texts_look_alike_when_joined():
    assert configuration_id("m", "q", ["a\x1fb"]) != configuration_id("m", "q", ["a", "b"])
    assert configuration_id("m", "q", ["a\\", "b"]) != configuration_id("m", "q", ["a", "\\b"])
