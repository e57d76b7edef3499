"""Corpora of any allowed size: enough words, distinct texts in few draws, URLs and judgments in parts."""

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from clickassay.inputs.simulate import writing
from clickassay.inputs.simulate.corpus import (
    WORD_SHARES,
    document_urls,
    judge,
    longer_words,
    make_corpus,
    make_words,
    query_texts,
)
from clickassay.inputs.simulate.simulation import MOST_QUERIES
from clickassay.inputs.simulate.worlds import WORLDS

ALL_SHORT = 83_187  # half of the (11 * 5)^3 = 166,375 words of three syllables


class CountedDraws(np.random.Generator):
    """Counts the draws of whole numbers, and gives up where a loop might never end."""

    draws = 0

    def integers(self, *args, **kwargs):
        self.draws += 1
        assert self.draws <= 1_000_000
        return super().integers(*args, **kwargs)


@pytest.mark.thorough
def test_a_million_queries_have_distinct_texts_of_the_lengths_asked_for_and_distinct_words():
    rng = CountedDraws(np.random.PCG64(7))
    counts = [round(share * MOST_QUERIES) for share in WORD_SHARES]
    lengths = rng.permutation(np.repeat(np.arange(1, 6), counts))
    words = make_words(MOST_QUERIES // 4, rng)
    words += longer_words(words, lengths, rng)
    texts = query_texts(words, lengths, rng)
    assert len(set(texts)) == len(texts) == 1_000_000
    assert [text.count(" ") + 1 for text in texts] == lengths.tolist()
    assert len(set(words)) == len(words) == 250_000
    assert {len(word) for word in words} == {6, 8}


def test_words_of_three_syllables_end_at_half_of_what_there_is():
    words = make_words(1_000_000, np.random.default_rng(1))
    assert len(set(words)) == len(words) == ALL_SHORT
    assert {len(word) for word in words} == {6}


def test_urls_put_together_in_parts_are_those_of_a_plain_loop():
    words, documents = make_words(500, np.random.default_rng(4)), 200_001
    picks = np.random.default_rng(5).integers(0, len(words), (documents, 2)).tolist()
    plain = [f"https://{words[h]}.example/{words[p]}/{number}" for number, (h, p) in enumerate(picks)]
    assert document_urls(words, documents, np.random.default_rng(5)).to_pylist() == plain


def test_texts_put_together_in_parts_are_those_of_a_plain_loop():
    words, lengths = make_words(500, np.random.default_rng(4)), np.repeat([2, 3], [60_000, 60_000])
    rng = np.random.default_rng(6)
    plain, seen = [], set()
    for length, pick in zip(lengths, rng.integers(0, len(words), (len(lengths), 5)), strict=True):
        text = " ".join(words[word] for word in pick[:length])
        while text in seen:
            text = " ".join(words[word] for word in rng.integers(0, len(words), length))
        seen.add(text)
        plain.append(text)
    assert query_texts(words, lengths, np.random.default_rng(6)) == plain


def test_judgments_written_in_parts_are_all_there_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "JUDGMENT_ROW_GROUP", 1000)
    corpus = make_corpus(150, np.random.default_rng(8))
    judgments, _ = judge(corpus, WORLDS["rr"].noise, np.random.default_rng(9))
    file = tmp_path / "judgments.parquet"
    writing.write_judgments(file, corpus, judgments)
    queries, urls = corpus.queries.to_pylist(), corpus.urls.to_pylist()
    expected = [
        (queries[query], url, grade)
        for query, url, grade in zip(corpus.query_of, urls, corpus.grades.tolist(), strict=True)
    ]
    assert pl.read_parquet(file).rows() == expected
    assert pq.ParquetFile(file).num_row_groups == -(-len(expected) // 1000)
