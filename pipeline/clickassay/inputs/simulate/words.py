"""Made-up words, and the texts of queries and URLs made of them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

CONSONANTS = "bdfklmnrstv"
VOWELS = "aeiou"
SYLLABLES = 3
"""Syllables of a word; one more in the words that are added when these do not suffice."""

MOST_WORDS = 5
"""Words of the longest query."""

_BLOCK = 100_000  # texts and URLs put together at a time: bounds the memory of their parts


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
    for begin in range(0, len(lengths), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        for length, pick in zip(lengths[block].tolist(), picks[block].tolist(), strict=True):
            text = " ".join([words[word] for word in pick[:length]])
            while text in seen:
                text = " ".join([words[word] for word in rng.integers(0, len(words), length).tolist()])
            seen[text] = None
    return list(seen)


def document_urls(words: list[str], documents: int, rng: np.random.Generator) -> Any:  # noqa: ANN401 - pyarrow
    """URLs below the reserved top-level domain ``.example``; the running number makes them distinct.

    words: at least one word.
    documents: number of documents D; at least 1.

    Returns (D,) Arrow array of strings.
    """
    choices = pa.array(words, pa.string())
    return pa.concat_arrays(
        [
            _urls(choices, np.arange(begin, min(begin + _BLOCK, documents)), rng)
            for begin in range(0, documents, _BLOCK)
        ]
    )


def _urls(words: Any, numbers: NDArray[np.int64], rng: np.random.Generator) -> Any:  # noqa: ANN401 - pyarrow
    hosts, pages = rng.integers(0, len(words), (len(numbers), 2)).T.copy()
    starts = pc.binary_join_element_wise("https://", words.take(pa.array(hosts)), ".example", "")
    paths = (words.take(pa.array(pages)), pa.array(numbers).cast(pa.string()))
    return pc.binary_join_element_wise(starts, *paths, "/")
