"""How well a click model foretells clicks: log-likelihood, and perplexity by position."""

from dataclasses import dataclass

import numpy as np

from clickassay.click_models.click_log import ClickLog, Floats, total
from clickassay.click_models.model import ClickModel


@dataclass(frozen=True)
class Score:
    """How well a model foretells clicks.

    Attributes
    ----------
    sessions
        Sessions it was tried on.
    excluded
        Of these, sessions that are impossible to the model, such as two clicks to the cascade model.
    log_likelihood
        Of a session on average, natural logarithm; minus infinity if any is excluded.
    perplexities
        (K,) by position, whatever was clicked above: 1 = every click foretold, 2 = as good as tossing a coin
        (Dupret and Piwowarski 2008); infinite if something impossible was seen, NaN where nothing was shown.
    perplexity
        Their average over positions where something was shown.
    """

    sessions: int
    excluded: int
    log_likelihood: float
    perplexities: Floats
    perplexity: float


def score(model: ClickModel, log: ClickLog) -> Score:
    """Try a model on at least one session, best on others than it was fitted on."""
    sessions, excluded, likelihood = int(log.sessions.sum()), 0, 0.0
    for chunk in log.chunks():
        of_patterns = log_likelihoods(model, chunk)
        likelihood += total(chunk.sessions, of_patterns)
        excluded += int(chunk.sessions[of_patterns == -np.inf].sum())
    perplexities = _perplexities(model, log)
    known = perplexities[~np.isnan(perplexities)]
    return Score(sessions, excluded, likelihood / sessions, perplexities, float(known.mean()))


def log_likelihoods(model: ClickModel, log: ClickLog) -> Floats:
    """Return (P,) the natural logarithm of the probability of each pattern; minus infinity if impossible."""
    clicks, lists = log.clicks, log.lists[log.rows]
    chances = model.conditional(lists, lambda place, _chance: clicks[:, place])
    with np.errstate(divide="ignore"):
        seen = np.log(np.where(clicks, chances, 1 - chances))
    return np.asarray(np.where(log.shown[log.rows], seen, 0.0).sum(axis=1))


def _perplexities(model: ClickModel, log: ClickLog) -> Floats:
    """2 to the power of the mean surprise in bits at each position."""
    sessions, clicks = log.by_list()
    chances = model.marginal(log.lists)
    skips = np.where(log.shown, sessions[:, None] - clicks, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_clicks = np.where(clicks > 0, clicks * np.log2(chances), 0.0)
        of_skips = np.where(skips > 0, skips * np.log2(1 - chances), 0.0)
        return np.asarray(2 ** (-(of_clicks + of_skips).sum(axis=0) / (clicks + skips).sum(axis=0)))
