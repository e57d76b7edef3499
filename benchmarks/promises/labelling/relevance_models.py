"""Rankers that are learned from grades, and their grade probabilities."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.promises.labelling.collections_of_documents import Collection
from benchmarks.promises.labelling.pools import GRADES, Floats
from clickassay.studies.labelling.ordered_logit import OrderedLogit, fit_ordered_logit

Features = NDArray[np.float32]

TREES = 20
MOST_OF_A_TREE = 20_000
"""Documents that one tree is grown on, at most."""

MOST_SHARE = 0.6
"""Of the documents that one tree is grown on: each document is out of the bag of some tree."""

MOST_TO_CALIBRATE = 10_000
"""Documents that thresholds are fitted on, at most."""

ROUNDS = 3
"""Weights and thresholds in turn: more rounds no longer move them."""

RIDGE = 1.0


@dataclass(frozen=True)
class Scored:
    """The predictions of a model: (D,) scores to rank by, (D, G) grade probabilities, if it has any."""

    scores: Floats
    probabilities: Floats | None


Model = Callable[[Features], Scored]


def forest(train: Collection, seed: int) -> Model:
    """Random forest regression; probabilities by ordered logit of the predictions out of the bag."""
    trees = RandomForestRegressor(oob_score=True, **_growth(train, seed))
    trees.fit(train.features, train.grades)
    logit = _calibrated(trees.oob_prediction_, train)

    def model(features: Features) -> Scored:
        scores = trees.predict(features)
        return Scored(scores, logit.probabilities(scores))

    return model


def forest_on_half(train: Collection, seed: int) -> Model:
    """Random forest regression on every other query."""
    return forest(train.only(np.arange(len(train.costs)) % 2 == 0), seed)


def forest_classification(train: Collection, seed: int) -> Model:
    """Random forest classification: probabilities from the leaves, documents sorted by the mean grade."""
    trees = RandomForestClassifier(**_growth(train, seed)).fit(train.features, train.grades)

    def model(features: Features) -> Scored:
        probabilities = np.zeros((len(features), GRADES))
        probabilities[:, trees.classes_] = trees.predict_proba(features)
        return Scored(probabilities @ np.arange(GRADES), probabilities)

    return model


def ordered_logit(train: Collection, _: int) -> Model:
    """Ordered logit with a penalty on its weights: weights and thresholds in turn, from least squares on."""
    centre, spread = train.features.mean(axis=0), train.features.std(axis=0) + 1e-6
    own = ((train.features - centre) / spread).astype(np.float64)
    weights = _least_squares(own, train.grades - train.grades.mean())
    for _ in range(ROUNDS):
        logit = _calibrated(own @ weights, train)
        weights = _likeliest(own, train, logit, weights * logit.slope)
    last = _calibrated(own @ weights, train)

    def model(features: Features) -> Scored:
        scores = ((features - centre) / spread).astype(np.float64) @ weights
        return Scored(scores, last.probabilities(scores))

    return model


def linear(train: Collection, _: int) -> Model:
    """Least squares of differences within queries, a pairwise model; it has no grade probabilities."""
    features, grades = _within(train, train.features), _within(train, train.grades[:, None])[:, 0]
    weights = _least_squares(features, grades)
    return lambda features: Scored(features.astype(np.float64) @ weights, None)


MODELS: Mapping[str, Callable[[Collection, int], Model]] = MappingProxyType(
    {
        "forest": forest,
        "forest classification": forest_classification,
        "ordered logit": ordered_logit,
        "linear": linear,
        "forest on half": forest_on_half,
    }
)


def _growth(train: Collection, seed: int) -> dict[str, float | int]:
    share = min(MOST_SHARE, MOST_OF_A_TREE / len(train.grades))
    return {
        "n_estimators": TREES,
        "min_samples_leaf": 5,
        "max_features": 1 / 3,
        "max_samples": share,
        "random_state": seed,
    }


def _calibrated(scores: Floats, train: Collection) -> OrderedLogit:
    step = -(-len(scores) // MOST_TO_CALIBRATE)
    return fit_ordered_logit(scores[::step], train.grades[::step], grades_of_scale=GRADES)


def _likeliest(own: Floats, train: Collection, logit: OrderedLogit, start: Floats) -> Floats:
    """Return the weights that make the grades likeliest, given the thresholds.

    With F(u) and F(l) the probabilities of at most the grade and of less, d log(F(u) - F(l)) / d score is
    F(u) + F(l) - 1.
    """
    edges = np.concatenate([[-np.inf], logit.thresholds, [np.inf]])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = own @ weights
        upper, lower = expit(edges[train.grades + 1] - scores), expit(edges[train.grades] - scores)
        value = RIDGE * weights @ weights - np.log(np.maximum(upper - lower, 1e-300)).sum()
        return float(value), 2 * RIDGE * weights - own.T @ (upper + lower - 1)

    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def _least_squares(features: Floats, target: Floats) -> Floats:
    square = features.T @ features + RIDGE * np.eye(features.shape[1])
    return np.asarray(np.linalg.solve(square, features.T @ target))


def _within(train: Collection, values: NDArray[np.generic]) -> Floats:
    """Return (D, n) values less their mean over the query."""
    sums = np.add.reduceat(values.astype(np.float64), train.offsets[:-1])
    means = sums / np.diff(train.offsets)[:, None]
    return np.asarray(values - means[train.of_query])
