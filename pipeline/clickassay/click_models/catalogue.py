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
        "GCTR", "one click rate for all results", "baseline", fit_rate,
        estimates_attraction=False, estimates_examination=False,
    ),
    ClickModelKind(
        "RCTR", "one click rate per position", "baseline", fit_rates_by_position,
        estimates_attraction=False, estimates_examination=False,
    ),
    ClickModelKind(
        "DCTR", "one click rate per document", "baseline", fit_rates_by_document, estimates_examination=False
    ),
    ClickModelKind(
        "PBM", "position-based: each position has its own chance of being examined", "Craswell et al. 2008",
        partial(fit_factorised, by_last_click=False),
    ),
    ClickModelKind(
        "CM", "cascade: users read down the ranking and stop at their first click", "Craswell et al. 2008",
        fit_cascade,
    ),
    ClickModelKind(
        "DCM", "dependent clicks: whether users stop after a click depends on its position",
        "Guo, Liu and Wang 2009", fit_dcm
    ),
    ClickModelKind(
        "SDBN", "simplified dynamic Bayesian network: users stop at a click that satisfies",
        "Chapelle and Zhang 2009, section 5", fit_sdbn, estimates_satisfaction=True,
    ),
    ClickModelKind(
        "DBN", "dynamic Bayesian network: like SDBN, but users may give up",
        "Chapelle and Zhang 2009, section 4", fit_dbn, estimates_satisfaction=True,
    ),
    ClickModelKind(
        "UBM", "user browsing: examination depends on position and last click",
        "Dupret and Piwowarski 2008", partial(fit_factorised, by_last_click=True),
    ),
    ClickModelKind(
        "CCM", "click chain: whether users go on after a click depends on relevance",
        "Guo et al. 2009", fit_ccm
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
        raise SettingsError(f"a click model has an empty name; choose from {', '.join(known)}")
    unknown = [name for upper, name in asked.items() if upper not in known]
    if unknown:
        raise SettingsError(f"unknown click model {unknown[0]!r}; {did_you_mean(unknown[0], known)}")
    return tuple(known[upper] for upper in asked) or CLICK_MODELS


def check_pseudo_count(pseudo_count: float) -> None:
    """Raise SettingsError if it is not 0 to a million."""
    if not 0 <= pseudo_count <= 1e6:
        raise SettingsError(f"--pseudo-count {pseudo_count}: expected a number from 0 to a million, e.g. 1")
