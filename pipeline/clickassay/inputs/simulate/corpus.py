"""Made-up queries, their documents with true grades, and the lists of several rankers.

Users and clicks play no part here. The size of a corpus depends on the number of queries only, so it
stays in memory however long the log is.
"""

from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clickassay.inputs.simulate.indices import Shares
from clickassay.inputs.simulate.worlds import Noise, Pages

DEPTH = 10
"""Results per page."""

MAX_GRADE = 4
RANKERS = 10
DOCUMENTS = (15, 25)
"""Fewest and most judged documents of a query."""

WORD_SHARES = (0.20, 0.33, 0.25, 0.14, 0.08)
"""Shares of queries with 1, 2, 3, 4 and 5 words."""

NAVIGATIONAL_SHARES = (0.45, 0.30, 0.10, 0.03, 0.0)
"""Shares of navigational queries among queries with 1, 2, 3, 4 and 5 words."""

GRADE_SHARES = (0.42, 0.28, 0.18, 0.09, 0.03)
"""Shares of the grades 0..4 among the documents of queries that are not navigational."""

RANKER_NOISE = (0.6, 3.0)
"""Standard deviation, in grades, of the error of the best and of the worst ranker."""

NAVIGATIONAL_LIFT = 3.0
"""Rankers know the page that a navigational query seeks: this is added to its score, in grades."""

POPULARITY_EXPONENT = 0.8
CLICKBAIT_SHARE = 0.2
"""Share of bad and fair documents whose snippet promises more than the page holds."""

_CLICKBAIT = 8  # added to a grade
_BLOCK = 10_000  # queries ranked at a time: bounds the memory of the scores


@dataclass(frozen=True)
class Corpus:
    """Q queries, most popular first, and their D documents."""

    queries: Any  # (Q,) texts, distinct, 1 to 5 words.
    navigational: NDArray[np.bool_]  # (Q,) whether one certain page is sought.
    popularity: Shares  # Shares of the Q queries in all searches.
    urls: Any  # (D,) URLs, distinct.
    query_of: NDArray[np.int32]  # (D,) query of each document; ascending.
    grades: NDArray[np.int8]  # (D,) true grade; 0..4.
    clickbait: NDArray[np.bool_]  # (D,) whether the snippet promises more than the page holds.


@dataclass(frozen=True)
class RankedLists:
    """The lists that K rankers give for Q queries; row q * K + k is ranker k's list of query q."""

    documents: NDArray[np.int32]  # (Q * K, 10) documents of each list, best first.
    # (Q * K, 10) grade of each document, plus 8 if it is clickbait: found in one place.
    looks: NDArray[np.int8]


def grades_of(looks: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the grades of results by how these look."""
    return looks & np.int8(_CLICKBAIT - 1)


def pages_of(looks: NDArray[np.int8]) -> Pages:
    """Return the pages of n searches, whose results look as in `RankedLists.looks`."""
    return Pages(grades_of(looks), looks >= _CLICKBAIT)


def popularity_of(queries: int) -> NDArray[np.float64]:
    """Return the shares of the queries of a corpus in all searches."""
    weights = np.arange(1, queries + 1) ** -POPULARITY_EXPONENT
    return np.asarray(weights / weights.sum(), np.float64)


def make_corpus(queries: int, rng: np.random.Generator) -> Corpus:
    """Make up `queries` queries with documents and true grades.

    queries: number of queries Q; at least 1. Memory grows with it: with the lists at most about 3 kB a query.
    """
    words = make_words(max(500, queries // 4), rng)
    drawn = rng.choice(np.arange(1, len(WORD_SHARES) + 1), queries, p=WORD_SHARES)
    # popular queries, which come first, tend to be short
    lengths = np.asarray(drawn[np.argsort(drawn + 6 * rng.random(queries), kind="stable")])
    words += longer_words(words, lengths, rng)
    navigational = rng.random(queries) < np.array(NAVIGATIONAL_SHARES)[lengths - 1]
    sizes = rng.integers(DOCUMENTS[0], DOCUMENTS[1] + 1, queries)
    # Grades, most of them low; queries differ in how many useful documents they have. A navigational query
    # has exactly one perfect document, its first.
    query_spread = 0.6
    usefulness = query_spread * rng.standard_normal(len(sizes))
    latent = rng.standard_normal(sizes.sum()) + np.repeat(usefulness, sizes)
    ordinary = NormalDist(0, (1 + query_spread**2) ** 0.5)
    thresholds = [ordinary.inv_cdf(share) for share in np.cumsum(GRADE_SHARES)[:-1].tolist()]
    sought = np.repeat(navigational, sizes)
    grades: NDArray[np.int8] = np.searchsorted(thresholds, latent - 0.5 * sought).astype(np.int8)
    grades[sought] = np.minimum(grades[sought], MAX_GRADE - 1)
    firsts = np.cumsum(sizes) - sizes
    grades[firsts[navigational]] = MAX_GRADE
    return Corpus(
        queries=pa.array(query_texts(words, lengths, rng), pa.string()),
        navigational=navigational,
        popularity=Shares.of(popularity_of(queries)),
        urls=document_urls(words, len(grades), rng),
        query_of=np.repeat(np.arange(queries, dtype=np.int32), sizes),
        grades=grades,
        clickbait=(grades <= 1) & (rng.random(len(grades)) < CLICKBAIT_SHARE),
    )


def make_lists(corpus: Corpus, rng: np.random.Generator) -> RankedLists:
    """Rank the documents of a corpus: each ranker sees their grades with errors of its own."""
    sizes = np.bincount(corpus.query_of)
    documents = np.empty((len(sizes) * RANKERS, DEPTH), dtype=np.int32)
    firsts = np.cumsum(sizes) - sizes
    places = np.arange(DOCUMENTS[1])
    spread = np.linspace(*RANKER_NOISE, RANKERS, dtype=np.float32)[:, None]
    for begin in range(0, len(sizes), _BLOCK):
        block = slice(begin, min(begin + _BLOCK, len(sizes)))
        present = places < sizes[block, None]
        own = np.where(present, firsts[block, None] + places, 0)
        shown = corpus.grades[own]
        scores = shown + NAVIGATIONAL_LIFT * (corpus.navigational[block, None] & (shown == MAX_GRADE))
        error = spread * rng.standard_normal((len(own), RANKERS, DOCUMENTS[1]), dtype=np.float32)
        noisy = np.where(present[:, None, :], scores[:, None, :] + error, -np.inf)
        best = np.argsort(-noisy, axis=2, kind="stable")[:, :, :DEPTH]
        ranked = np.take_along_axis(own[:, None, :], best, axis=2)
        documents[block.start * RANKERS : block.stop * RANKERS] = ranked.reshape(-1, DEPTH)
    looks = corpus.grades + np.int8(_CLICKBAIT) * corpus.clickbait
    return RankedLists(documents, looks[documents])


CONSONANTS = "bdfklmnrstv"
VOWELS = "aeiou"
SYLLABLES = 3
"""Syllables of a word; one more in the words that are added when these do not suffice."""

MOST_WORDS = 5
"""Words of the longest query."""

_TEXTS_AT_ONCE = 100_000  # texts and URLs put together at a time: bounds the memory of their parts


def make_words(count: int, rng: np.random.Generator) -> list[str]:
    """Make up words of three syllables, in no order.

    count: number of words; at most half of all such words, 83,187.

    Returns distinct words.
    """
    return _words(min(count, _possible(SYLLABLES) // 2), SYLLABLES, rng)


def longer_words(words: list[str], lengths: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Make up further words, if `words` do not suffice to give every query of one word its own.

    Random numbers are drawn only if words are lacking, so smaller corpora do not depend on this.

    words: words of three syllables; distinct.
    lengths: (Q,) words of each query.

    Returns distinct words of four syllables, none if `words` suffice. With them a fifth of all words is left
    over when each query of one word has its own, so that few draws meet a word that is taken.
    """
    alone = int((lengths == 1).sum())
    lacking = alone * 5 // 4 - len(words) if alone > len(words) else 0
    return _words(lacking, SYLLABLES + 1, rng) if lacking else []


def _possible(syllables: int) -> int:
    words: int = (len(CONSONANTS) * len(VOWELS)) ** syllables
    return words


def _words(count: int, syllables: int, rng: np.random.Generator) -> list[str]:
    spoken = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    places = [len(spoken) ** place for place in range(syllables)]
    numbers = rng.choice(_possible(syllables), count, replace=False).tolist()
    return ["".join([spoken[number // place % len(spoken)] for place in places]) for number in numbers]


def query_texts(words: list[str], lengths: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Draw a text for each query; a text that another query has is drawn again.

    words: distinct words, at least as many as there are queries of one word.
    lengths: (Q,) words of each query; 1..5.

    Returns q distinct texts, words separated by a space.
    """
    seen: dict[str, None] = {}
    picks = rng.integers(0, len(words), (len(lengths), MOST_WORDS))
    for begin in range(0, len(lengths), _TEXTS_AT_ONCE):
        block = slice(begin, begin + _TEXTS_AT_ONCE)
        for length, pick in zip(lengths[block].tolist(), picks[block].tolist(), strict=True):
            text = " ".join([words[word] for word in pick[:length]])
            while text in seen:
                text = " ".join([words[word] for word in rng.integers(0, len(words), length).tolist()])
            seen[text] = None
    return list(seen)


def document_urls(words: list[str], documents: int, rng: np.random.Generator) -> Any:  # noqa: ANN401 - pyarrow
    """URLs below the reserved top-level domain ``.example``; the running number makes them distinct.

    Returns (D,) Arrow array of strings.
    """
    choices = pa.array(words, pa.string())
    return pa.concat_arrays(
        [
            _urls(choices, np.arange(begin, min(begin + _TEXTS_AT_ONCE, documents)), rng)
            for begin in range(0, documents, _TEXTS_AT_ONCE)
        ]
    )


def _urls(words: Any, numbers: NDArray[np.int64], rng: np.random.Generator) -> Any:  # noqa: ANN401 - pyarrow
    hosts, pages = rng.integers(0, len(words), (len(numbers), 2)).T.copy()
    starts = pc.binary_join_element_wise("https://", words.take(pa.array(hosts)), ".example", "")
    paths = (words.take(pa.array(pages)), pa.array(numbers).cast(pa.string()))
    return pc.binary_join_element_wise(starts, *paths, "/")


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
