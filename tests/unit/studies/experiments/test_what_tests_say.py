"""Each sentence on past tests, in a world in which it is true and in one in which it would be false."""

import numpy as np
import polars as pl
import pytest

import clickassay as ca
from clickassay.studies.experiments.order import detectable


def sheet(users, ndcg, **columns):
    """Return a sheet of tests with errors of 0.1."""
    names = [f"t{at:03d}" for at in range(len(users))]
    given = {"experiment": names, "difference": np.asarray(users, float), "NDCG": np.asarray(ndcg, float)}
    return pl.DataFrame(given | {"error": 0.1} | columns)


def noise(seed, number=24):
    return np.random.default_rng(seed).standard_normal(number)


def told(frame, **options):
    found = ca.experiments(frame, current="NDCG", **options)
    text = "\n".join(map(str, found.facts["sentences"]))
    return found, found.answer, text


def test_a_metric_that_follows_users():
    found, answer, text = told(sheet(noise(0), noise(0) + 0.2 * noise(1)))
    row = found.found.row
    assert answer == "NDCG tells better tests from worse"
    said = (
        f"Of two tests, NDCG prefers the one that did better in {100 * row['in_order']:.0f}% of pairs (95% CI"
    )
    assert said in text
    assert "a coin gets 50% (24 tests)." in text
    assert "keep testing" in text
    assert "Caution" not in text


def test_a_metric_that_opposes_them():
    _, answer, text = told(sheet(noise(0), -noise(0)))
    assert answer == "NDCG prefers the worse of two tests"
    assert "treatment minus control" in text
    assert "keep testing" not in text


def test_a_metric_like_a_coin_and_one_of_which_nothing_is_known():
    _, answer, text = told(sheet(noise(3, 400), noise(4, 400)))
    assert answer == "NDCG orders these tests hardly better than a coin"
    assert "clickassay run --current NDCG" in text.replace("`", "")
    _, answer, text = told(sheet(noise(5, 12), noise(6, 12)))
    assert answer == "Inconclusive: does NDCG tell better tests from worse?"
    assert f"12 groups of tests detect {100 * detectable(12):.0f}% or more (power 80%)" in text
    assert "hardly better" not in answer


def test_a_share_just_above_a_coin_is_said_to_be():
    found, answer, _ = told(sheet(noise(3, 1000), noise(3, 1000) * 0.15 + noise(4, 1000)))
    assert 0.5 < found.found.row["ci_low"] < found.found.row["ci_high"] < 0.6
    assert answer == "NDCG barely tells better tests from worse"


def test_too_few_tests_have_calls_alone_and_say_how_many_more():
    _, answer, text = told(sheet([1, 2, -1, 3], [1, 1, -1, 1]))
    assert answer == "Too few tests to know whether NDCG tells better from worse"
    assert "add 6 more tests of other ideas: the order of tests needs 10 groups, and there are 4" in text
    assert "of pairs" not in text
    assert "Of these 4, NDCG called 3 better (3 were) and 1 worse (1 was): 4 right." in text
    _, _, text = told(sheet([1], [1]))
    assert "there is 1." in text
    assert "NDCG called this test better; it was better." in text
    _, _, text = told(sheet([0, -1], [1, 0]))
    assert "NDCG called this test neither better nor worse; it was worse." in text
    _, _, text = told(sheet([1, -1], [None, 1]))
    assert "NDCG called the one with a value of NDCG better; it was worse." in text
    _, _, text = told(sheet(noise(0), noise(0), group="one idea"))
    assert "add 9 more tests of other ideas" in text


def test_groups_are_named_where_they_are_the_units():
    ideas = [f"i{at % 12}" for at in range(24)]
    _, _, text = told(sheet(noise(0), noise(0), group=ideas))
    assert "(24 tests, intervals by 12 groups)" in text


def test_which_tests_moved_and_how_they_were_called():
    users = [5, 4, 3, -3, -4, 0.01, 0.02, -0.01, 0.03, 0, 2, -2]
    ndcg = [1, 1, -1, -1, 1, 1, -1, 1, 1, -1, 0, -1]
    _, _, text = told(sheet(users, ndcg))
    assert "7 of 12 tests significantly changed what users did" in text
    said = "Of these 7, NDCG called 3 better (2 were) and 3 worse (2 were), 1 neither: 4 right."
    assert f"{said} For comparison: always saying “better” 4." in text
    _, _, text = told(sheet(np.array(users) / 1000, ndcg))
    assert "0 of 12 tests significantly changed" in text
    assert "Of these" not in text


def test_where_all_were_called_better_its_warnings_were_never_tested():
    users = np.abs(noise(2)) + 0.5
    users[0] = -1
    _, _, text = told(sheet(users, 0.1 * np.abs(noise(3)) + users.clip(0)))
    assert "Of these 24, NDCG called all better, and 23 were: always saying “better” gets as many" in text
    assert "test a change that NDCG dislikes" in text
    ndcg = np.where(np.arange(24) == 1, -1, 1) * (np.abs(noise(3)) + users.clip(0))
    assert "called all" not in told(sheet(users, ndcg))[2]


def test_other_metrics_are_better_equal_or_unknown():
    users = noise(0, 80)
    frame = sheet(users, noise(1, 80), GOOD=users + 0.1 * noise(2, 80), SAME=noise(1, 80), ODD=noise(9, 80))
    _, _, text = told(frame)
    assert "GOOD orders tests significantly better than NDCG: " in text
    assert "Within 5 points of NDCG: SAME." in text
    assert "These tests cannot tell ODD from NDCG." in text  # no word on 50 tests: there are 80
    few = told(frame.head(20), metric=["NDCG", "ODD"])[2]
    assert "These tests cannot tell ODD from NDCG; with fewer than 50 that is usual." in few
    assert "Within" not in told(frame, metric=["NDCG", "ODD"])[2]
    assert "These tests" not in told(frame, metric=["NDCG", "SAME"])[2]


def test_a_wider_margin_counts_more_metrics_as_equal():
    users = noise(0, 80)
    frame = sheet(users, users + noise(1, 80), ERR=users + noise(1, 80) + 0.3 * noise(2, 80))
    assert "cannot tell ERR" in told(frame, margin=0.1)[2]
    assert "Within 40 points of NDCG: ERR" in told(frame, margin=40)[2]


def test_boldness_is_a_caution_only_where_it_does_as_well():
    bold = np.random.default_rng(7).random(40)
    frame = sheet(bold + 0.05 * noise(1, 40), bold + 0.05 * noise(2, 40), changed=bold)
    _, answer, text = told(frame)
    assert answer == "NDCG tells better tests from worse"
    assert "Caution: the share of rankings that changed orders tests as well" in text
    assert "test a change that NDCG dislikes" in text
    apart = frame.with_columns(changed=pl.Series(np.random.default_rng(1).random(40)))
    assert "Caution" not in told(apart)[2]


def test_what_was_left_out_is_counted_and_named():
    frame = sheet(noise(0), noise(0)).with_columns(
        error=pl.when(pl.int_range(pl.len()) < 3).then(0.0).otherwise(0.1),
        difference=pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("difference"),
        NDCG=pl.when(pl.int_range(pl.len()) == 6).then(None).otherwise("NDCG"),
    )
    _, _, text = told(frame)
    assert "3 tests without a usable error: only the order of tests includes them." in text
    assert "Excluded, without a difference of users: t005." in text
    assert "1 test without a value of NDCG excluded." in text
    assert "of 20 tests significantly changed" in text
    assert "with a value of NDCG, NDCG called" in text
    whole = told(sheet(noise(0), noise(0)))[2]
    assert "excluded" not in whole.lower()
    none = told(sheet(noise(0), noise(0)).drop("error"))[2]
    assert "No test has a usable error or p-value" in none


def test_a_metric_that_never_differs_is_said_to():
    _, answer, text = told(sheet(noise(0), np.full(24, 0.5)))
    assert answer == "NDCG cannot order these tests: the metric has one and the same difference in all tests"
    assert "Next: correct the column NDCG" in text


def test_an_interval_that_ends_near_a_coin_is_said_to_a_decimal():
    found, _, text = told(sheet(noise(0), noise(0) + noise(12)))
    low = 100 * found.found.row["ci_low"]
    assert round(low) == 50, "the world of this test is another"
    assert f"(95% CI {low:.1f} to" in text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "=1+1", "a|b", "\x1b[31mred"])
def test_names_of_a_sheet_are_data_on_every_face(tmp_path, name):
    frame = (
        sheet(noise(0), noise(0))
        .rename({"NDCG": name})
        .with_columns(
            experiment=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(name)).otherwise("experiment")
        )
    )
    found = ca.experiments(frame)
    found.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page + found._repr_html_()
    assert "\x1b" not in page + repr(found)
    lines = (tmp_path / "out" / "tables" / "experiments.csv").read_text(encoding="utf-8").splitlines()
    assert not any(cell.startswith(("=", '"=')) for line in lines for cell in line.split(","))
