"""Click models side by side: fitted on some sessions, tried on others."""

from collections.abc import Sequence
from dataclasses import dataclass

from clickassay.click_models.catalogue import ClickModelKind
from clickassay.click_models.click_log import Floats
from clickassay.click_models.examination import examination
from clickassay.click_models.held_out import Halves
from clickassay.click_models.model import Fit
from clickassay.click_models.scores import Score, score
from clickassay.progress import Progress, silent


@dataclass(frozen=True)
class Tried:
    """A model fitted on one part and tried on the other.

    Attributes
    ----------
    kind, fit
        The model, and how it was fitted.
    score
        On the sessions held out.
    examined
        (K,) share of the sessions fitted on in which a position is examined; NaN where nothing is shown.
    """

    kind: ClickModelKind
    fit: Fit
    score: Score
    examined: Floats


def compare(
    halves: Halves, kinds: Sequence[ClickModelKind], *, smoothing: float, progress: Progress = silent
) -> list[Tried]:
    """Fit each of the models and try it on what was held out."""
    tried = []
    for number, kind in enumerate(kinds):
        progress(f"fitting {kind.name}", number / len(kinds))
        fit = kind.fit(halves.fit, smoothing=smoothing)
        tried.append(Tried(kind, fit, score(fit.model, halves.test), examination(fit.model, halves.fit)))
    return tried


def foretells_best(tried: Sequence[Tried]) -> Tried | None:
    """Return the model of the largest log-likelihood among those that tell examination; None without any."""
    telling = [one for one in tried if one.kind.tells_examination]
    return max(telling, key=lambda one: (one.score.log_likelihood, -one.score.perplexity), default=None)
