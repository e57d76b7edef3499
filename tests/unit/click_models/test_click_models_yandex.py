"""Real clicks: 56,477 result pages of 20 queries; fitted on one file, evaluated on the other."""

import re
from collections import Counter

import polars as pl
import pytest

from clickassay.click_models.cascade import closed_form_dcm, closed_form_sdbn, counts
from clickassay.click_models.catalogue import CLICK_MODELS
from clickassay.click_models.click_log import click_log
from clickassay.click_models.comparison import compare, score, split_by_users
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


@pytest.fixture(scope="module")
def split():
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
    frames = [
        pl.DataFrame(
            [(ids[query, urls], mask, times) for (query, urls, mask), times in part.items()],
            {"configuration_id": pl.String, "click_mask": pl.Int64, "sessions": pl.Int64},
            orient="row",
        )
        for part in counted
    ]
    return split_by_users(*(click_log(configurations, frame, depth=10) for frame in frames))


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


def test_closed_forms_lose_in_likelihood_and_gain_in_perplexity(split, evaluated):
    dcm, sdbn = (
        score(count(counts(split.train)), split.test) for count in (closed_form_dcm, closed_form_sdbn)
    )
    for name, closed in (("DCM", dcm), ("SDBN", sdbn)):
        assert closed.log_likelihood < evaluated[name].score.log_likelihood
        assert closed.perplexity < evaluated[name].score.perplexity


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
