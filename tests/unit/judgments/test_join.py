"""Pattern table and judgments joined, worked by hand (the table is in tiny_table)."""

import hashlib

from clickassay.patterns.digests import configuration_id
from support.logs.tiny_table import judged_at, judgment_rows


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()  # noqa: S324


def patterns_of(judged):
    return list(judged.patterns.select("n", "click_mask", "sessions").iter_rows())


def test_without_a_judged_configuration_there_are_no_rows():
    judged = judged_at(2, rows=judgment_rows([("other", "a", 1)]))
    assert judged.rows.is_empty()
    assert judged.patterns.is_empty()
    assert (judged.grades.shape, judged.pool.shape) == ((0, 2), (0, 5))


def test_no_two_lists_of_texts_look_alike_when_joined():
    assert configuration_id("m", "q", ["a\x1fb"]) != configuration_id("m", "q", ["a", "b"])
    assert configuration_id("m", "q", ["a\\", "b"]) != configuration_id("m", "q", ["a", "\\b"])
