"""What the page on method says of false examples of the cascade effect, against the committed result."""

import re

import polars as pl

from support.places import ROOT

RESULT = ROOT / "reports" / "calibration" / "cascade_effects.csv"


def test_the_method_states_the_rates_of_the_committed_result():
    found = pl.read_csv(RESULT)
    none, there = (found.filter(effect=effect) for effect in (False, True))
    text = " ".join((ROOT / "docs/explanation/method.md").read_text(encoding="utf-8").split())
    (stated,) = re.findall(
        r"Of ([\d,]+) simulated logs without the effect, ([\d.]+) % have a row, at most "
        r"([\d.]+) % of a kind; pairs without the test of all queries would give one in "
        r"([\d.]+) to ([\d.]+) %\. "
        r"With the effect, ([\d.]+) to ([\d.]+) % of logs of 100 queries have one, "
        r"([\d.]+) to ([\d.]+) % of 20\.",
        text,
    )
    large, small = (there.filter(queries=size)["any_example"] for size in (100, 20))
    shares = [
        (none["any_example"] * none["logs"]).sum() / none["logs"].sum(),
        none["any_example"].max(), none["any_pair"].min(), none["any_pair"].max(),
        large.min(), large.max(), small.min(), small.max(),
    ]  # fmt: skip
    assert int(stated[0].replace(",", "")) == none["logs"].sum()
    assert list(stated[1:]) == [f"{100 * share:.1f}" for share in shares]


def test_a_null_log_seldom_passes_the_result_that_is_committed():
    none = pl.read_csv(RESULT).filter(effect=False)
    assert (none["any_example"] * none["logs"]).sum() <= 0.04 * none["logs"].sum()
