"""Click models side by side: fitted on some sessions, evaluated on others.

How well a model predicts clicks is its log-likelihood, and its perplexity by position, on sessions held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clickassay.click_models.catalogue import ClickModelKind
from clickassay.click_models.click_log import ClickLog, Floats, check_clicked, total
from clickassay.click_models.model import ClickModel, Fit, marginal
from clickassay.core.errors import ClickModelError
from clickassay.core.progress import Event, Progress, silent


@dataclass(frozen=True)
class TrainTestSplit:
    """A log in two parts over the same lists."""

    # train, test: What models are fitted on, and evaluated on.
    train: ClickLog
    test: ClickLog
    by_users: bool  # Whether no user is in both; else sessions were drawn.


def split_sessions(log: ClickLog, *, share: float, seed: int) -> TrainTestSplit:
    """Hold out sessions at random, each with the chance `share`.

    The sessions of a pattern are alike, so counts are thinned.

    Raises ClickModelError if no session is drawn, or all are, or none of those to fit on has a click.
    """
    drawn = np.random.default_rng(seed).binomial(log.sessions, share)
    train, test = (replace(log, sessions=counts).some(counts > 0) for counts in (log.sessions - drawn, drawn))
    split = TrainTestSplit(train, test, by_users=False)
    return _check_split(split, "use more sessions, or another --held-out")


def split_by_users(log: ClickLog, of_others: ClickLog) -> TrainTestSplit:
    """Fit on one log, evaluate on the log of other users.

    Raises ClickModelError if one has no session, or the one to fit on no click.
    """
    split = TrainTestSplit(log, of_others, by_users=True)
    return _check_split(split, "build the pattern table with fewer --folds")


def _check_split(split: TrainTestSplit, remedy: str) -> TrainTestSplit:
    """Return the split if both of its parts have sessions, and the one to fit on a click."""
    for name, part in (("to fit on", split.train), ("held out", split.test)):
        if not len(part.sessions):
            raise ClickModelError(f"click models: there are no sessions {name}; {remedy}")
    check_clicked(split.train)
    return split


@dataclass(frozen=True)
class Score:
    """How well a model predicts clicks."""

    sessions: int  # Sessions it was evaluated on.
    # Of these, sessions that are impossible to the model, such as two clicks to the cascade model.
    excluded: int
    log_likelihood: float  # Of a session on average, natural logarithm; minus infinity if any is excluded.
    # (K,) by position, whatever was clicked above: 1 = every click predicted, 2 = as good as tossing a coin
    # (Dupret and Piwowarski 2008); infinite if something impossible was seen, NaN where nothing was shown.
    perplexities: Floats
    perplexity: float  # Their average over positions where something was shown.


def score(model: ClickModel, log: ClickLog) -> Score:
    """Evaluate a model on at least one session, best on others than it was fitted on."""
    sessions, excluded, likelihood = int(log.sessions.sum()), 0, 0.0
    for chunk in log.chunks():
        of_patterns = log_likelihoods(model, chunk)
        likelihood += total(chunk.sessions, of_patterns)
        excluded += int(chunk.sessions[of_patterns == -np.inf].sum())
    shows, clicks = log.by_list()
    chances = marginal(model, log.lists)
    skips = np.where(log.shown, shows[:, None] - clicks, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_clicks = np.where(clicks > 0, clicks * np.log2(chances), 0.0)
        of_skips = np.where(skips > 0, skips * np.log2(1 - chances), 0.0)
        # 2 to the power of the mean surprise in bits
        surprise = -(of_clicks + of_skips).sum(axis=0) / (clicks + skips).sum(axis=0)
    perplexities = np.asarray(2**surprise)
    known = perplexities[~np.isnan(perplexities)]
    return Score(sessions, excluded, likelihood / sessions, perplexities, float(known.mean()))


@dataclass(frozen=True)
class EvaluatedModel:
    """A model fitted on one part and evaluated on the other."""

    # kind, fit: The model, and how it was fitted.
    kind: ClickModelKind
    fit: Fit
    score: Score  # On the sessions held out.
    # (K,) share of the sessions fitted on in which a position is examined; NaN where nothing is shown.
    examined: Floats


def compare(
    split: TrainTestSplit,
    kinds: Sequence[ClickModelKind],
    *,
    pseudo_count: float,
    progress: Progress = silent,
) -> list[EvaluatedModel]:
    """Fit each of the models and evaluate it on what was held out."""
    evaluated = []
    for number, kind in enumerate(kinds):
        progress(Event(f"fitting {kind.name}", number / len(kinds)))
        fit = kind.fit(split.train, pseudo_count=pseudo_count)
        examined = examination(fit.model, split.train)
        evaluated.append(EvaluatedModel(kind, fit, score(fit.model, split.test), examined))
    return evaluated


def best_predictor(evaluated: Sequence[EvaluatedModel]) -> EvaluatedModel | None:
    """Return the model of largest log-likelihood that estimates examination; None without any."""
    own = [one for one in evaluated if one.kind.estimates_examination]
    return max(own, key=lambda one: (one.score.log_likelihood, -one.score.perplexity), default=None)


def log_likelihoods(model: ClickModel, log: ClickLog) -> Floats:
    """Return (P,) the natural logarithm of the probability of each pattern; minus infinity if impossible."""
    clicks, lists = log.clicks, log.lists[log.rows]
    chances = model.conditional(lists, lambda place, _chance: clicks[:, place])
    with np.errstate(divide="ignore"):
        seen = np.log(np.where(clicks, chances, 1 - chances))
    return np.asarray(np.where(log.shown[log.rows], seen, 0.0).sum(axis=1))


# ---- examination, and the discounts of metrics (Chapelle et al. 2009, Figure 1) --------------------


def examination(model: ClickModel, log: ClickLog) -> Floats:
    """Return (K,) the share of sessions in which a position is examined, of the sessions with a result there.

    NaN where no session has one. It is the average of the model's chance over the log.
    """
    sessions, _ = log.by_list()
    weights = np.where(log.shown, sessions[:, None], 0).astype(np.float64)
    total = weights.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray((weights * model.examined(log.lists)).sum(axis=0) / total)


def dcg_discount(depth: int) -> Floats:
    """Return (K,) 1 / log2(r + 1)."""
    return np.asarray(1 / np.log2(np.arange(2, depth + 2)))


def rbp_discount(persistence: float, depth: int) -> Floats:
    """Return (K,) p^(r - 1)."""
    return np.asarray(persistence ** np.arange(depth))


def best_persistence(examined: Floats) -> float | None:
    """Return the p of RBP whose discount comes nearest to examination relative to the first position.

    examined: (K,) chances of examination; NaN where unknown.

    Returns the p in 0..1 that minimises the sum over positions of (p^(r-1) - examined[r] / examined[1])^2;
    None where fewer than two positions are known, or the first is never examined.
    """
    known = ~np.isnan(examined)
    if not known[0] or known.sum() < 2 or examined[0] <= 0:
        return None
    relative, ranks = examined / examined[0], np.arange(len(examined))

    # the sum may have more than one dip: the whole range first, then finer around the lowest value
    near = 0.5
    for width in (0.5, 1e-2, 2e-4):
        grid = np.linspace(max(near - width, 0.0), min(near + width, 1.0), 101)
        tried = np.append(near, grid)
        apart = (tried[:, None] ** ranks - relative)[:, known]
        near = float(tried[(apart**2).sum(axis=1).argmin()])

    # around a minimum a sum hardly changes, so comparing sums finds only half of the digits of the place: it
    # is where the slope is 0, or the lowest known place if that is at an end
    def slope(persistence: float) -> float:
        apart = (persistence**ranks - relative)[known]
        return float(np.sum(apart * (ranks * persistence ** np.maximum(ranks - 1, 0))[known]))

    low, high = max(near - 4e-6, 0.0), min(near + 4e-6, 1.0)
    if not slope(low) < 0 < slope(high):
        return near
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high
