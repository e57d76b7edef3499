"""Means of a judge corrected by people: against leaving queries out in a plain loop, and by laws."""

import numpy as np
import polars as pl
import pytest
import truescore
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clickassay.core.errors import NothingInCommonError
from clickassay.studies.evaluation.corrected import (
    FEW_BOTH,
    MIN_BOTH,
    OTHER_QUERIES,
    UNGRADED,
    corrected_means,
)
from clickassay.studies.evaluation.evaluate import evaluate
from clickassay.studies.evaluation.report import evaluation_tables
from support.one_correlation import jackknife


def world(seed, queries=300, both=40, error=0.15):
    """Values of two measures by people and by a generous judge, and the queries that people judged."""
    rng = np.random.default_rng(seed)
    people = rng.beta(0.7, 0.9, (queries, 2))
    judge = np.clip(people + 0.2 + error * rng.standard_normal(people.shape), 0, 1)
    return judge, people, np.sort(rng.choice(queries, both, replace=False))


REACH = np.ones(2)


def estimated(judge, people, both):
    """The corrected mean of a measure, from NumPy's line through the queries of both and two at the ends."""
    f, h = judge[both], people[both]
    ends = np.array([-1, 1]) + f.mean()
    slope, _ = np.polyfit([*f, *ends], [*h, h.mean(), h.mean()], 1)
    return h.mean() + slope * (judge.mean() - f.mean()), slope


def by_leaving_out(judge, people, both):
    """Value, ends of the interval and slope, with a line for each query that is left out."""
    value, slope = estimated(judge, people, both)
    n = len(both)
    error, degrees = jackknife([estimated(judge, people, np.delete(both, at))[0] for at in range(n)])
    of_line = error**2
    of_judge = slope**2 * judge.var(ddof=1) / len(judge)
    of_ends = 2 * (slope / n) ** 2
    together = (of_line + of_judge + of_ends) ** 2 / (
        of_line**2 / degrees + of_judge**2 / (len(judge) - 1) + of_ends**2 / (n - 1)
    )
    half = stats.t.ppf(0.975, together) * np.sqrt(of_line + of_judge + of_ends)
    return value, value - half, value + half, slope


@pytest.mark.parametrize("seed", range(8))
def test_values_and_intervals_are_those_of_a_plain_loop(seed):
    judge, people, both = world(seed)
    found = corrected_means(judge, people[both], both, REACH)
    for place in range(2):
        plain = by_leaving_out(judge[:, place], people[:, place], both)
        ours = found.value[place], found.low[place], found.high[place], found.weight[place]
        assert ours == pytest.approx(plain, abs=1e-9)
        _, low, high, _ = plain
        alone = stats.ttest_1samp(people[both, place], 0).confidence_interval()
        worth = len(both) * ((alone.high - alone.low) / (high - low)) ** 2
        assert found.worth[place] == pytest.approx(worth, rel=1e-6)
        assert worth > len(both)


def rarely_wrong(kind, share, rng, queries=20_000):
    """Values by people, of which a part are 0 or 1, and by a judge who is right but in a share of queries."""
    people = np.where(rng.random(queries) < 0.3, rng.integers(0, 2, queries), rng.beta(2, 2, queries))
    wrong = rng.random(queries) < share
    return people, np.where(wrong, {"turned": 1 - people, "top": 1.0, "bottom": 0.0}[kind], people)


@pytest.mark.parametrize("kind", ["turned", "top", "bottom"])
@pytest.mark.parametrize(("share", "number"), [(0.01, 40), (0.05, 20), (0.05, 40), (0.1, 20)])
def test_intervals_hold_where_a_judge_errs_rarely_and_much_and_are_no_wider_than_by_people(
    kind, share, number
):
    rng = np.random.default_rng(number)
    people, judge = rarely_wrong(kind, share, rng)
    drawn = rng.integers(0, len(people), (500, 150))  # 150 samples at once: as measures of one
    found = corrected_means(judge[drawn], people[drawn][:number], np.arange(number), np.ones(150))
    held = (found.low <= people.mean()) & (people.mean() <= found.high)
    wider = (found.high - found.low) / (found.people[2] - found.people[1])
    assert held.mean() >= 0.93
    assert np.quantile(wider, 0.95) < 1.05


@pytest.mark.parametrize("judge", [np.full((300, 2), 0.7), np.eye(300)[:, [3, 5]] + 0.5])
def test_a_judge_who_tells_nothing_leaves_the_mean_by_people(judge):
    _, people, both = world(3)
    both = np.union1d(both, [3, 5])  # of the second judge each measure varies with one query alone
    found = corrected_means(judge, people[both], both, REACH)
    assert found.weight == pytest.approx([0, 0], abs=0.25)
    assert found.value == pytest.approx(people[both].mean(axis=0), abs=0.01)
    assert found.worth == pytest.approx([len(both)] * 2, rel=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_corrected_means_are_those_of_truescore(seed):
    rng = np.random.default_rng(seed)
    people = rng.beta(0.7, 0.9, 1_000)
    judge = np.clip(people + 0.15 + 0.15 * rng.standard_normal(1_000), 0, 1)
    both = np.sort(rng.choice(1_000, 100, replace=False))
    found = corrected_means(judge[:, None], people[both, None], both, np.full(1, 0.01))
    # theirs weighs the mean of the queries that the judge alone judged, ours that of all its queries
    plain = truescore.ppi_estimate(judge, people[both], both, lambda_=found.weight[0] * 0.9)
    assert found.value[0] == pytest.approx(plain.point)
    # and takes the normal distribution for the interval
    assert found.high[0] - found.low[0] == pytest.approx(plain.high - plain.low, rel=0.08)


@given(st.integers(0, 1000), st.floats(0.2, 5), st.floats(-3, 3))
def test_another_unit_of_the_measure_is_one_of_the_numbers_and_a_generous_judge_loses_nothing(
    seed, unit, zero
):
    judge, people, both = world(seed)
    found = corrected_means(judge, people[both], both, REACH)
    again = corrected_means(unit * judge + zero, unit * people[both], both, unit * REACH)
    for name in ("value", "low", "high"):
        assert getattr(again, name) == pytest.approx(unit * getattr(found, name), rel=1e-6, abs=1e-9)
    for name in ("p_value", "weight", "worth", "selection"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), rel=1e-6, abs=1e-9)


@given(st.integers(0, 1000))
def test_the_difference_of_two_runs_changes_its_sign_with_their_order(seed):
    judge, people, both = world(seed)
    one, two = (corrected_means(sign * judge, sign * people[both], both, REACH) for sign in (1, -1))
    assert two.value == pytest.approx(-one.value)
    assert two.low == pytest.approx(-one.high)
    assert two.p_value == pytest.approx(one.p_value)


def test_with_fewer_than_twenty_queries_of_both_there_is_no_interval():
    judge, people, both = world(4)
    few = both[: MIN_BOTH - 1]
    found = corrected_means(judge, people[few], few, REACH)
    assert np.isfinite(found.value).all()
    assert np.isnan([found.low, found.high, found.p_value, found.worth]).all()
    none = corrected_means(judge, people[:0], both[:0], REACH)
    assert np.isnan(none.value).all()


def test_queries_that_people_chose_are_found_to_be_unlike_the_others():
    judge, people, both = world(5)
    assert (corrected_means(judge, people[both], both, REACH).selection > 0.01).all()
    best = np.sort(np.argsort(judge[:, 0])[100:240:3])
    chosen = corrected_means(judge, people[best], best, REACH).selection
    plain = stats.ttest_ind(judge[best, 0], np.delete(judge[:, 0], best), equal_var=False).pvalue
    assert chosen[0] == pytest.approx(plain, rel=1e-6)
    assert chosen[0] < 1e-3


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
        wanted = corrected_means(two, other, both, REACH[:1])
        assert row["value"] == pytest.approx(wanted.value[0])
        assert row["ci_low"] == pytest.approx(max(wanted.low[0], 0))
        assert (row["judge"], row["people"]) == pytest.approx((two.mean(), other.mean()))
        assert (row["n_queries"], row["n_both"], row["reason"]) == (60, 25, None)
        pair = found.corrected_comparisons.filter(measure=str(measure)).row(0, named=True)
        difference = corrected_means(two - one, other - own, both, REACH[:1])
        assert (pair["baseline"], pair["run"]) == ("old", "new")
        assert (pair["value"], pair["p_value"]) == pytest.approx((difference.value[0], difference.p_value[0]))
        assert pair["p_holm"] >= pair["p_value"]
    assert found.means.equals(by_people.means)


def is_withheld(found, reason):
    """Whether nothing is corrected, and the reason is shown in its place."""
    for rows in (found.corrected_means, found.corrected_comparisons):
        told = [name for name in ("value", "ci_low", "ci_high", "p_value", "worth") if name in rows.columns]
        if set(rows["reason"]) != {reason} or rows.select(told).null_count().row(0) != (rows.height,) * len(
            told
        ):
            return False
    tables = {table.name: table for table in evaluation_tables(found.frames, per_query=False)}
    return all(row.cells[0].reason == reason for row in tables["corrected_means"].rows)


def test_too_few_queries_of_both_have_the_reason_in_place_of_numbers():
    people, runs, model = judged(people=12)
    assert is_withheld(evaluate(people, runs, "RR", judge=model), FEW_BOTH)
    assert not is_withheld(evaluate(*judged()[:2], "RR", judge=model), FEW_BOTH)


def test_what_people_left_without_a_grade_is_said_and_much_of_it_withholds_what_is_corrected():
    people, runs, model = judged(missing=(0, 3))
    found = evaluate(people, runs, "nDCG@5", judge=model)
    cautions = " ".join(found.cautions)
    assert "people graded 60% and the judge 100.0%" in cautions.replace("60.0", "60")
    assert cautions.startswith("Corrected means are withheld: of the results of ")
    assert cautions.endswith("count as 0, so the correction blames the judge for them.")
    assert is_withheld(found, UNGRADED)
    assert "people graded" not in " ".join(evaluate(*judged()[:2], "nDCG@5", judge=model).cautions)
    few = evaluate(judged()[0][:-5], runs, "nDCG@5", judge=model)  # of 125 results
    assert "the correction blames the judge for them." in " ".join(few.cautions)
    assert few.corrected_means["value"].null_count() == 0


def test_queries_that_people_chose_have_nothing_corrected():
    _, runs, model = judged()
    best = model.group_by("query").agg(pl.col("grade").sum()).top_k(25, by="grade")["query"]
    found = evaluate(model.filter(pl.col("query").is_in(best.implode())), runs, "P(rel=3)@5", judge=model)
    assert is_withheld(found, OTHER_QUERIES)
    assert "Corrected means are withheld: people's queries are no random sample." in " ".join(found.cautions)


def test_a_measure_without_an_end_reaches_as_far_as_its_values():
    people, runs, model = judged()
    found = evaluate(people, runs, "DCG@5", judge=model)
    by_model, by_people = (evaluate(grades, runs, "DCG@5").per_query for grades in (model, people))
    seen = pl.concat([by_model["value"], by_people["value"]])
    own, other = (of.filter(run="new")["value"].to_numpy()[:, None] for of in (by_model, by_people))
    wanted = corrected_means(own, other, np.arange(25), np.array([seen.max() - seen.min()]))
    row = found.corrected_means.filter(run="new").row(0, named=True)
    assert (row["value"], row["ci_high"]) == pytest.approx((wanted.value[0], wanted.high[0]))


def test_queries_that_the_judge_lacks_are_counted():
    people, runs, model = judged()
    found = evaluate(people, runs, "RR", judge=model.filter(pl.col("query") != "q03"))
    assert "1 query judged by people has no grade by the judge and is ignored." in found.cautions
    assert set(found.corrected_means["n_both"]) == {24}


def test_a_judge_of_other_queries_is_refused():
    people, runs, model = judged()
    with pytest.raises(NothingInCommonError):
        evaluate(people, runs, "RR", judge=model.with_columns(query="x" + pl.col("query")))
