"""Terms of a report and their meanings; the texts of the page link to them."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from clickassay.core.text.escape import html
from clickassay.core.text.words import capital

_SECTION = re.compile(r"(?=<section\b)")
_LINK = re.compile(r'<a class="term" href="#(?P<key>[^"]*)">(?P<text>[^<]*)</a>')


@dataclass(frozen=True)
class Term:
    """One term: its id on the page, its name, and its meaning in a sentence."""

    key: str
    name: str
    meaning: str


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms, by name."""
    entries = (Term(_key(name), name, entry["meaning"]) for name, entry in _entries().items())
    return tuple(sorted(entries, key=lambda term: term.name.lower()))


@cache
def _entries() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("clickassay.report").joinpath("glossary.toml").read_text(encoding="utf-8"))


def _key(name: str) -> str:
    return "term-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


@cache
def _forms() -> tuple[re.Pattern[str], dict[str, str]]:
    keys = {form: _key(name) for name, entry in _entries().items() for form in entry["forms"]}
    keys |= {capital(form): key for form, key in keys.items()}
    longest_first = sorted(keys, key=len, reverse=True)
    # neither part of a longer word nor of a name such as AP(rel=2) or P@1
    alternatives = "|".join(re.escape(form).replace(r"\ ", "[ \u00a0]") for form in longest_first)
    return re.compile(rf"(?<![\w@(/.-])({alternatives})(?![\w@(/-]|\.\w)"), keys


def linked(text: str) -> Markup:
    """Return `text` escaped, with the first mention of each term as a link to its meaning."""
    pattern, keys = _forms()
    seen: set[str] = set()
    parts = []
    for place, part in enumerate(pattern.split(text)):
        key = keys[part.replace("\u00a0", " ")] if place % 2 else ""
        parts.append(html(part) if not key or key in seen else _link(key, part))
        seen.add(key)
    return Markup("").join(parts)


def once_a_section(page: str) -> str:
    """Return a page in which each section has only its first link to the meaning of a term."""
    return "".join(map(_first_links, _SECTION.split(page)))


def _first_links(part: str) -> str:
    seen: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        if match["key"] in seen:
            return match["text"]
        seen.add(match["key"])
        return match[0]

    return _LINK.sub(kept, part)


def linked_name(text: str) -> Markup:
    """Return a name escaped, as a link if the whole of it is a term: names come from the log too."""
    keys = _forms()[1]
    return _link(keys[text], text) if text in keys else html(text)


def _link(key: str, text: str) -> Markup:
    return Markup('<a class="term" href="#{}">{}</a>').format(key, text)
