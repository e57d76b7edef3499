"""The MeanRR that a fitted click model expects of a list: the mean of 1/r over its clicks (method 5).

Clicks of a session depend on each other, so the expectation of their mean is no sum over positions. Both
recursions go down the list and carry, for each number of clicks so far, the chance of that number and the
expectation of the sum of 1/r in it; where a session ends, the sum is divide by the number.
"""

import numpy as np

from clickassay.click_models.cascade.model import CascadeModel
from clickassay.click_models.click_log import Floats, Ints, shown_values
from clickassay.click_models.factorised import FactorisedModel
from clickassay.click_models.model import ClickModel

_LISTS = 1 << 13


def expected_mean_rr(model: ClickModel, lists: Ints) -> Floats:
    """Return (L,) the expected MeanRR of (L, K) lists; 0..1, 0 where nothing is clicked.

    Raises TypeError if the model is of neither kind that is known here.
    """
    distinct, which = np.unique(lists, axis=0, return_inverse=True)
    parts = [distinct[first : first + _LISTS] for first in range(0, len(distinct), _LISTS)]
    values = np.concatenate([np.zeros(0), *(_of_lists(model, part) for part in parts)])
    return np.asarray(values[which.ravel()])


def _of_lists(model: ClickModel, lists: Ints) -> Floats:
    if isinstance(model, CascadeModel):
        return _of_cascade(model, lists)
    if isinstance(model, FactorisedModel):
        return _of_factorised(model, lists)
    raise TypeError(f"no expectation of {type(model).__name__}")


def _of_cascade(model: CascadeModel, lists: Ints) -> Floats:
    size, depth = lists.shape
    counts = np.maximum(np.arange(depth + 1), 1)
    chance, total = np.zeros((2, size, depth + 1))  # of users who examine the place, by clicks so far
    chance[:, 0] = 1.0
    expected = np.zeros(size)
    for place in range(depth):
        attracted, continuation = (values[:, None] for values in model.at(lists[:, place], place))
        clicked, of_clicked = np.zeros((2, size, depth + 1))
        clicked[:, 1:] = (attracted * chance)[:, :-1]
        of_clicked[:, 1:] = (attracted * total)[:, :-1]
        of_clicked += clicked / (place + 1)
        skipped, of_skipped = (1 - attracted) * chance, (1 - attracted) * total
        ended = (1 - continuation) * of_clicked + (1 - model.after_skip) * of_skipped
        expected += (ended / counts).sum(axis=1)
        chance = continuation * clicked + model.after_skip * skipped
        total = continuation * of_clicked + model.after_skip * of_skipped
    return np.asarray(expected + (total / counts).sum(axis=1))


def _of_factorised(model: FactorisedModel, lists: Ints) -> Floats:
    size, depth = lists.shape
    chance, total = np.zeros((2, size, depth + 1, depth + 1))  # by last click, and by clicks so far
    chance[:, 0, 0] = 1.0
    for place in range(depth):
        attracted = shown_values(model.attraction, lists[:, place])
        click = (attracted[:, None] * model.examination[place, : place + 1])[:, :, None]
        clicked, of_clicked = (click * values[:, : place + 1] for values in (chance, total))
        chance[:, : place + 1] -= clicked
        total[:, : place + 1] -= of_clicked
        chance[:, place + 1, 1:] = clicked.sum(axis=1)[:, :-1]
        total[:, place + 1, 1:] = of_clicked.sum(axis=1)[:, :-1] + chance[:, place + 1, 1:] / (place + 1)
    return np.asarray((total.sum(axis=1) / np.maximum(np.arange(depth + 1), 1)).sum(axis=1))
