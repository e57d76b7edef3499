"""Judges compared, and means corrected for a judge, against krippendorff and truescore."""

from itertools import combinations

import krippendorff
import numpy as np
import polars as pl
import pytest
import truescore

from clickassay.studies.evaluation.corrected import corrected_means
from clickassay.studies.judges.compare import compare_judges

NAMES = ("a", "b", "c")
LEVELS = ("nominal", "ordinal", "interval")


def graded(seed, *, holes):
    """Return (3, n) grades 0..4 of three judges with NaN for what one left out."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 5, 150)
    grades = np.clip(true + rng.integers(-1, 2, (3, 150)), 0, 4).astype(float)
    grades[rng.random(grades.shape) < holes] = np.nan
    return grades


def as_rows(grades):
    return pl.DataFrame(
        [
            (NAMES[judge], f"q{at // 5}", f"d{at}", int(grade))
            for (judge, at), grade in np.ndenumerate(grades)
            if not np.isnan(grade)
        ],
        schema=["judge", "query", "url", "grade"],
        orient="row",
    )


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_alphas_are_those_of_krippendorff(seed, holes):
    grades = graded(seed, holes=holes)
    found = {
        (row["judge_a"], row["judge_b"], row["measure"]): (row["value"], row["n_results"])
        for row in compare_judges(NAMES, as_rows(grades)).agreement.iter_rows(named=True)
    }
    chosen = {("all", "all"): [0, 1, 2]} | {
        (NAMES[one], NAMES[two]): [one, two] for one, two in combinations(range(3), 2)
    }
    for (a, b), judges in chosen.items():
        judged = (~np.isnan(grades[judges])).sum(axis=0)
        for level in LEVELS:
            alpha = krippendorff.alpha(
                reliability_data=grades[judges], level_of_measurement=level, value_domain=range(5)
            )
            assert found[a, b, f"alpha_{level}"] == (pytest.approx(alpha), (judged > 1).sum())


@pytest.mark.parametrize("seed", range(4))
def test_kappa_and_ac1_are_those_of_truescore(seed):
    one, two = (graded(seed, holes=0)[:2] >= 2).astype(int)
    rows = as_rows(np.stack([one, two]).astype(float))
    found = compare_judges(("a", "b"), rows, max_grade=1).agreement
    values = dict(found.select("measure", "value").iter_rows())
    assert values["kappa"] == pytest.approx(truescore.cohen_kappa(one, two))
    assert values["ac1"] == pytest.approx(truescore.gwet_ac1(one, two))


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
