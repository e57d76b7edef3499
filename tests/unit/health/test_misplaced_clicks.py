"""A click log whose `position` names another result than its `url`."""

import polars as pl
import pytest

from clickassay.health.checks import BY_NAME
from clickassay.health.log_checks import _click_checks


@pytest.mark.parametrize(("misplaced", "share"), [(0, 0.0), (2, 0.01), (3, 0.015)])
def test_the_share_of_kept_clicks_whose_position_is_of_another_result_is_measured(misplaced, share):
    rows = [
        *(("clicks", 0, "read", 250), ("clicks", 0, "unmatched", 50), ("clicks", 0, "kept", 200)),
        *(("clicks", 5, "in patterns", 200), ("positions", 0, "misplaced", misplaced)),
    ]
    funnel = pl.DataFrame(rows, schema=["source", "depth", "step", "rows"], orient="row")
    funnel = funnel.with_columns(reason=pl.lit(""))
    found = {one.name: one for one in _click_checks(funnel)}["misplaced_clicks"]
    assert found.value == share
    assert f"({misplaced} of 200)" in found.sentence
    assert (share > BY_NAME["misplaced_clicks"].threshold) == (misplaced == 3)
