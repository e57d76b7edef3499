"""Fits: hand counts, an expectation maximisation session by session, and planted parameters recovered."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.click_models.cascade import (
    CascadeModel,
    closed_form_dcm,
    closed_form_sdbn,
    counts,
    fit_cascade,
    fit_ccm,
    fit_dbn,
    fit_dcm,
    fit_sdbn,
)
from clickassay.click_models.catalogue import CLICK_MODELS, click_models
from clickassay.click_models.comparison import score
from clickassay.click_models.factorised import (
    FactorisedModel,
    fit_factorised,
    fit_rate,
    fit_rates_by_document,
    fit_rates_by_position,
)
from clickassay.click_models.model import marginal
from clickassay.core.errors import SettingsError
from support.logs import click_oracle as oracle
from support.logs.click_logs import as_sessions, documents, log_of, random_lists, random_log
from support.logs.drawn_clicks import simulate

SEEDS = st.integers(0, 2**32 - 1)
CASCADE_FITS = {"DCM": fit_dcm, "SDBN": fit_sdbn, "DBN": fit_dbn, "CCM": fit_ccm}
EM_FITS = {
    "PBM": partial(fit_factorised, by_last_click=False),
    "UBM": partial(fit_factorised, by_last_click=True),
    **CASCADE_FITS,
}
POOL, DEPTH = 40, 6


# list 0 shows documents 0 1 2, list 1 shows 1 0
HAND = log_of([[0, 1, 2], [1, 0, -1]], {(0, 0b000): 4, (0, 0b010): 3, (0, 0b101): 2, (1, 0b01): 5}, 3)


def test_cascade_counts_by_hand():
    model = fit_cascade(HAND, pseudo_count=0).model
    # 0: clicked first in 2 of 4 + 3 + 2; 1: 3 of 4 + 3 in list 0 and 5 of 5; 2: never first, seen 4 times
    assert model.attraction == pytest.approx([2 / 9, 8 / 12, 0 / 4])
    assert (model.relevance == model.attraction).all()


def test_rates_by_hand():
    every, by_place, by_document = (
        marginal(fit(HAND, pseudo_count=0).model, HAND.lists)
        for fit in (fit_rate, fit_rates_by_position, fit_rates_by_document)
    )
    assert every[0] == pytest.approx([12 / 37] * 3)  # 9 * 3 + 5 * 2 results, 3 + 4 + 5 clicks
    assert by_place[0] == pytest.approx([7 / 14, 3 / 14, 2 / 9])
    assert by_document[0] == pytest.approx([2 / 14, 8 / 14, 2 / 9])
    assert by_document[1] == pytest.approx([8 / 14, 2 / 14, 0.0])


def test_without_pseudo_counts_what_was_never_seen_is_one_half():
    log = log_of([[0, 1, 2], [1, 0, -1]], {(1, 0b01): 5}, 3)
    assert closed_form_sdbn(counts(log), pseudo_count=0).attraction[2] == 0.5
    found = fit_sdbn(log, pseudo_count=0).model
    assert (found.attraction[2], found.satisfaction[2]) == (0.5, 0.5)


@settings(max_examples=12)
@given(seed=SEEDS, pseudo_count=st.sampled_from([0.0, 0.5, 1.0]))
def test_objectives_never_fall(seed, pseudo_count):
    log = random_log(np.random.default_rng(seed), patterns=20)
    for name, fit in EM_FITS.items():
        objectives = np.array(fit(log, pseudo_count=pseudo_count).objectives)
        assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[1:])).all(), name


@settings(max_examples=8)
@given(seed=SEEDS)
def test_without_pseudo_counts_the_objective_is_the_log_likelihood(seed):
    log = random_log(np.random.default_rng(seed), patterns=20)
    sessions = log.sessions.sum()
    for fit_one in EM_FITS.values():
        # the model is one round further than the last objective
        fit = fit_one(log, pseudo_count=0, rounds=40, tolerance=0, accelerate=False)
        found = score(fit.model, log).log_likelihood
        assert fit.objectives[-1] / sessions <= found + 1e-9


@settings(max_examples=15)
@given(seed=SEEDS, rounds=st.integers(1, 20))
def test_the_objective_of_a_cascade_model_is_the_log_likelihood_summed_over_what_is_hidden(seed, rounds):
    log = random_log(np.random.default_rng(seed), patterns=20)
    for name, fit in CASCADE_FITS.items():
        plain = partial(fit, log, pseudo_count=0, tolerance=-np.inf, accelerate=False)
        model, then = plain(rounds=rounds).model, plain(rounds=rounds + 1).objectives[-1]
        after_click = np.broadcast_to(model.after_click, (len(model.attraction), log.depth))
        wanted = oracle.log_likelihood(
            as_sessions(log),
            lambda session, model=model, after_click=after_click: oracle.chain_probability(
                session, model.attraction, lambda d, place: after_click[d, place], model.after_skip
            ),
        )
        assert then == pytest.approx(wanted, rel=1e-9, abs=1e-9), name


@settings(max_examples=25)
@given(seed=SEEDS)
def test_rounds_end_where_clicks_are_likelier_than_where_the_closed_forms_leave_them(seed):
    log = random_log(np.random.default_rng(seed), patterns=20)
    for counted, fit in ((closed_form_dcm, fit_dcm), (closed_form_sdbn, fit_sdbn)):
        least = score(counted(counts(log), pseudo_count=1), log).log_likelihood
        assert score(fit(log, pseudo_count=0).model, log).log_likelihood >= least - 1e-12


@pytest.mark.parametrize("by_last_click", [False, True], ids=["PBM", "UBM"])
@pytest.mark.parametrize("pseudo_count", [0.0, 1.0])
def test_factorised_fits_are_those_of_sessions_one_by_one(by_last_click, pseudo_count):
    log = random_log(np.random.default_rng(5))
    alpha, gamma = oracle.factorised_em(
        as_sessions(log), by_last_click=by_last_click, rounds=25, pseudo_count=pseudo_count
    )
    found = fit_factorised(
        log,
        by_last_click=by_last_click,
        pseudo_count=pseudo_count,
        rounds=25,
        tolerance=-np.inf,
        accelerate=False,
    ).model
    for code, value in alpha.items():
        assert found.attraction[code] == pytest.approx(value, abs=1e-12)
    for (place, last), value in gamma.items():
        assert found.examination[place, last] == pytest.approx(value, abs=1e-12)


ONE_BY_ONE = {"DCM": oracle.dcm_em, "SDBN": oracle.sdbn_em, "DBN": oracle.dbn_em, "CCM": oracle.ccm_em}
"""Attraction, perhaps satisfaction, perhaps what documents share."""


@pytest.mark.parametrize("pseudo_count", [0.0, 1.0])
@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_cascade_fits_are_those_of_sessions_one_by_one(name, pseudo_count):
    log = random_log(np.random.default_rng(9))
    a, *rest = ONE_BY_ONE[name](as_sessions(log), rounds=25, pseudo_count=pseudo_count)
    found = CASCADE_FITS[name](
        log, pseudo_count=pseudo_count, rounds=25, tolerance=-np.inf, accelerate=False
    ).model
    assert [found.attraction[code] for code in a] == pytest.approx(list(a.values()), abs=1e-12)
    if name.endswith("DBN"):
        s = rest.pop(0)
        assert [found.satisfaction[code] for code in s] == pytest.approx(list(s.values()), abs=1e-12)
    (shared,) = rest or [1.0]
    shared = [shared[place] for place in range(3)] if name == "DCM" else shared
    assert list(found.shared.values()) == pytest.approx(np.atleast_1d(shared), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", EM_FITS)
def test_accelerated_rounds_reach_the_same_parameters_sooner(name):
    log = planted_log(name)
    plain, accelerated = (
        EM_FITS[name](log, rounds=2000, tolerance=1e-10, accelerate=accelerate)
        for accelerate in (False, True)
    )
    assert accelerated.converged
    assert accelerated.objectives[-1] >= plain.objectives[-1] - 1e-6 * abs(plain.objectives[-1])
    assert len(accelerated.objectives) < len(plain.objectives)


def test_rounds_that_do_not_suffice_are_reported():
    log = random_log(np.random.default_rng(8))
    assert not fit_dbn(log, rounds=2).converged
    assert fit_cascade(log).converged
    assert fit_cascade(log).objectives == ()


A, S = np.random.default_rng(11).uniform((0.1, 0.1), (0.8, 0.9), (POOL, 2)).T
ONES = np.ones(POOL)
LISTS = random_lists(np.random.default_rng(12), number=60, pool=POOL, depth=DEPTH, shorter=2)
GAMMA, ALPHAS = 0.8, (0.85, 0.6, 0.2)
LAMBDAS = np.array([0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
BY_PLACE = np.repeat((0.85 ** np.arange(DEPTH))[:, None], DEPTH, axis=1)
BY_LAST = np.array(
    [[0.9 ** (place - last if last else place) for last in range(DEPTH)] for place in range(DEPTH)]
)
PLANTED = {
    "GCTR": FactorisedModel(ONES, np.full((DEPTH, DEPTH), 0.3), 1),
    "RCTR": FactorisedModel(ONES, BY_PLACE * 0.5, DEPTH),
    "DCTR": FactorisedModel(A, np.ones((DEPTH, DEPTH)), POOL),
    "PBM": FactorisedModel(A, BY_PLACE, 0),
    "UBM": FactorisedModel(A, BY_LAST, 0),
    "CM": CascadeModel(A, ONES, np.zeros((1, DEPTH)), 1.0, {}, 0),
    "DCM": CascadeModel(A, ONES, LAMBDAS[None, :], 1.0, {}, 0),
    "SDBN": CascadeModel(A, S, (1 - S)[:, None], 1.0, {}, 0),
    "DBN": CascadeModel(A, S, (GAMMA * (1 - S))[:, None], GAMMA, {}, 0),
    "CCM": CascadeModel(A, ONES, (ALPHAS[1] * (1 - A) + ALPHAS[2] * A)[:, None], ALPHAS[0], {}, 0),
}
MILLION = 1_000_000


@cache
def planted_log(name):
    rng = np.random.default_rng(13)
    rows = rng.integers(0, len(LISTS), MILLION)
    return simulate(PLANTED[name], LISTS, rows, documents(POOL), rng)


SHARED = {"DCM": LAMBDAS[:-1], "SDBN": [1.0], "DBN": [GAMMA], "CCM": ALPHAS}
ERRORS = {  # as the page says: of attraction, satisfaction and shared parameters, at most
    "DCM": (0.005, 0.0, 0.005),
    "SDBN": (0.005, 0.01, 0.0),
    "DBN": (0.008, 0.03, 0.001),
    "CCM": (0.008, 0.0, 0.002),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_model_recovers_its_own_parameters_in_a_million_sessions(name):
    fit, planted = click_models([name])[0].fit(planted_log(name)), PLANTED[name]
    assert fit.converged
    # about 25,000 examined impressions a document: standard errors of 0.003, and larger where hidden
    assert fit.model.attraction == pytest.approx(planted.attraction, abs=0.01)
    if isinstance(planted, FactorisedModel):
        places = np.tril_indices(DEPTH)
        assert fit.model.examination[places] == pytest.approx(planted.examination[places], abs=0.02)
    else:
        assert fit.model.relevance == pytest.approx(planted.relevance, abs=0.01)


@pytest.mark.parametrize("name", ERRORS)
def test_cascade_models_recover_their_own_parameters_as_nearly_as_the_page_says(name):
    model, (attraction, satisfaction, shared) = EM_FITS[name](planted_log(name)).model, ERRORS[name]
    assert model.attraction == pytest.approx(A, abs=attraction)
    assert model.satisfaction == pytest.approx(PLANTED[name].satisfaction, abs=satisfaction)
    assert list(model.shared.values()) == pytest.approx(SHARED[name], abs=shared)


def test_closed_forms_whose_users_stop_at_the_last_click_err_as_the_page_says():
    dcm, sdbn = closed_form_dcm(counts(planted_log("DCM"))), closed_form_sdbn(counts(planted_log("SDBN")))
    for model, mean, most in ((dcm, 0.043, 0.114), (sdbn, 0.048, 0.128)):
        assert (model.attraction - A).mean() == pytest.approx(mean, abs=0.002)
        assert np.abs(model.attraction - A).max() == pytest.approx(most, abs=0.01)
    gap = sdbn.satisfaction - S
    assert gap.mean() == pytest.approx(0.181, abs=0.005)
    assert np.abs(gap).max() == pytest.approx(0.403, abs=0.02)
    assert np.corrcoef(sdbn.relevance, A * S)[0, 1] == pytest.approx(0.89, abs=0.01)


def test_positions_that_share_no_document_with_the_first_are_reported():
    # documents 0 and 1 change places, 2 stands third only
    log = log_of([[0, 1, 2], [1, 0, 2]], {(0, 0b001): 9, (0, 0b110): 3, (1, 0b011): 5, (1, 0b100): 2}, 3)
    assert fit_factorised(log, by_last_click=False).unidentified == {"gamma[3]"}
    by_last = fit_factorised(log, by_last_click=True).unidentified
    assert {"gamma[3,1]", "gamma[3,2]"} <= by_last
    assert "gamma[2,0]" not in by_last


def test_one_list_identifies_no_examination():
    log = log_of([[0, 1, 2]], {(0, 0b001): 9, (0, 0b110): 3}, 3)
    assert fit_factorised(log, by_last_click=False).unidentified == {"gamma[2]", "gamma[3]"}
    assert fit_dbn(log).converged


def test_where_nothing_follows_a_click_its_continuation_is_not_identified():
    # position 2 is clicked only where it is the last of a list, position 3 is always the last
    log = log_of([[0, 1, 2], [1, 0, -1]], {(0, 0b001): 3, (0, 0b101): 2, (1, 0b10): 4}, 3)
    found = fit_dcm(log)
    assert found.model.shared.keys() == {"lambda[1]", "lambda[2]"}
    assert found.model.shared["lambda[2]"] == 0.5
    assert found.model.parameters == 3 + 2
    assert found.unidentified == {"lambda[2]"}


def test_satisfaction_by_what_is_always_last_is_one_half():
    log = log_of([[0, 1]], {(0, 0b01): 30, (0, 0b10): 50, (0, 0b11): 20}, 2)
    for fit in (fit_sdbn, fit_dbn):
        assert fit(log).model.satisfaction[1] == 0.5


def test_a_log_of_one_document_is_fitted():
    log = log_of([[0, -1]], {(0, 0): 3, (0, 1): 5}, 1)
    for kind in CLICK_MODELS:
        fit = kind.fit(log)
        assert marginal(fit.model, log.lists)[0] == pytest.approx([6 / 10, 0], abs=0.05), kind.name


def test_a_query_without_a_click_among_others_is_what_the_pseudo_counts_set():
    log = log_of([[0, 1], [2, 3]], {(0, 0b01): 600, (0, 0b10): 300, (0, 0): 100, (1, 0): 50}, 4)
    for kind in CLICK_MODELS:
        if kind.estimates_attraction:
            attraction = kind.fit(log).model.attraction
            assert 0 < attraction[2:].max() < attraction[:2].min(), kind.name


def test_lists_without_a_click_are_fitted():
    log = replace(HAND, masks=np.zeros_like(HAND.masks))
    for kind in CLICK_MODELS:
        fit = kind.fit(log)
        assert ((fit.model.attraction >= 0) & (fit.model.attraction <= 1)).all()
        assert np.isfinite(score(fit.model, log).log_likelihood), kind.name


def test_models_are_named_whatever_the_case():
    assert [kind.name for kind in click_models(["dbn", " PBM "])] == ["DBN", "PBM"]
    assert [kind.name for kind in click_models(["PBM", "pbm", "DBN", " pbm"])] == ["PBM", "DBN"]
    assert click_models() == CLICK_MODELS
    with pytest.raises(SettingsError, match="unknown click model 'XYZ'; known are GCTR"):
        click_models(["XYZ"])
    with pytest.raises(SettingsError, match="a click model has an empty name; choose from GCTR"):
        click_models(["PBM", " "])
