"""What is promised of held-out rankings, against the committed result."""

import polars as pl

from support.places import ROOT

FOUND = pl.read_csv(ROOT / "reports" / "calibration" / "held_out_rankings.csv")
DENSE, THIN = (FOUND.filter(log=one) for one in ("dense", "thin"))


def over_worlds(frame, name):
    """Return the share over all worlds of the cells."""
    return (frame[name] * frame["worlds"]).sum() / frame.filter(pl.col(name).is_not_null())["worlds"].sum()


def test_every_kind_of_users_was_measured_dense_and_thin_at_three_sizes():
    assert FOUND["users"].unique().sort().to_list() == ["cascade", "first result", "no model", "positions"]
    assert FOUND["queries"].unique().sort().to_list() == [20, 100, 500]
    assert (DENSE.height, THIN.height) == (12, 12)


def test_the_model_that_users_follow_is_chosen_or_one_that_predicts_as_well():
    assert over_worlds(DENSE, "right") >= 0.95
    followed = DENSE.filter(pl.col("users").is_in(["cascade", "positions"]))
    assert followed["right"].min() >= 0.95
    assert over_worlds(followed, "cannot_tell") <= 0.05


def test_intervals_hold_the_truth():
    for name in ("correlation", "slope"):
        assert 0.93 <= over_worlds(FOUND, name) <= 0.98, name
    assert over_worlds(DENSE, "choice") >= 0.9


def test_thin_logs_are_refused():
    assert over_worlds(THIN, "cannot_tell") >= 0.95


def test_ips_has_a_value_where_examination_depends_on_position_alone():
    assert FOUND.filter(users="cascade")["ips"].max() <= 0.05
    large = DENSE.filter(pl.col("queries") >= 100, users="positions")
    assert large["ips"].min() >= 0.95


def test_the_page_states_the_figures_of_the_committed_result():
    page = (ROOT / "docs/reference/click-models.md").read_text(encoding="utf-8")
    shares = over_worlds(DENSE, "right"), over_worlds(FOUND, "correlation"), over_worlds(FOUND, "slope")
    right, correlation, slope = (f"{100 * share:.1f}%" for share in shares)
    assert f"was chosen in {right} of dense logs" in page
    assert f"the correlation held the truth in {correlation}, of the slope in {slope}" in page
    assert f"{100 * over_worlds(THIN, 'cannot_tell'):.1f}% of thin logs were refused" in page
    assert FOUND.filter(users="cascade", log="dense")["worlds"].to_list() == [300, 150, 60]
