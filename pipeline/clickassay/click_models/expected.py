"""The click metrics that a fit expects of a list (method 5): their means over its users.

Clicks of a session depend on each other, so most expectations are no sums over positions. The recursions go
down the list and carry, for each number of clicks so far, its chance, and the expectation of the sum of 1/r
in it; where a session ends, the sum is divided by the number.
"""

from dataclasses import dataclass

import numpy as np

from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.click_log import Floats, Ints, shown_values
from clickassay.click_models.factorised import FactorisedModel
from clickassay.click_models.model import ClickModel

_LISTS = 1 << 13


def expected_mean_rr(model: ClickModel, lists: Ints) -> Floats:
    """Return (L,) the expected MeanRR of (L, K) lists; 0..1, 0 where nothing is clicked.

    Raises TypeError if the model is of neither kind that is known here.
    """
    return expected_clicks(model, lists)["MeanRR"]


def expected_clicks(model: ClickModel, lists: Ints) -> dict[str, Floats]:
    """Return (L,) the expected click metrics of (L, K) lists by name, all but SS, which needs grades.

    Raises TypeError if the model is of neither kind that is known here.
    """
    distinct, which = np.unique(lists, axis=0, return_inverse=True)
    parts = [_metrics(model, distinct[first : first + _LISTS]) for first in range(0, len(distinct), _LISTS)]
    parts = parts or [_metrics(model, distinct)]
    return {name: np.concatenate([part[name] for part in parts])[which.ravel()] for name in parts[0]}


@dataclass(frozen=True)
class _Clicks:
    """Expectations of L lists."""

    mean_rr: Floats  # (L,)
    first: Floats  # (L,) of 1 / position of the first click.
    joint: Floats  # (L, K + 1, K + 1) chances of the last position clicked, 0 = none, and number of clicks.


def _metrics(model: ClickModel, lists: Ints) -> dict[str, Floats]:
    if isinstance(model, CascadeModel):
        found = _of_cascade(model, lists)
    elif isinstance(model, FactorisedModel):
        found = _of_factorised(model, lists)
    else:
        raise TypeError(f"no expectation of {type(model).__name__}")
    last, number = found.joint.sum(axis=2), found.joint.sum(axis=1)
    counts, places = np.arange(lists.shape[1] + 1), np.arange(1, lists.shape[1] + 1)
    return {
        "UCTR": 1 - number[:, 0],
        "MaxRR": found.first,
        "MeanRR": found.mean_rr,
        "MinRR": (last[:, 1:] / places).sum(axis=1),
        "PLC": ((found.joint[:, 1:] * counts).sum(axis=2) / places).sum(axis=1),
        "QCTR": (number * counts).sum(axis=1),
    }


def _of_cascade(model: CascadeModel, lists: Ints) -> _Clicks:
    size, depth = lists.shape
    counts = np.maximum(np.arange(depth + 1), 1)
    silent = np.ones((depth + 1, size))  # chance of no click from a place on, if it is examined
    for place in reversed(range(depth)):
        unclicked = 1 - shown_values(model.attraction, lists[:, place])
        silent[place] = unclicked * (1 - model.after_skip + model.after_skip * silent[place + 1])
    chance, total = np.zeros((2, size, depth + 1))  # of users who examine the place, by clicks so far
    chance[:, 0] = 1.0
    expected, first = np.zeros((2, size))
    joint = np.zeros((size, depth + 1, depth + 1))
    joint[:, 0, 0] = silent[0]
    for place in range(depth):
        attracted, continuation = (values[:, None] for values in model.at(lists[:, place], place))
        clicked, of_clicked = np.zeros((2, size, depth + 1))
        clicked[:, 1:] = (attracted * chance)[:, :-1]
        of_clicked[:, 1:] = (attracted * total)[:, :-1]
        of_clicked += clicked / (place + 1)
        first += clicked[:, 1] / (place + 1)
        joint[:, place + 1] = clicked * (1 - continuation + continuation * silent[place + 1][:, None])
        skipped, of_skipped = (1 - attracted) * chance, (1 - attracted) * total
        ended = (1 - continuation) * of_clicked + (1 - model.after_skip) * of_skipped
        expected += (ended / counts).sum(axis=1)
        chance = continuation * clicked + model.after_skip * skipped
        total = continuation * of_clicked + model.after_skip * of_skipped
    return _Clicks(np.asarray(expected + (total / counts).sum(axis=1)), first, joint)


def _of_factorised(model: FactorisedModel, lists: Ints) -> _Clicks:
    size, depth = lists.shape
    chance, total = np.zeros((2, size, depth + 1, depth + 1))  # by last click, and by clicks so far
    chance[:, 0, 0] = 1.0
    first = np.zeros(size)
    for place in range(depth):
        attracted = shown_values(model.attraction, lists[:, place])
        click = (attracted[:, None] * model.examination[place, : place + 1])[:, :, None]
        clicked, of_clicked = (click * values[:, : place + 1] for values in (chance, total))
        first += clicked[:, 0, 0] / (place + 1)
        chance[:, : place + 1] -= clicked
        total[:, : place + 1] -= of_clicked
        chance[:, place + 1, 1:] = clicked.sum(axis=1)[:, :-1]
        total[:, place + 1, 1:] = of_clicked.sum(axis=1)[:, :-1] + chance[:, place + 1, 1:] / (place + 1)
    means = (total.sum(axis=1) / np.maximum(np.arange(depth + 1), 1)).sum(axis=1)
    return _Clicks(np.asarray(means), first, chance)
