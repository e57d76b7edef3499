"""Small pools for Hypothesis, as the oracle sees them and as the pipeline does; and simulated ones."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from clickassay.studies.labelling.pool import RankedDocuments, pool_of
from support.runs.enumerated import Query

COSTS = st.integers(1, 9).map(lambda n: Fraction(n, 2))


@st.composite
def probability_rows(draw, grades):
    """Chances of the grades of a document; some are 0."""
    counts = draw(st.lists(st.integers(0, 4), min_size=grades, max_size=grades).filter(any))
    return [Fraction(count, sum(counts)) for count in counts]


@st.composite
def queries_to_label(draw, grades, rankings, documents):
    """A query whose lists have some of its documents each, in any order; a list may be empty."""
    size = draw(st.integers(0, documents))
    lists = [draw(st.permutations(range(size))) for _ in range(rankings)]
    return Query(
        probabilities=[draw(probability_rows(grades)) for _ in range(size)],
        rankings=[places[: draw(st.integers(0, size))] for places in lists],
        cost=draw(COSTS),
        weight=draw(st.integers(1, 3).map(Fraction)),
    )


@st.composite
def small_pools(draw, rankings, documents=4, most=4):
    """A few queries of one scale of two to five grades."""
    grades = draw(st.integers(2, 5))
    # 5 grades of 6 documents are 15,625 vectors: two to three documents fewer for the larger scales
    fewer = {2: 0, 3: 0, 4: 1, 5: 1}[grades]
    each = queries_to_label(grades, rankings, max(1, documents - fewer))
    return grades, draw(st.lists(each, min_size=1, max_size=most))


def flattened(lists, starts):
    """A ranking of places that are counted within each query."""
    documents = [start + place for places, start in zip(lists, starts, strict=False) for place in places]
    offsets = np.concatenate([[0], np.cumsum([len(places) for places in lists])])
    return RankedDocuments(np.array(documents, dtype=np.int64), offsets.astype(np.int64))


def pool_from(queries, grades):
    """The pool of what the oracle is given."""
    sizes = [len(query.probabilities) for query in queries]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = [[float(one) for one in row] for query in queries for row in query.probabilities]
    return pool_of(
        [f"q{number}" for number in range(len(queries))],
        starts,
        np.array(rows, dtype=np.float64).reshape(-1, grades),
        [flattened([q.rankings[n] for q in queries], starts) for n in range(len(queries[0].rankings))],
        costs=[float(query.cost) for query in queries],
        weights=[float(query.weight) for query in queries],
    )
