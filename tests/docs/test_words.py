"""Documents stay short: whoever adds a page takes words from another."""

from support.places import ROOT, tracked

MOST = 70_000
ELSEWHERE = ("reports/", "sql/", "tests/", "data_samples/")
"""Folders whose pages are results of runs, or describe the files beside them."""


def words_of_documents():
    """Return the number of words of each page that is under version control."""
    pages = [name for name in tracked() if name.endswith(".md") and not name.startswith(ELSEWHERE)]
    return {name: len((ROOT / name).read_text(encoding="utf-8").split()) for name in pages}


def test_all_documents_together_have_at_most_70_000_words():
    words = words_of_documents()
    assert {"README.md", "docs/explanation/method.md", "docs/reference/cli.md"} <= set(words)
    assert sum(words.values()) <= MOST, sorted(words.items(), key=lambda page: -page[1])[:10]
