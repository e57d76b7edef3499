"""Write 24 simulated A/B tests, past_tests.csv, and past_tests_truth.csv.

Effects on clicks a session are normal, a quarter of them 0. NDCG and ERR follow the effects and share most of
their errors; the share of rankings changed (`changed`) has nothing to do with them.
"""

from pathlib import Path

import numpy as np
import polars as pl

SEED = 17
IDEAS = {
    "synonyms": ("synonyms of brands", "synonyms of colours", "synonyms learned from clicks"),
    "spelling": ("spelling correction", "spelling correction, strict"),
    "title boost": ("title boost 2", "title boost 5"),
    "freshness": ("freshness, a week", "freshness, a month"),
}
ALONE = (
    "new ranker", "ranker with prices", "ranker with ratings", "semantic retrieval", "fewer duplicates",
    "stock first", "local shops", "category filter", "longer queries", "popularity by season", "image scores",
    "delivery time", "query relaxation", "stemming", "margin boost",
)  # fmt: skip


def drawn(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tests and the truth."""
    rng = np.random.default_rng(seed)
    tests = [(name, idea) for idea, names in IDEAS.items() for name in names]
    tests += [(name, None) for name in ALONE]
    number = len(tests)
    of_idea = {idea: rng.standard_normal(3) for idea in IDEAS}
    latent = np.array([
        rng.standard_normal(3) if idea is None else 0.8 * of_idea[idea] + 0.6 * rng.standard_normal(3)
        for _, idea in tests
    ])  # fmt: skip
    effect = np.where(rng.random(number) < 1 / 4, 0.0, 0.018 * (latent[:, 0] + 0.2))
    error = 0.003 * np.exp(0.3 * rng.standard_normal(number))
    shared = effect + 0.009 * latent[:, 1]
    sheet = pl.DataFrame({
        "experiment": [name for name, _ in tests],
        "group": [idea for _, idea in tests],
        "difference": effect + error * rng.standard_normal(number),
        "error": error,
        "NDCG": shared + 0.004 * rng.standard_normal(number),
        "ERR": 0.8 * shared + 0.004 * rng.standard_normal(number),
        "changed": 0.05 + 0.6 * rng.random(number),
        "users": rng.integers(20, 200, number) * 1000,
    })  # fmt: skip
    digits = pl.col("difference", "error", "NDCG", "ERR").round(4) + 0.0, pl.col("changed").round(2)
    truth = sheet.select("experiment", true_difference=pl.Series(effect).round(4) + 0.0)
    return sheet.with_columns(*digits), truth


if __name__ == "__main__":
    here = Path(__file__).parent
    for name, table in zip(("past_tests", "past_tests_truth"), drawn(SEED), strict=True):
        table.write_csv(here / f"{name}.csv")
