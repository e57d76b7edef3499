"""Real clicks: 56,477 result pages of 20 queries; fitted on one file, evaluated on the other."""

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

from clickassay.click_models.catalogue import CLICK_MODELS
from clickassay.click_models.click_log import click_log
from clickassay.click_models.comparison import compare, split_by_users
from clickassay.correlation.held_out import PREDICTED, held_out, support
from clickassay.jobs.click_models import ClickedLists
from clickassay.jobs.from_clicks import HARDLY, judgments_from_clicks
from support.places import ROOT

DATA = ROOT.parent / "shared" / "data" / "yandex_pyclick_sample"
PAGE = ROOT / "docs" / "reference" / "click-models.md"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data to read")


def pages(name):
    """Return how often each (query, results, mask) occurs."""
    text = (DATA / name).read_text(encoding="utf-8")
    found = Counter()
    for query, shown, clicked in re.findall(r"(\S+)\t([\d,]+) ?:([^;\n]*)", text):
        urls = tuple(shown.split(","))
        places = {urls.index(url) for url in re.findall(r"\d+", clicked) if url in urls}
        found[query, urls, sum(1 << place for place in places)] += 1
    return found


def frames():
    """Return the lists of both files, and the click patterns of each."""
    counted = [pages("trainSample"), pages("testSample")]
    assert sum(sum(part.values()) for part in counted) == 56_477
    lists = sorted({key[:2] for part in counted for key in part})
    ids = {key: f"c{number}" for number, key in enumerate(lists)}
    configurations = pl.DataFrame(
        {
            "configuration_id": list(ids.values()),
            "market": "all",
            "query": [query for query, _ in lists],
            "results": [list(urls) for _, urls in lists],
        }
    )
    patterns = [
        pl.DataFrame(
            [(ids[query, urls], mask, times) for (query, urls, mask), times in part.items()],
            {"configuration_id": pl.String, "click_mask": pl.Int64, "sessions": pl.Int64},
            orient="row",
        )
        for part in counted
    ]
    return configurations, patterns


@pytest.fixture(scope="module")
def split():
    configurations, patterns = frames()
    return split_by_users(*(click_log(configurations, frame, depth=10) for frame in patterns))


@pytest.fixture(scope="module")
def evaluated(split):
    return {one.kind.name: one for one in compare(split, CLICK_MODELS, pseudo_count=1.0)}


def rows_of_the_page():
    """Return {model: (perplexity, log-likelihood or None)} that the page on click models states."""
    text = PAGE.read_text(encoding="utf-8").replace("\N{MINUS SIGN}", "-").split("## On a real log")[1]
    found = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([-\w.]+) \|$", text, flags=re.MULTILINE)
    return {name: (float(perplexity), said) for name, perplexity, said in found}


def test_the_page_has_what_comes_out(evaluated):
    said = rows_of_the_page()
    assert said.keys() == evaluated.keys()
    for name, one in evaluated.items():
        assert one.fit.converged
        perplexity, likelihood = said[name]
        assert one.score.perplexity == pytest.approx(perplexity, abs=6e-4), name
        if likelihood == "none":
            assert one.score.excluded > 0
        else:
            assert one.score.log_likelihood == pytest.approx(float(likelihood), abs=6e-4), name


def test_models_are_ordered_as_the_literature_has_them(evaluated):
    """UBM predicts whole sessions best, then cascade models and PBM; rates of one kind come last."""
    likelihood = {name: one.score.log_likelihood for name, one in evaluated.items()}
    assert sorted(likelihood, key=likelihood.get, reverse=True) == [
        "UBM", "CCM", "DBN", "PBM", "DCM", "SDBN", "DCTR", "RCTR", "GCTR", "CM",
    ]  # fmt: skip
    perplexity = {name: one.score.perplexity for name, one in evaluated.items()}
    assert max(perplexity[name] for name in ("PBM", "UBM", "DBN", "CCM", "DCM", "SDBN")) < perplexity["DCTR"]
    assert perplexity["DCTR"] < perplexity["RCTR"] < perplexity["GCTR"]
    assert perplexity["CM"] > perplexity["RCTR"]


def test_unseen_rankings_tell_models_apart_that_sessions_hardly_do():
    configurations, patterns = frames()
    log, rng = click_log(configurations, pl.concat(patterns), depth=5), np.random.default_rng(0)
    held = held_out(log, CLICK_MODELS, share=0.5, pseudo_count=1.0, click_metric="MeanRR", rng=rng)
    found, at = support(held, rng), PREDICTED.index("MeanRR")
    assert found.reason is None
    assert {found.model, *found.as_good} >= {"DBN", "PBM", "UBM", "CCM"}
    assert found.attainable[at] == pytest.approx(0.59, abs=0.04)
    assert 1 - held.whole.real[at] == pytest.approx(0.64, abs=0.05)
    numbers = {
        name: (found.numbers.correlation.value[place, at], found.numbers.slope.value[place, at])
        for place, name in enumerate(held.models)
    }
    for name in ("DBN", "PBM", "UBM", "CCM"):
        assert numbers[name] == (pytest.approx(0.445, abs=0.045), pytest.approx(0.56, abs=0.12)), name
    for name in ("DCM", "SDBN", "DCTR"):
        assert numbers[name][0] == pytest.approx(0.25, abs=0.05), name
    assert numbers["CM"][0] < min(numbers[name][0] for name in ("DCM", "SDBN", "DCTR"))
    assert np.isnan([numbers[name][0] for name in ("GCTR", "RCTR")]).all()


def test_grades_of_dbn_that_satisfaction_spoils_have_a_caution():
    configurations, patterns = frames()
    clicks = ClickedLists(configurations, pl.concat(patterns).with_columns(fold=pl.lit(0)), 5)
    often = (pl.col("sessions") >= 200) & (pl.col("ctr") >= 0.25)
    dbn, pbm = (
        judgments_from_clicks(clicks, name, pseudo_count=1.0).filter(often) for name in ("DBN", "PBM")
    )
    bad = dbn.filter(grade=0)
    assert bad["caution"].str.starts_with(HARDLY).all()
    assert pbm.filter(grade=0).is_empty()
    stated = (
        f"grade 0 to {bad.height} of the {dbn.height} results that a quarter of 200 sessions or more click"
    )
    assert stated in PAGE.read_text(encoding="utf-8")
