"""Grades of the editors: the true grades, with errors and gaps."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.inputs.simulate.corpus import MAX_GRADE, Corpus
from clickassay.inputs.simulate.worlds import Noise


@dataclass(frozen=True)
class SimulatedJudgments:
    """The J judgments."""

    documents: NDArray[np.int64]  # (J,) judged document; ascending, each at most once.
    grades: NDArray[np.int8]  # (J,) grade that the editor gave; 0..4.


def judge(corpus: Corpus, noise: Noise, rng: np.random.Generator) -> tuple[SimulatedJudgments, Counter[str]]:
    """Judge the documents of a corpus; also count what was planted.

    A wrong grade is one grade off, up or down with equal chance where the scale allows both.
    """
    errs = rng.random(len(corpus.grades)) < noise.editor_error
    up = rng.random(len(corpus.grades)) < 0.5
    up = (up | (corpus.grades == 0)) & (corpus.grades < MAX_GRADE)
    given = corpus.grades + errs * np.where(up, np.int8(1), np.int8(-1))
    documents = np.flatnonzero(rng.random(len(corpus.grades)) >= noise.unjudged)
    planted = Counter(
        {
            "documents": len(corpus.grades),
            "judgments": len(documents),
            "judgments one grade off": int(errs[documents].sum()),
        }
    )
    return SimulatedJudgments(documents, given[documents]), planted
