"""The click models, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from clickassay.click_models.cascade import fit_cascade, fit_ccm, fit_dbn, fit_dcm, fit_sdbn
from clickassay.click_models.factorised import (
    fit_factorised,
    fit_rate,
    fit_rates_by_document,
    fit_rates_by_position,
)
from clickassay.click_models.model import Fit
from clickassay.core.errors import SettingsError
from clickassay.core.text.words import did_you_mean


@dataclass(frozen=True)
class ClickModelKind:
    """A click model that can be fitted."""

    name: str  # Its short name in the literature.
    line: str  # What it assumes of users, in one line.
    source: str  # Where it comes from.
    # (log, pseudo_count=clicks and skips that are added for each parameter) -> `Fit`.
    fit: Callable[..., Fit]
    estimates_attraction: bool = True  # Whether each document has a parameter of its own.
    estimates_examination: bool = True  # Whether it separates examination from attraction.
    estimates_satisfaction: bool = False  # Whether it separates satisfaction from attraction.


CLICK_MODELS = (
    ClickModelKind(
        "GCTR", "one rate of clicks for all", "baseline", fit_rate,
        estimates_attraction=False, estimates_examination=False,
    ),
    ClickModelKind(
        "RCTR", "a rate of clicks by position", "baseline", fit_rates_by_position,
        estimates_attraction=False, estimates_examination=False,
    ),
    ClickModelKind(
        "DCTR", "a rate of clicks by document", "baseline", fit_rates_by_document, estimates_examination=False
    ),
    ClickModelKind(
        "PBM", "position-based: each position has its chance to be examined", "Craswell et al. 2008",
        partial(fit_factorised, by_last_click=False),
    ),
    ClickModelKind(
        "CM", "cascade: users go down the list and end with their first click", "Craswell et al. 2008",
        fit_cascade,
    ),
    ClickModelKind(
        "DCM", "dependent clicks: a click ends it or not, by position", "Guo, Liu and Wang 2009", fit_dcm
    ),
    ClickModelKind(
        "SDBN", "simplified dynamic Bayesian network: a click that satisfies ends it",
        "Chapelle and Zhang 2009, section 5", fit_sdbn, estimates_satisfaction=True,
    ),
    ClickModelKind(
        "DBN", "dynamic Bayesian network: as SDBN, and users may give up",
        "Chapelle and Zhang 2009, section 4", fit_dbn, estimates_satisfaction=True,
    ),
    ClickModelKind(
        "UBM", "user browsing: examination depends on position and last click",
        "Dupret and Piwowarski 2008", partial(fit_factorised, by_last_click=True),
    ),
    ClickModelKind(
        "CCM", "click chain: what a click does depends on relevance", "Guo et al. 2009", fit_ccm
    ),
)  # fmt: skip
"""Baselines first, then from simple to rich."""


PSEUDO_COUNT = 1.0
"""Pseudo-count of models in runs."""


def click_models(names: Sequence[str] = ()) -> tuple[ClickModelKind, ...]:
    """Return models by name, each once, whatever the case; all of them when none is named.

    Raises SettingsError if a name is empty, or there is no such model.
    """
    known = {kind.name: kind for kind in CLICK_MODELS}
    asked = {name.strip().upper(): name for name in names}
    if "" in asked:
        raise SettingsError(f"the name of a click model is empty; known are {', '.join(known)}")
    unknown = [name for upper, name in asked.items() if upper not in known]
    if unknown:
        raise SettingsError(f"unknown click model {unknown[0]!r}; {did_you_mean(unknown[0], known)}")
    return tuple(known[upper] for upper in asked) or CLICK_MODELS
