"""The arms of A/B tests on Spark: what plain Python finds, at once and in a store."""

import pytest

from agreement.test_arms_of_a_log import as_rows, given, store_of, table_of
from support.tiers import first


@pytest.mark.parametrize("seed", first(1, (6, 3, 14, 9)))
def test_arms_are_those_of_plain_python(spark, seed, tmp_path):
    log = given(seed, tmp_path)
    assert as_rows(table_of("spark", log, tmp_path / "made")) == log.expected


@pytest.mark.thorough
def test_a_store_in_two_runs_holds_the_arms_of_the_whole_log(spark, tmp_path):
    log = given(9, tmp_path)
    assert as_rows(store_of("spark", log, tmp_path).table()) == log.expected
