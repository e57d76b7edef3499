"""The site of documents builds without a warning, loads nothing from elsewhere, and hides no page."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from support.places import ROOT

NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")
MISSING = [name for name in NEEDED if find_spec(name) is None]

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(bool(MISSING), reason=f"the site needs {', '.join(MISSING)}: make .venv/documents"),
]

SOURCES = dict.fromkeys(("script", "iframe", "audio", "embed"), ("src",))
LOADING = SOURCES | dict.fromkeys(("use", "image"), ("href", "xlink:href")) | {
    "img": ("src", "srcset"), "source": ("src", "srcset"), "video": ("src", "poster"), "object": ("data",),
    "link": ("href",),
}  # fmt: skip
"""Attributes by which a page loads something; the links of `a` load nothing until they are followed."""

FOREIGN = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """What a page loads, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.loads += [given[name] for name in LOADING.get(tag, ()) if name in given]
        self.links += [given["href"]] if tag == "a" and "href" in given else []


def foreign_of_style(text):
    """Return what a style sheet loads from another host."""
    loaded = re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(r"@import\s+['\"]([^'\"]+)", text)
    return [target for target in loaded if FOREIGN.match(target)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/make"]
    done = subprocess.run(
        [*command, "-d", str(out / "doctrees"), ".", str(out / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def pages(site):
    """Return every page by its path from the root of the site."""
    return {
        file.relative_to(site).as_posix(): Page(file.read_text(encoding="utf-8"))
        for file in site.rglob("*.html")
        if "_downloads" not in file.parts
    }


def documents(pages):
    """Return the pages that are documents: not those that Sphinx adds for search and index."""
    return {name for name in pages if name not in ("genindex.html", "search.html")}


def test_every_document_is_a_page(pages):
    written = {file.relative_to(ROOT).with_suffix(".html").as_posix() for file in ROOT.glob("docs/**/*.md")}
    assert len(written) >= 8
    assert written | {"README.html", "index.html"} <= set(pages)


def test_no_page_loads_anything_from_another_host(pages):
    assert sum(len(page.loads) for page in pages.values()) > 5 * len(documents(pages))
    found = {name: [one for one in page.loads if FOREIGN.match(one)] for name, page in pages.items()}
    assert {name: loads for name, loads in found.items() if loads} == {}


def test_no_style_loads_anything_from_another_host(site, pages):
    sheets = {file.name: file.read_text(encoding="utf-8") for file in site.rglob("*.css")}
    assert len(sheets) >= 2
    for name in pages:
        inline = re.findall(r"<style[^>]*>(.*?)</style>", (site / name).read_text(encoding="utf-8"), re.S)
        sheets[name] = "".join(inline)
    assert {name: loads for name, text in sheets.items() if (loads := foreign_of_style(text))} == {}


def test_every_page_is_reached_from_the_first(pages):
    assert re.search(r"docs/index\.html", " ".join(pages["index.html"].links))
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in pages and name not in reached:
            reached.add(name)
            waiting += [unquote(urlsplit(urljoin(name, link)).path) for link in pages[name].links]
    assert sorted(documents(pages) - reached) == []


def test_options_keep_their_two_hyphens(site):
    text = (site / "docs" / "reference" / "cli.html").read_text(encoding="utf-8")
    assert "--searches" in text
    assert "–searches" not in text  # noqa: RUF001 - the dash that typographic quotes would make
