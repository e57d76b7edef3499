"""What code and pages cite is there: sections of the page on method, and nothing outside the repository.

`method 7.1` is section 7.1 of docs/explanation/method.md, `method 3, rule 7` the seventh point of its list.
"""

import re

import pytest

from support.places import ROOT

METHOD = (ROOT / "docs" / "explanation" / "method.md").read_text(encoding="utf-8")
FOLDERS = ("pipeline", "sql", "tests", "benchmarks", "docs")
WRITTEN = (".py", ".sql", ".md", ".toml", ".j2", ".sqlfluff")
FILES = [
    file
    for folder in FOLDERS
    for file in sorted((ROOT / folder).rglob("*"))
    if (file.suffix in WRITTEN or file.name in WRITTEN) and "work" not in file.relative_to(ROOT).parts
]

NUMBER = r"\d+(?:\.\d+)?"
CITATION = re.compile(rf"\bmethod\s+({NUMBER}(?:(?:,| and| to|, rule)\s+{NUMBER})*)", re.IGNORECASE)
OUTSIDE = re.compile(r"contract\.md|\bcontracts? \d", re.IGNORECASE)
"""A design document that readers do not have."""


def sections():
    """Return {number of a section: number of points in its list}."""
    pieces = re.split(rf"^##+ ({NUMBER})\.? .+$", METHOD, flags=re.MULTILINE)[1:]
    lists = [re.findall(r"^\d+\. ", text, flags=re.MULTILINE) for text in pieces[1::2]]
    return dict(zip(pieces[::2], map(len, lists), strict=True))


def cited(text):
    """Return the (section, rule) that a text cites; rule 0 is the whole section."""
    found = []
    for citation in CITATION.findall(text):
        for rule, number in re.findall(rf"(rule\s+)?({NUMBER})", citation):
            found.append((found.pop()[0], int(number)) if rule else (number, 0))
    return found


def test_every_heading_of_the_method_has_a_number_of_its_own():
    assert len(sections()) == len(re.findall(r"^##+ ", METHOD, flags=re.MULTILINE)) > 10
    assert sections()["3"] == 7


def test_every_section_that_is_cited_is_there():
    known, number, lost = sections(), 0, {}
    for file in FILES:
        if file.name == "test_citations.py":
            continue
        found = cited(file.read_text(encoding="utf-8"))
        missing = [(one, rule) for one, rule in found if one not in known or rule > known[one]]
        number, lost = number + len(found), lost | ({file.name: missing} if missing else {})
    assert lost == {}
    assert number > 40


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_is_cited_that_readers_do_not_have(folder):
    found = {
        file.relative_to(ROOT).as_posix(): OUTSIDE.findall(file.read_text(encoding="utf-8"))
        for file in FILES
        if file.is_relative_to(ROOT / folder)
    }
    assert len(found) >= 10
    assert {name: words for name, words in found.items() if words} == {}


def test_only_a_page_that_says_whose_it_is_cites_a_paper_by_a_letter():
    texts = {file.name: file.read_text(encoding="utf-8") for file in FILES}
    lettered = {name: text for name, text in texts.items() if re.search(r"\[[CS]\]", text)}
    assert "method.md" in lettered
    assert [name for name, text in lettered.items() if "[C] is" not in text] == []
