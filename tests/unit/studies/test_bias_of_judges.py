"""Where judges differ: against plain loops, and laws of what must not be seen."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from clickassay.studies.judges.compare import compare_judges
from support.tiers import first

SIZE = 5


def rows(seed, *, queries=60, error_a=0.3, error_b=0.3, up=0.0):
    """Rows of two judges who err by chance; b also grades `up` of the results one higher."""
    rng = np.random.default_rng(seed)
    made = []
    for query in range(queries):
        for url in range(rng.integers(2, 12)):
            true = rng.integers(0, SIZE)
            for judge, error in (("a", error_a), ("b", error_b)):
                grade = true + rng.choice([-1, 0, 1], p=[error / 2, 1 - error, error / 2])
                grade += judge == "b" and rng.random() < up
                made.append((judge, f"q{query:03d}", f"d{url}", int(np.clip(grade, 0, SIZE - 1))))
    return pl.DataFrame(made, schema=["judge", "query", "url", "grade"], orient="row").sort(
        "judge", maintain_order=True
    )


def classes_of(frame):
    return (
        frame.select("query")
        .unique()
        .with_columns(kind=pl.when(pl.col("query") < "q020").then(pl.lit("short")).otherwise(pl.lit("long")))
    )


def found_in(frame, **more):
    return compare_judges(("a", "b"), frame, max_grade=SIZE - 1, **more).bias


def plain(frame):
    """Return the results of both with what groups them, one dict each."""
    b_rows = frame.filter(judge="b")
    grades = {(q, u): g for _, q, u, g in frame.filter(judge="a").iter_rows()}
    return [
        {"query": q, "a": grades[q, u], "b": g, "quarter": str(1 + 4 * place // b_rows.height),
         "mean_grade": str(min((grades[q, u] + g) // 2, SIZE - 2)), "kind": "short" if q < "q020" else "long"}
        for place, (_, q, u, g) in enumerate(b_rows.iter_rows())
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["mean_grade", "quarter", "kind"])
def test_every_group_has_the_numbers_of_a_plain_loop(by):
    frame = rows(1, up=0.2)
    found = found_in(frame, classes=classes_of(frame)).filter(by=by)
    results = plain(frame)
    assert found["part"].to_list() == sorted({one[by] for one in results})
    for row in found.iter_rows(named=True):
        own = [one for one in results if one[by] == row["part"]]
        apart = [one["b"] - one["a"] for one in own]
        assert row["mean_difference"] == pytest.approx(np.mean(apart))
        assert row["n_results"] == len(own)
        queries = sorted({one["query"] for one in own})
        assert row["n_queries"] == len(queries)
        left = [np.mean([one["b"] - one["a"] for one in own if one["query"] != query]) for query in queries]
        everything = sorted({one["query"] for one in results})
        left += [np.mean(apart)] * (len(everything) - len(queries))  # leaving these out changes nothing
        error = np.sqrt((len(left) - 1) / len(left) * np.sum((left - np.mean(left)) ** 2))
        assert 1.95 * error <= (row["ci_high"] - row["ci_low"]) / 2 <= 2.4 * error
        if by == "mean_grade":
            assert row["kappa_quadratic"] is None
            assert row["p_adjusted"] is None
            continue
        kappa = cohen_kappa_score(
            [one["a"] for one in own], [one["b"] for one in own], weights="quadratic", labels=range(SIZE)
        )
        assert row["kappa_quadratic"] == pytest.approx(kappa)
        assert row["kappa_quadratic_low"] < kappa < row["kappa_quadratic_high"]


def test_equal_judges_show_no_bias_by_mean_grade_though_they_do_by_the_grade_of_one():
    frame = rows(2, queries=800)
    found = found_in(frame).filter(by="mean_grade")
    assert (found["ci_low"] < 0.01).all()
    assert (found["ci_high"] > -0.01).all()
    results = plain(frame)
    by_one = [np.mean([one["b"] - one["a"] for one in results if one["a"] == grade]) for grade in (0, 4)]
    assert by_one[0] > 0.05
    assert by_one[1] < -0.05


@pytest.mark.slow
@pytest.mark.parametrize("seeds", first(1, [range(100, 125), range(125, 200)]), ids=str)
def test_groups_of_equal_judges_are_said_to_differ_in_few_worlds(seeds):
    alarms = [
        (found_in(frame := rows(seed), classes=classes_of(frame))["p_adjusted"].min() or 1) < 0.05
        for seed in seeds
    ]
    assert np.mean(alarms) < 0.2  # two families (quarters, kinds) of 0.05 each


def test_a_judge_that_drifts_is_seen_by_quarter():
    frame = rows(3, queries=200)
    late = pl.col("query") >= "q150"
    higher = pl.col("grade") + ((pl.col("judge") == "b") & late).cast(pl.Int64)
    found = found_in(frame.with_columns(grade=higher.clip(0, 4))).filter(by="quarter")
    last = found.filter(part="4").row(0, named=True)
    assert last["p_adjusted"] < 0.01
    assert last["mean_difference"] > 0.4


def test_one_group_alone_is_no_group():
    frame = rows(4)
    one = frame.select("query").unique().with_columns(kind=pl.lit("x"))
    assert "kind" not in set(found_in(frame, classes=one)["by"])
