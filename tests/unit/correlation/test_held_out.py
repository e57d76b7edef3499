"""Click models on rankings that were held out: against plain loops, and in planted worlds."""

import itertools
import math
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.catalogue import click_models
from clickassay.click_models.click_log import ClickLog
from clickassay.click_models.factorised import FactorisedModel
from clickassay.click_models.held_out import drawn_lists, list_log, lists_to_compare, surprise
from clickassay.core.errors import ClickModelError
from clickassay.correlation import held_out as module
from clickassay.correlation.held_out import (
    BY_POSITION,
    CASCADES,
    PREDICTED,
    calibration_table,
    held_out,
    held_out_table,
    position_premise,
    support,
)
from support.logs.click_oracle import product_probability
from support.logs.drawn_clicks import simulate
from support.one_correlation import jackknife
from support.oracle.oracle_metrics import click_metric

DEPTH, POOL = 4, 6
EXAMINED = (1.0, 0.6, 0.4, 0.25)
MEAN_RR = PREDICTED.index("MeanRR")
QUICK = {"share": 0.4, "pseudo_count": 1.0, "click_metric": "MeanRR"}


def planted(kind, queries, rng, *, sessions=80, lists=5, spread=1.0):
    """Draw a log of a planted model; `spread` 0 = all results are alike."""
    orders = np.array(list(itertools.permutations(range(POOL), DEPTH)))
    shown = np.concatenate(
        [query * POOL + orders[rng.choice(len(orders), lists, replace=False)] for query in range(queries)]
    )
    size = queries * POOL
    attraction = 0.35 + spread * (rng.beta(1.2, 2.5, size) - 0.35)
    satisfaction = np.clip(0.2 + 0.7 * attraction, 0, 1)
    model = CascadeModel(attraction, satisfaction, (0.95 * (1 - satisfaction))[:, None], 0.95, {}, 0)
    if kind == "PBM":
        model = FactorisedModel(attraction, np.repeat(np.array(EXAMINED)[:, None], DEPTH, axis=1), 0)
    documents = pl.DataFrame(
        {"market": ["all"] * size, "query": [f"q{code // POOL:03d}" for code in range(size)],
         "url": [f"u{code}" for code in range(size)]}
    )  # fmt: skip
    return simulate(model, shown, np.repeat(np.arange(len(shown)), sessions), documents, rng)


# ---- a plain loop ----------------------------------------------------------------------------------


def metrics_of(clicked):
    places = tuple(place for place, one in enumerate(clicked, 1) if one)
    return {name: click_metric(name, places, clicked, 0) for name in PREDICTED}


def seen_of(log):
    """Return by list (documents) its sessions, each as a tuple of clicks."""
    seen = defaultdict(list)
    for row, mask, times in zip(log.rows, log.masks, log.sessions, strict=True):
        shown = tuple(int(code) for code in log.lists[row])
        seen[shown] += [tuple(int(mask) >> place & 1 for place in range(len(shown)))] * int(times)
    return seen


def expected_of(model, shown):
    total = dict.fromkeys(PREDICTED, 0.0)
    for clicked in itertools.product((0, 1), repeat=len(shown)):
        chance = product_probability(
            (shown, clicked), model.attraction, lambda place, last: model.examination[place, last]
        )
        for name, value in metrics_of(clicked).items():
            total[name] += chance * value
    return total


def sums_of(seen, held, model, name):
    """Return the sums of one query: products, squares of both, noise, pairs in order and pairs."""
    weights = [len(seen[one]) / (len(seen[one]) + 4) for one in held]
    values = [[metrics_of(clicked)[name] for clicked in seen[one]] for one in held]
    observed = [math.fsum(own) / len(own) for own in values]
    predicted = [expected_of(model, one)[name] for one in held]
    whole = sum(weights)

    def centred(numbers):
        mean = sum(w * one for w, one in zip(weights, numbers, strict=True)) / whole
        return [one - mean for one in numbers]

    o, p = centred(observed), centred(predicted)
    noise = sum(
        w * (1 - w / whole) * np.var(own, ddof=1) / len(own) for w, own in zip(weights, values, strict=True)
    )
    right = pairs = 0.0
    for i, j in itertools.combinations(range(len(held)), 2):
        if abs(observed[i] - observed[j]) > 1e-12:
            both = weights[i] * weights[j]
            agree = (predicted[i] - predicted[j]) * (observed[i] - observed[j])
            pairs += both
            right += both * (0.5 if abs(agree) < 1e-15 else agree > 0)
    terms = [(a * b for a, b in zip(x, y, strict=True)) for x, y in ((p, o), (p, p), (o, o))]
    return np.array(
        [*(sum(w * one for w, one in zip(weights, term, strict=True)) for term in terms), noise, right, pairs]
    )


def correlation_of(sums):
    return sums[0] / math.sqrt(sums[1] * sums[2])


@pytest.fixture
def drawn(monkeypatch):
    """Record what is held out."""
    kept = []

    def recorded(*given):
        kept.append(drawn_lists(*given))
        return kept[-1]

    monkeypatch.setattr(module, "drawn_lists", recorded)
    return kept


def test_numbers_and_intervals_are_those_of_a_plain_loop(drawn):
    log = planted("PBM", 7, np.random.default_rng(1), sessions=30)
    kinds = click_models(["PBM", "DCTR", "UBM"])
    found = support(
        held_out(log, kinds, splits=2, rng=np.random.default_rng(0), **QUICK), np.random.default_rng(0)
    )
    lists, seen = list_log(log), seen_of(log)
    for place, kind in enumerate(kinds):
        models = [kind.fit(lists.log.some(~one[lists.log.rows]), pseudo_count=1.0).model for one in drawn]
        for column, name in enumerate(PREDICTED):
            by_query = []
            for group in range(len(lists.queries)):
                own = [np.flatnonzero(one & (lists.group == group)) for one in drawn]
                assert all(len(one) == 2 for one in own)
                shown = [[tuple(int(code) for code in lists.log.lists[row]) for row in one] for one in own]
                by_query.append(
                    sum(sums_of(seen, part, model, name) for part, model in zip(shown, models, strict=True))
                )
            sums, n = np.sum(by_query, axis=0), found.numbers
            assert n.correlation.value[place, column] == pytest.approx(correlation_of(sums))
            assert n.slope.value[place, column] == pytest.approx(sums[0] / sums[1])
            assert n.order.value[place, column] == pytest.approx(sums[4] / sums[5])
            real = max(0.0, 1 - sums[3] / sums[2])
            assert found.attainable[column] == pytest.approx(math.sqrt(real))
            without = np.array([math.atanh(correlation_of(sums - one)) for one in by_query])
            low, high = interval(math.atanh(correlation_of(sums)), without)
            assert n.correlation.low[place, column] == pytest.approx(math.tanh(low))
            assert n.correlation.high[place, column] == pytest.approx(math.tanh(high))
            slopes = np.array([(sums - one)[0] / (sums - one)[1] for one in by_query])
            ends = interval(sums[0] / sums[1], slopes)
            assert (n.slope.low[place, column], n.slope.high[place, column]) == pytest.approx(ends)


def interval(value, without):
    """Return the interval by leaving out queries."""
    error, degrees = jackknife(without)
    half = stats.t.ppf(0.975, degrees) * error
    return value - half, value + half


def test_a_query_of_two_markets_is_one_unit_and_two_groups():
    log = planted("PBM", 6, np.random.default_rng(2), sessions=30)
    names = log.documents.with_columns(
        market=pl.when(pl.col("query") < "q003").then(pl.lit("de")).otherwise(pl.lit("fr")),
        query=pl.col("query").replace({f"q00{code + 3}": f"q00{code}" for code in range(3)}),
    )
    given = {"kinds": click_models(["PBM"]), "splits": 2, **QUICK}
    one, two = (
        held_out(part, rng=np.random.default_rng(0), **given) for part in (log, replace(log, documents=names))
    )
    assert (len(one.queries), two.queries) == (6, ("q000", "q001", "q002"))
    assert one.values[:3] + one.values[3:] == pytest.approx(two.values)


# ---- what is held out -------------------------------------------------------------------------------


def test_no_model_learns_from_a_list_that_judges_it():
    log = planted("DBN", 5, np.random.default_rng(3), sessions=30)
    # each list once more, as another configuration that shows the same down to the depth
    twice = ClickLog(
        np.concatenate([log.lists, log.lists]), np.concatenate([log.rows, log.rows + len(log.lists)]),
        np.tile(log.masks, 2), np.tile(log.sessions, 2), log.documents,
    )  # fmt: skip
    fitted, judged = [], []

    def fit(train, **options):
        fitted.append({tuple(train.lists[row]) for row in np.unique(train.rows)})
        return kind.fit(train, **options)

    def expected(model, lists):
        judged.append({tuple(row) for row in lists})
        return expected_clicks(model, lists)

    (kind,), expected_clicks = click_models(["PBM"]), module.expected_clicks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "expected_clicks", expected)
        held_out(twice, [replace(kind, fit=fit)], splits=6, rng=np.random.default_rng(0), **QUICK)
    every = {tuple(row) for row in log.lists}
    assert len(fitted) == 6
    for train, test in zip(fitted, judged, strict=True):
        assert not train & test
        assert train | test == every
    assert len({frozenset(test) for test in judged}) > 1


@pytest.mark.parametrize(("share", "number"), [(0.01, 2), (0.4, 2), (0.6, 3), (0.99, 4)])
def test_two_lists_of_a_query_at_least_are_held_out_and_one_is_left(share, number):
    lists = list_log(planted("PBM", 8, np.random.default_rng(4), sessions=2))
    held = drawn_lists(lists, np.ones(len(lists.sessions), bool), share, np.random.default_rng(0))
    assert np.bincount(lists.group[held]).tolist() == [number] * 8


def test_queries_need_three_lists_in_enough_sessions_and_many_are_sampled():
    log = planted("PBM", 8, np.random.default_rng(5), sessions=20)
    lists = list_log(log)
    some = lists.log.some((lists.group[lists.log.rows] > 2) | (lists.log.rows % 5 < 2))
    rng = np.random.default_rng(0)
    found = lists_to_compare(list_log(some), least_sessions=20, most=100, rng=rng)
    assert found.queries == lists.queries[3:]
    assert [tuple(row) for row in found.log.lists] == [tuple(row) for row in lists.log.lists[lists.group > 2]]
    assert found.log.sessions.sum() == 5 * 5 * 20
    assert lists_to_compare(lists, least_sessions=21, most=100, rng=rng).queries == ()
    few = lists_to_compare(lists, least_sessions=20, most=17, rng=rng)
    assert (len(few.queries), len(few.sessions)) == (3, 15)
    with pytest.raises(ClickModelError, match="no query has 3 rankings with 20 sessions or more"):
        held_out(planted("PBM", 3, rng, sessions=19), click_models(["PBM"]), rng=rng, **QUICK)


def test_the_same_seed_holds_out_the_same():
    log = planted("PBM", 5, np.random.default_rng(6), sessions=20)
    one, two, other = (
        held_out(log, click_models(["PBM"]), splits=2, rng=np.random.default_rng(seed), **QUICK).values
        for seed in (0, 0, 1)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


# ---- which model is chosen --------------------------------------------------------------------------

KINDS = "DCTR,PBM,SDBN,DBN"


def support_of(log, names=KINDS, **more):
    rng = np.random.default_rng(0)
    return support(
        held_out(log, click_models(names.split(",")), rng=rng, **{**QUICK, "splits": 4, **more}), rng
    )


@pytest.mark.parametrize("kind", ["PBM", "DBN"])
def test_the_planted_model_is_chosen_or_one_that_predicts_as_well(kind):
    names = KINDS.split(",")
    for seed in range(4):
        found = support_of(planted(kind, 40, np.random.default_rng([seed, 7])))
        assert found.reason is None
        assert kind in {found.model, *found.as_good}
        behind = found.behind.low[:, MEAN_RR]
        assert behind[names.index("DCTR")] > 0  # positions matter
        assert "DCTR" not in found.as_good
        assert found.numbers.slope.value[found.best, MEAN_RR] == pytest.approx(1, abs=0.2)


def test_a_log_whose_rankings_differ_by_noise_alone_cannot_tell():
    refused = [
        support_of(planted("PBM", 30, np.random.default_rng([seed, 8]), sessions=20, spread=0.0)).reason
        for seed in range(12)
    ]
    assert sum(one is not None for one in refused) >= 11


def test_a_log_that_clicks_alike_cannot_tell():
    log = planted("PBM", 4, np.random.default_rng(14), sessions=20)
    alike = replace(log, masks=np.ones_like(log.masks))
    assert support_of(alike).reason == "MeanRR is the same in all rankings of each query"


def premise_of(log):
    kinds = click_models([BY_POSITION, *CASCADES])
    return position_premise(held_out(log, kinds, splits=4, rng=np.random.default_rng(0), **QUICK))


def test_examination_by_position_alone_is_told_from_a_cascade_and_from_nothing():
    for seed in range(4):
        rng = np.random.default_rng([seed, 11])
        assert premise_of(planted("PBM", 60, rng)) is None
        told = premise_of(planted("DBN", 100, rng))
        assert re.match(r"examination does not depend on the position alone: (SDBN|DBN|CCM) predicts", told)
    told = premise_of(planted("PBM", 20, np.random.default_rng(12), sessions=20, spread=0.0))
    assert told.startswith("whether examination depends on position alone is unknown: ")


def test_surprise_is_that_of_plain_python():
    log = planted("PBM", 3, np.random.default_rng(13), sessions=20)
    lists, model = list_log(log), click_models(["PBM"])[0].fit(log, pseudo_count=1.0).model
    found = surprise(model, lists, np.arange(len(lists.sessions)))
    for shown, clicked in seen_of(log).items():
        row = [tuple(one) for one in lists.log.lists].index(shown)
        chances = [model.attraction[code] * model.examination[place, 0] for place, code in enumerate(shown)]
        bits = -sum(
            math.log2(chance if one else 1 - chance)
            for clicks in clicked
            for chance, one in zip(chances, clicks, strict=True)
        )
        assert found[row] == pytest.approx(bits)


def test_the_choice_pays_for_itself():
    """Of 40 models that know nothing, the best looks good; what other queries choose does not."""
    held = held_out(
        planted("PBM", 30, np.random.default_rng(9)), click_models(["PBM"]), splits=1,
        rng=np.random.default_rng(0), **QUICK,
    )  # fmt: skip
    rng, best, honest = np.random.default_rng(1), [], []
    for _ in range(40):
        terms = held.terms(held.values)
        size = len(held.queries), 40, len(PREDICTED)
        squares = np.repeat(terms.squares, 40, axis=1)
        products = rng.normal(0, 1, size) * np.sqrt(squares * terms.observed[:, None])
        parts = [products, squares, np.repeat(terms.in_order, 40, axis=1)]
        values = [part.reshape(len(held.queries), -1) for part in parts]
        values += [np.repeat(terms.bits, 40, axis=1), *terms[4:]]
        random = replace(
            held, models=tuple(f"m{n}" for n in range(40)), values=np.concatenate(values, axis=1)
        )
        found = support(random, rng)
        best.append(found.numbers.correlation.value[found.best, MEAN_RR])
        honest.append(found.choice.correlation.value[0, MEAN_RR])
    assert min(best) > 0.2
    assert np.mean(honest) == pytest.approx(0, abs=3 * np.std(honest) / math.sqrt(40))


def test_tables_have_their_forms_and_say_what_was_found():
    found = support_of(planted("PBM", 20, np.random.default_rng(10)))
    table = held_out_table(found, market="all", depth=DEPTH)
    assert table.height == (4 + 1) * len(PREDICTED)
    own = table.filter(click_metric="MeanRR")
    assert own.filter("is_best")["model"].to_list() == [found.model]
    assert set(own.filter("as_good")["model"]) == {found.model, *found.as_good}
    row = own.filter(model=found.model).row(0, named=True)
    assert row["correlation"] == found.numbers.correlation.value[found.best, MEAN_RR]
    assert (row["behind"], row["behind_low"], row["behind_high"]) == (0, 0, 0)
    assert own.filter(model="choice")["correlation"].item() == found.choice.correlation.value[0, MEAN_RR]
    tenths = calibration_table(found, market="all", depth=DEPTH)
    assert tenths["tenth"].to_list() == list(range(1, 11))
    assert tenths["predicted"].is_sorted()
    assert tenths["observed"][-1] > tenths["observed"][0]
