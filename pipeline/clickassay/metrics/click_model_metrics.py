"""Editorial metrics of click models: the MeanRR that a model expects of a list of grades."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import SettingsError
from clickassay.core.records import Floats
from clickassay.metrics.definition import Metric

CLICK_MODELS = "click_models"
"""Name of the array in `Metric.needs` that has the fitted models."""

Expectation = Callable[[NDArray[np.integer]], Floats]
"""(N, k) grades -> (N,) the MeanRR that a model expects."""

_NAMES = {
    "PBM": "position-based model",
    "CM": "cascade model",
    "DCM": "dependent click model",
    "SDBN": "simplified dynamic Bayesian network",
    "DBN": "dynamic Bayesian network",
    "UBM": "user browsing model",
    "CCM": "click chain model",
}


def _expected(grades: NDArray[np.integer], fitted: Mapping[str, Expectation], *, model: str) -> Floats:
    if model not in fitted:
        raise SettingsError(
            f"metric {model} needs a fitted click model, and none was fitted: "
            "make the pattern table with --folds 2 or more (16 by default)"
        )
    return fitted[model](grades)


MODEL_METRICS = tuple(
    Metric(
        name, f"MeanRR that the {words} expects", 0, 1, "ours, after Chapelle et al. 2009, section 7",
        partial(_expected, model=name), ("grades", CLICK_MODELS),
    )
    for name, words in _NAMES.items()
)  # fmt: skip
"""One for each click model that separates examination from attraction."""
