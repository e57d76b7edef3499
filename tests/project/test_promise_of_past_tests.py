"""What pages say of past tests, against the committed result, and the promises themselves."""

import re

import polars as pl

from support.places import ROOT

FOUND = pl.read_csv(ROOT / "reports" / "calibration" / "past_tests.csv")
UNRELATED = FOUND.filter((pl.col("truth") - 0.5).abs() < 0.01)


def test_every_cell_keeps_the_promises():
    assert (FOUND["world"].n_unique(), FOUND["groups"].unique().to_list()) == (12, [10, 20, 50])
    assert (FOUND.height, UNRELATED.height, FOUND["worlds"].unique().to_list()) == (36, 18, [1000])
    assert FOUND["cover"].is_between(0.93, 0.98).all()
    assert UNRELATED["beside_coin"].max() <= 0.07
    assert FOUND["moved_falsely"].max() <= 0.08
    assert FOUND["family"].max() <= 0.05


def test_pages_state_the_figures_of_the_committed_result():
    text = " ".join((ROOT / "docs/explanation/method.md").read_text(encoding="utf-8").split())
    (stated,) = re.findall(
        r"held the truth in ([\d.]+) to ([\d.]+)%; without a relation they excluded ½ in at most ([\d.]+)%; "
        r"at most ([\d.]+)% of the tests .*? in at most ([\d.]+)%\. .*? calls were right in (\d+)% without",
        text,
    )
    shares = [FOUND["cover"].min(), FOUND["cover"].max(), UNRELATED["beside_coin"].max()]
    shares += [FOUND["moved_falsely"].max(), FOUND["family"].max()]
    assert list(stated[:5]) == [f"{100 * share:.1f}" for share in shares]
    gated = FOUND.filter(world="gated")["calls_right"]
    assert {f"{100 * share:.0f}" for share in gated} == {stated[5]}
    guide = (ROOT / "docs/how-to/past-tests.md").read_text(encoding="utf-8")
    assert f"is true of {stated[5]}% of the tests that moved users" in guide
