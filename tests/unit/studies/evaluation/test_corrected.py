"""Means of a judge corrected by people: against leaving queries out in a plain loop, and by laws."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clickassay.core.errors import NothingInCommonError
from clickassay.studies.evaluation.correcting.corrected import FEW_BOTH, MIN_BOTH, corrected_means
from clickassay.studies.evaluation.evaluate import evaluate


def world(seed, queries=300, both=40, error=0.15):
    """Values of two measures by people and by a generous judge, and the queries that people judged."""
    rng = np.random.default_rng(seed)
    people = rng.beta(0.7, 0.9, (queries, 2))
    judge = np.clip(people + 0.2 + error * rng.standard_normal(people.shape), 0, 1)
    return judge, people, np.sort(rng.choice(queries, both, replace=False))


def estimated(judge, people, both):
    """The corrected mean of one measure, from NumPy's line through the queries of both."""
    slope, _ = np.polyfit(judge[both], people[both], 1)
    return people[both].mean() + slope * (judge.mean() - judge[both].mean()), slope


def by_leaving_out(judge, people, both):
    """Value, and ends of the interval, with a line for each query that is left out."""
    value, slope = estimated(judge, people, both)
    left = [estimated(judge, people, np.delete(both, at))[0] - value for at in range(len(both))]
    n, deviations = len(both), np.array(left) - np.mean(left)
    of_line = (n - 1) / n * (deviations**2).sum()
    kurtosis = (deviations**4).sum() / (deviations**2).sum() ** 2
    degrees = 2 / max(kurtosis - 1 / n, 2 / (n - 1))
    of_judge = slope**2 * judge.var(ddof=1) / len(judge)
    together = (of_line + of_judge) ** 2 / (of_line**2 / degrees + of_judge**2 / (len(judge) - 1))
    half = stats.t.ppf(0.975, together) * np.sqrt(of_line + of_judge)
    return value, value - half, value + half


@pytest.mark.parametrize("seed", range(8))
def test_values_and_intervals_are_those_of_a_plain_loop(seed):
    judge, people, both = world(seed)
    found = corrected_means(judge, people[both], both)
    for place in range(2):
        plain = by_leaving_out(judge[:, place], people[:, place], both)
        assert (found.value[place], found.low[place], found.high[place]) == pytest.approx(plain, abs=1e-9)


def test_worth_is_how_many_queries_of_people_alone_would_be_as_precise():
    judge, people, both = world(1)
    found = corrected_means(judge, people[both], both)
    value, _, high = by_leaving_out(judge[:, 0], people[:, 0], both)
    alone = people[both, 0].std(ddof=1)
    # the half-width is t times the error, and t lies between those of 39 degrees and of infinitely many
    least, most = (alone / ((high - value) / stats.t.ppf(0.975, df)) for df in (1e9, 20))
    assert least**2 <= found.worth[0] <= most**2
    assert found.worth[0] > 2 * len(both)


def test_a_judge_who_is_right_needs_no_correction():
    _, people, both = world(2)
    found = corrected_means(people, people[both], both)
    assert found.value == pytest.approx(people.mean(axis=0))
    assert found.weight == pytest.approx([1, 1])
    assert np.stack([found.low, found.high]) == pytest.approx(found.judge[1:], abs=1e-9)


@pytest.mark.parametrize("judge", [np.full((300, 2), 0.7), np.eye(300)[:, [3, 5]] + 0.5])
def test_a_judge_who_tells_nothing_leaves_the_mean_by_people(judge):
    _, people, both = world(3)
    both = np.union1d(both, [3, 5])  # of the second judge each measure varies with one query alone
    found = corrected_means(judge, people[both], both)
    assert (found.weight == 0).all()
    assert found.value == pytest.approx(people[both].mean(axis=0))
    assert found.worth == pytest.approx([len(both)] * 2)


@given(st.integers(0, 1000), st.floats(0.2, 5), st.floats(-3, 3))
def test_another_unit_and_zero_of_the_judge_change_nothing(seed, unit, zero):
    judge, people, both = world(seed)
    found, again = (corrected_means(one, people[both], both) for one in (judge, unit * judge + zero))
    for name in ("value", "low", "high", "p_value", "worth", "selection"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), rel=1e-6, abs=1e-9)


@given(st.integers(0, 1000))
def test_the_difference_of_two_runs_changes_its_sign_with_their_order(seed):
    judge, people, both = world(seed)
    one, two = (corrected_means(sign * judge, sign * people[both], both) for sign in (1, -1))
    assert two.value == pytest.approx(-one.value)
    assert two.low == pytest.approx(-one.high)
    assert two.p_value == pytest.approx(one.p_value)


def test_with_fewer_than_twenty_queries_of_both_there_is_no_interval():
    judge, people, both = world(4)
    few = both[: MIN_BOTH - 1]
    found = corrected_means(judge, people[few], few)
    assert np.isfinite(found.value).all()
    assert np.isnan([found.low, found.high, found.p_value, found.worth]).all()
    none = corrected_means(judge, people[:0], both[:0])
    assert np.isnan(none.value).all()


def test_queries_that_people_chose_are_found_to_be_unlike_the_others():
    judge, people, both = world(5)
    assert (corrected_means(judge, people[both], both).selection > 0.01).all()
    best = np.sort(np.argsort(judge[:, 0])[100:240:3])
    chosen = corrected_means(judge, people[best], best).selection
    plain = stats.ttest_ind(judge[best, 0], np.delete(judge[:, 0], best), equal_var=False).pvalue
    assert chosen[0] == pytest.approx(plain, rel=1e-6)
    assert chosen[0] < 1e-3


def test_intervals_hold_the_truth_in_most_worlds_where_the_judge_alone_never_does():
    held = [0, 0]
    for seed in range(300):
        judge, people, both = world(seed, queries=200)
        found = corrected_means(judge, people[both], both)
        truth = stats.beta(0.7, 0.9).mean()
        held[0] += found.low[0] <= truth <= found.high[0]
        held[1] += found.judge[1, 0] <= truth <= found.judge[2, 0]
    assert held[0] >= 0.92 * 300
    assert held[1] <= 0.05 * 300


# ---- rankings -------------------------------------------------------------------------------------


def judged(queries=60, people=25, *, missing=()):
    """Judgments of a model for all queries and of people for some, and two runs."""
    rng = np.random.default_rng(7)
    grades = rng.integers(0, 4, (queries, 8))
    off = np.clip(grades + rng.integers(0, 2, grades.shape), 0, 4)
    rows = [(f"q{q:02d}", f"d{d}", q, d) for q in range(queries) for d in range(8)]
    model = pl.DataFrame([(q, d, int(off[i, j])) for q, d, i, j in rows], orient="row",
                         schema=["query", "doc", "grade"])  # fmt: skip
    some = [(q, d, int(grades[i, j])) for q, d, i, j in rows if i < people and j not in missing]
    by_people = pl.DataFrame(some, schema=model.schema, orient="row")
    runs = {}
    for name, step in (("old", 3), ("new", 5)):
        listed = [(q, d, float(-(j * step % 8))) for q, d, _, j in rows]
        runs[name] = pl.DataFrame(listed, schema=["query", "doc", "score"], orient="row")
    return by_people, runs, model


def test_rankings_are_corrected_as_their_values_are():
    people, runs, model = judged()
    found = evaluate(people, runs, "nDCG@5 RR", judge=model)
    by_model, by_people = (evaluate(grades, runs, "nDCG@5 RR") for grades in (model, people))

    def values(of, run, measure):
        return of.per_query.filter(run=run, measure=str(measure))["value"].to_numpy()

    both = np.arange(25)
    for measure in found.measures:
        one, two = (values(by_model, run, measure)[:, None] for run in ("old", "new"))
        own, other = (values(by_people, run, measure)[:, None] for run in ("old", "new"))
        row = found.corrected_means.filter(run="new", measure=str(measure)).row(0, named=True)
        wanted = corrected_means(two, other, both)
        assert row["value"] == pytest.approx(wanted.value[0])
        assert row["ci_low"] == pytest.approx(max(wanted.low[0], 0))
        assert (row["judge"], row["people"]) == pytest.approx((two.mean(), other.mean()))
        assert (row["n_queries"], row["n_both"], row["reason"]) == (60, 25, None)
        pair = found.corrected_comparisons.filter(measure=str(measure)).row(0, named=True)
        difference = corrected_means(two - one, other - own, both)
        assert (pair["baseline"], pair["run"]) == ("old", "new")
        assert (pair["value"], pair["p_value"]) == pytest.approx((difference.value[0], difference.p_value[0]))
        assert pair["p_holm"] >= pair["p_value"]
    assert found.means.equals(by_people.means)


def test_without_a_judge_nothing_is_corrected():
    people, runs, _ = judged()
    found = evaluate(people, runs, "RR")
    assert found.corrected_means.is_empty()
    assert found.corrected_comparisons.is_empty()


def test_too_few_queries_of_both_have_the_reason_in_place_of_an_interval():
    people, runs, model = judged(people=12)
    rows = evaluate(people, runs, "RR", judge=model).corrected_means
    assert rows["ci_low"].null_count() == rows.height
    assert set(rows["reason"]) == {FEW_BOTH}


def test_what_people_left_without_a_grade_is_said():
    people, runs, model = judged(missing=(0, 3))
    cautions = " ".join(evaluate(people, runs, "nDCG@5", judge=model).cautions)
    assert "people graded 60 % and the judge 100.0 %" in cautions.replace("60.0", "60")
    assert "people graded" not in " ".join(evaluate(*judged()[:2], "nDCG@5", judge=model).cautions)


def test_queries_that_the_judge_lacks_are_counted():
    people, runs, model = judged()
    found = evaluate(people, runs, "RR", judge=model.filter(pl.col("query") != "q03"))
    assert "1 query judged by people has no grade by the judge: not used." in found.cautions
    assert set(found.corrected_means["n_both"]) == {24}


def test_a_judge_of_other_queries_is_refused():
    people, runs, model = judged()
    with pytest.raises(NothingInCommonError):
        evaluate(people, runs, "RR", judge=model.with_columns(query="x" + pl.col("query")))


def test_json_has_what_is_corrected_only_with_a_judge(tmp_path):
    from clickassay.studies.evaluation.job import EvaluationOptions, as_json, evaluate_files

    people, runs, model = judged()
    for name, frame in (("people", people), ("model", model), ("old", runs["old"])):
        frame.write_csv(tmp_path / f"{name}.csv")
    for judge, expected in (
        (None, set()),
        (tmp_path / "model.csv", {"corrected_means", "corrected_comparisons"}),
    ):
        options = EvaluationOptions("RR", judge=judge)
        result = evaluate_files(tmp_path / "people.csv", [tmp_path / "old.csv"], options)
        told = json.loads(as_json(result, per_query=False))
        assert {name for name in told if name.startswith("corrected")} == expected
