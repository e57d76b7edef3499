"""Terms and their meanings: links change no text, and lead to terms that are there."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clickassay.core.text.escape import terminal
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.report.glossary import linked, once_a_section, terms
from support.reports.report_runs import RUNS

WORDS = [term.name for term in terms()]
LINK = re.compile(r'<a class="term" href="#([^"]*)">([^<]*)</a>')
MORE = ("click metrics", "95% CI", "adjusted p", "<b>", "&amp;", '"', "'", "(", "@", "-")
PIECES = st.one_of(st.sampled_from([*WORDS, *MORE]), st.text(max_size=6))
TEXTS = st.lists(PIECES, max_size=12).flatmap(
    lambda pieces: st.sampled_from([" ".join(pieces), "".join(pieces)])
)


def links(text):
    found = LINK.findall(linked(text))
    return [(key.removeprefix("term-"), html.unescape(words)) for key, words in found]


@given(TEXTS)
def test_without_its_links_a_text_is_what_it_was(text):
    marked = linked(text)
    assert html.unescape(re.sub("<[^>]*>", "", marked)) == terminal(text)
    rest = LINK.sub("", marked)
    assert not set(rest) & set("<>\"'")


@given(TEXTS)
def test_no_term_is_linked_twice_and_each_link_leads_to_a_term(text):
    keys = [key for key, _ in LINK.findall(linked(text))]
    assert len(keys) == len(set(keys))
    assert set(keys) <= {term.key for term in terms()}


@given(TEXTS)
def test_what_is_linked_is_a_whole_word(text):
    marked = html.unescape(LINK.sub(lambda found: f"\0{found[2]}\1", linked(terminal(text))))
    for match in re.finditer("\0[^\1]*\1", marked):
        before, after = marked[: match.start()][-1:], marked[match.end() :][:1]
        assert not re.match(r"\w", before.replace("\1", "").replace("\0", ""))
        assert not re.match(r"\w", after.replace("\1", "").replace("\0", ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sessions make a session.", [("session", "Sessions")]),
        ("click metric and correlation", [("click-metric", "click metric"), ("correlation", "correlation")]),
        ("AP(rel=2), RR(rel=2) and RBP(p=0.8)", []),
        ("AP and AP(rel=2)", [("ap", "AP")]),
        ("MeanGrade@1 beats MeanGrade", [("meangrade-1", "MeanGrade@1"), ("meangrade", "MeanGrade")]),
        ("MeanGrade@10 and DCG@5 and P@1", [("p-1", "P@1")]),
        ("95% CI", [("95-ci", "95% CI")]),
        ("NDCG, not DCG", [("ndcg", "NDCG"), ("dcg", "DCG")]),
        ("undepth depths_ non-depth", []),
        ("an adjusted p-value", [("holm", "adjusted p-value")]),
    ],
)
def test_the_first_mention_of_a_term_is_linked_in_its_longest_form_but_no_part_of_a_name(text, expected):
    assert links(text) == expected


def test_every_metric_and_baseline_has_a_term_of_its_own_name():
    assert {*CLICK_METRICS, *EDITORIAL_METRICS, *BASELINES} <= set(WORDS)


def test_every_term_is_linked_by_its_name_and_means_something_in_a_sentence():
    for term in terms():
        assert links(f"So: {term.name}.") == [(term.key.removeprefix("term-"), term.name)]
        assert term.meaning.endswith(".")
        assert term.meaning[0].isupper() or term.meaning[0].isdigit()
    assert [term.name.lower() for term in terms()] == sorted(term.name.lower() for term in terms())
    assert len({term.key for term in terms()}) == len(terms())


@pytest.mark.parametrize("name", RUNS)
def test_the_page_explains_every_term(pages, name):
    assert {term.key for term in terms()} <= set(pages[name].ids)
    used = {attrs["href"] for _, attrs in pages[name].links if attrs.get("class") == "term"}
    assert used
    assert used <= {f"#{term.key}" for term in terms()}


def test_no_link_of_the_page_stands_within_another(pages):
    assert all(parent != "a" for parent, _ in pages["full"].links)


def page_with(*texts):
    """A head and sections with these texts, as the page has them."""
    return "<main>" + "".join(
        f'<section id="s{place}"><p>{text}</p></section>' for place, text in enumerate(texts)
    )


def test_a_term_is_linked_once_a_section_and_again_in_the_next():
    page = page_with(linked("A session.") + linked("More sessions."), linked("A session."))
    first, second = once_a_section(page).split("</section>")[:2]
    assert LINK.findall(first) == [("term-session", "session")]
    assert "More sessions." in first
    assert LINK.findall(second) == [("term-session", "session")]


@given(st.lists(TEXTS, max_size=5))
def test_what_is_left_out_are_links_that_came_before(texts):
    page = page_with(*(linked(text) + linked(text[::-1]) for text in texts))
    kept = once_a_section(page)
    assert once_a_section(kept) == kept
    assert re.sub("</?a[^>]*>", "", kept) == re.sub("</?a[^>]*>", "", page)
    for before, after in zip(page.split("<section"), kept.split("<section"), strict=True):
        keys = [key for key, _ in LINK.findall(after)]
        assert keys == list(dict.fromkeys(key for key, _ in LINK.findall(before)))
