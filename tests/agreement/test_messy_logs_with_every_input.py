"""Messy logs with every optional input: what is asked for beside changes no number of what was there."""

import random
from contextlib import suppress

import polars as pl
import pytest

from agreement.test_outcomes import given_outcomes
from clickassay.core.errors import ClickassayError
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from support.logs.messy import write_log
from support.oracle.messy_logs import seeded_log
from support.oracle.messy_signals import signal_log
from support.tiers import first

QUICK = {"click_models": ("NONE",), "iterations": 10, "signal": ("none",)}


def scores_of(searches, rng):
    """Draw scores by search: of lists that show nothing or hold nulls too, and of searches that are none."""
    ids = [row["search_id"] for row in searches]
    rows = [{"search_id": one, "name": "own", "value": rng.choice((0.0, 1.5, -2.0))} for one in ids]
    kind = pl.String if any(isinstance(one, str) for one in ids) else pl.Int64
    return pl.DataFrame(rows, schema_overrides={"search_id": kind})


def completed(paths, settings, queries=None, **more):
    log = (paths[name] for name in ("searches", "clicks", "judgments"))
    return make_run(Sources(*log, queries, **more), settings)[0]


@pytest.mark.parametrize("seed", first(3, range(100)))
def test_optional_inputs_change_nothing_beside_them(seed, tmp_path):
    searches, clicks, judgments, given = signal_log(seed)
    paths = write_log(
        tmp_path / "log",
        seed,
        searches=searches,
        clicks=clicks,
        judgments=judgments,
        queries=seeded_log(seed)[3],
    )
    rng = random.Random(seed)  # noqa: S311 - test data, not a secret
    outcomes, scores = tmp_path / "outcomes.parquet", tmp_path / "scores.parquet"
    pl.DataFrame(given_outcomes(searches, seed), infer_schema_length=None).write_parquet(outcomes)
    scores_of(searches, rng).write_parquet(scores)
    plain = completed(paths, load_settings(**given | QUICK))
    asked = load_settings(**QUICK | given | {"outcome": ("abandoned",), "click_metric": ("MeanRR", "IPS")})
    found = completed(paths, asked, queries=paths.get("queries"), outcomes=outcomes)
    common = found.tables["configurations"].select(plain.tables["configurations"].columns)
    assert common.equals(plain.tables["configurations"])
    added = set(found.tables["configurations"].columns) - set(common.columns)
    assert {"IPS", *found.outcomes} <= added
    with suppress(ClickassayError):  # a log of half of the users, a list without a score
        every = asked.model_copy(update={"click_judge": "PBM", "unjudged": "extremes"})
        completed(paths, every, queries=paths.get("queries"), outcomes=outcomes, scores=scores)
