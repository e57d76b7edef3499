"""Sessions to fit on, and others to try the fit on."""

from dataclasses import dataclass, replace

import numpy as np

from clickassay.click_models.click_log import ClickLog, check_clicked
from clickassay.errors import ClickModelError


@dataclass(frozen=True)
class Halves:
    """A log in two parts over the same lists.

    Attributes
    ----------
    fit, test
        What models are fitted on, and tried on.
    by_users
        Whether no user is in both; else sessions were drawn.
    """

    fit: ClickLog
    test: ClickLog
    by_users: bool


def drawn_halves(log: ClickLog, *, share: float, seed: int) -> Halves:
    """Hold out sessions at random, each with the chance `share`.

    The sessions of a pattern are alike, so counts are thinned.

    Parameters
    ----------
    share
        0 < share < 1.
    seed
        The same seed draws the same sessions.

    Raises
    ------
    ClickModelError
        If no session is drawn, or all are, or none of those to fit on has a click.
    """
    drawn = np.random.default_rng(seed).binomial(log.sessions, share)
    fit, test = (replace(log, sessions=counts).some(counts > 0) for counts in (log.sessions - drawn, drawn))
    return _checked(Halves(fit, test, by_users=False), "give more sessions, or another --held-out")


def halves_by_users(log: ClickLog, of_others: ClickLog) -> Halves:
    """Fit on one log, try on that of other users.

    Raises
    ------
    ClickModelError
        If one has no session, or the one to fit on no click.
    """
    return _checked(Halves(log, of_others, by_users=True), "make the pattern table with fewer --folds")


def _checked(halves: Halves, remedy: str) -> Halves:
    for name, part in (("to fit on", halves.fit), ("held out", halves.test)):
        if not len(part.sessions):
            raise ClickModelError(f"click models: there are no sessions {name}; {remedy}")
    check_clicked(halves.fit)
    return halves
