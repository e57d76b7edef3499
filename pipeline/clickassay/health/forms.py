"""Texts in another form: what two spellings of one query or URL have in common, in an order of forms.

The first form takes away least. `alike` finds the form that brings most texts together.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

_SIGNS = r"""[\s"'\u2018-\u201F]+"""
_AROUND = f"^{_SIGNS}|{_SIGNS}$"
_WHOLE_NUMBER = r"^0*(\d+?)(?:\.0+)?$"
_SCHEME = r"^(?:[a-z][a-z0-9+.-]*:)?//(?:www\.)?|^www\."
_ANCHOR = r"(?s)^([^#]*)#(?:[^/!].*)?$"
_BEYOND_ASCII = r"[^\x00-\x7F]"
_LAST_PIECE = r"([^/:#?=&_-]+)[^A-Za-z0-9]*$"
_MANY = 10
"""Fewer URLs with the same two beginnings may be so by accident."""
_NEARLY_ALL = 0.9
"""A form that takes away less is preferred if it brings together nearly as many texts."""


@dataclass(frozen=True)
class Alike:
    """Texts that another form brings together."""

    form: str  # What differs, as words after "they differ in".
    # The key columns, `wanted` and `known`: a wanted text and the known text that it equals in this form;
    # each wanted text of a key once.
    pairs: pl.DataFrame


def folded(text: str) -> str:
    """Return a text as Unicode folds it: NFKC and full case folding (ß is ss)."""
    normalised = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", normalised)


def folds_of(texts: pl.Series) -> pl.Series:
    """Return texts in lower case as `folded` makes them; texts of ASCII alone stay as they are."""
    odd = texts.str.contains(_BEYOND_ASCII).fill_null(value=False)
    folds = pl.Series([folded(text) for text in texts.filter(odd)], dtype=pl.String)
    return texts.scatter(odd.arg_true(), folds)


def _unquoted(texts: pl.Series) -> pl.Series:
    """Return texts in lower case without the blanks and quotes around them."""
    return texts.str.to_lowercase().str.replace_all(_AROUND, "")


Forms = Mapping[str, Callable[[pl.Series], pl.Series]]
QUERY_FORMS: Forms = {
    "characters that Unicode normalisation merges (such as ß and ss, or full width)": folds_of,
    # also ``%20`` and ``+``
    "the characters between words": lambda texts: (
        folds_of(texts)
        .str.replace_all("%20", " ", literal=True)
        .str.replace_all(r"[^\p{L}\p{N}\p{M}]+", " ")
        .str.strip_chars()
    ),
}
URL_FORMS: Forms = {
    "case": lambda texts: texts.str.to_lowercase(),
    "blanks or quotes": _unquoted,
    "leading zeros or a final .0": lambda texts: _unquoted(texts).str.replace(_WHOLE_NUMBER, "$1"),
    # also a fragment that names no page
    "the scheme, www. or the final slash": lambda texts: (
        _unquoted(texts).str.replace(_SCHEME, "").str.replace(_ANCHOR, "$1").str.strip_chars_end("/")
    ),
}


def alike_queries(wanted: pl.Series, known: pl.Series) -> Alike | None:
    """Return the form that brings most wanted queries, all unknown, to known ones; None if none does."""
    ours, theirs = (texts.alias("text").to_frame() for texts in (wanted, known))
    return _most(_by_forms(ours, theirs, (), QUERY_FORMS))


def alike_urls(
    wanted: pl.DataFrame, known: pl.DataFrame, key: tuple[str, ...], elsewhere: pl.DataFrame
) -> Alike | None:
    """Pair URLs of the same query that are alike but for their form; also their beginnings may differ.

    wanted, known: the columns `key` of a query, and `text`.
    elsewhere: the rows of `known` that do not stand beside the wanted ones as they are: of other texts it is
      known that they are something else, so that beginnings are compared with these alone.
    """
    alike = _by_forms(wanted, known, key, URL_FORMS)
    # pairs that end alike: their last piece is the same, and no other text of the query on its side has it
    sides = []
    for frame, name in ((wanted, "wanted"), (elsewhere, "known")):
        last = pl.col("text").str.to_lowercase().str.extract(_LAST_PIECE)
        ended = frame.with_columns(form=last).drop_nulls("form")
        sides.append(ended.filter(pl.len().over(*key, "form") == 1).rename({"text": name}))
    pairs = sides[0].join(sides[1], on=[*key, "form"]).drop("form").sort(*key, "wanted")
    begins = []
    for one, other in pairs.select("wanted", "known").iter_rows():
        ours, theirs = one.lower(), other.lower()  # without the longest end that both share, in any case
        most = min(len(ours), len(theirs))
        unlike = (n for n in range(most) if ours[len(ours) - 1 - n] != theirs[len(theirs) - 1 - n])
        same = next(unlike, most)
        begins.append((one[: len(one) - same], other[: len(other) - same]))
    # only a difference that many share is one of form: two pages of two sites may end alike as well
    counts = Counter(begins)
    often = max(sorted(counts), key=lambda pair: counts[pair], default=("", ""))
    if counts[often] >= _MANY:
        alike.append(Alike("their beginning", pairs.filter([begin == often for begin in begins])))
    return _most(alike)


def alike_in_list(wanted: str, shown: Sequence[str]) -> tuple[str, str] | None:
    """Return the URL of a list that another form makes equal to a wanted one, and that form; None if none."""
    texts = pl.Series([wanted, *shown], dtype=pl.String)
    for words, form in URL_FORMS.items():
        ours, *theirs = form(texts)
        if ours and ours in theirs:
            return shown[theirs.index(ours)], words
    return None


def _most(pairs: list[Alike]) -> Alike | None:
    most = max((one.pairs.height for one in pairs), default=0)
    return next((one for one in pairs if most and one.pairs.height >= _NEARLY_ALL * most), None)


def _by_forms(wanted: pl.DataFrame, known: pl.DataFrame, key: tuple[str, ...], forms: Forms) -> list[Alike]:
    found = []
    for words, form in forms.items() if wanted.height else ():
        ours, theirs = (frame.with_columns(form(frame["text"]).alias("form")) for frame in (wanted, known))
        ours, theirs = (frame.filter(pl.col("form") != "") for frame in (ours, theirs))
        first = theirs.group_by(*key, "form").agg(pl.col("text").min().alias("known"))
        pairs = ours.join(first, on=[*key, "form"]).select(*key, pl.col("text").alias("wanted"), "known")
        found.append(Alike(words, pairs.unique([*key, "wanted"]).sort(*key, "wanted")))
    return found
