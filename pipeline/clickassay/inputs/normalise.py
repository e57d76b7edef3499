"""Normal forms of queries and URLs (method 2); ``sql/macros`` has the same, which tests hold equal."""

import re

import polars as pl

_URL = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#[/!].*)?(?:#.*)?", re.DOTALL
)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


MAY_BE_UNNORMALISED = (
    r"(?s)^[a-z0-9+.-]*[A-Z][A-Za-z0-9+.-]*://"  # upper case in the scheme
    r"|^[^/]*://[^/?#]*[A-Z\x{80}-\x{10FFFF}]"  # upper case or foreign letters in the host
    r"|://[^#]*(?:#$|#[^/!]|/#)|://.*:(?:80|443)|^[^?]*://.*/$"  # perhaps a fragment, a default port, a slash
)
"""A cheap pattern, for Polars, that matches every URL whose normal form differs, and few others."""

QUERY_MAY_BE_UNNORMALISED = r"[^ -@\[-~]|^ |  | $"
"""Such a pattern for queries: upper case, beyond ASCII, or white space but for one blank between words."""


# Letters newer than Unicode 13, up to 17: first and last of a range, and the lower case of the first. Which
# of them have a lower case depends on the version of Python, of an engine, or of Java.
_LATE_LETTERS = (
    (0x1C89, 0x1C89, 0x1C8A), (0x2C2F, 0x2C2F, 0x2C5F), (0xA7C0, 0xA7C0, 0xA7C1), (0xA7CB, 0xA7CB, 0x0264),
    (0xA7CC, 0xA7CC, 0xA7CD), (0xA7CE, 0xA7CE, 0xA7CF), (0xA7D0, 0xA7D0, 0xA7D1), (0xA7D2, 0xA7D2, 0xA7D3),
    (0xA7D4, 0xA7D4, 0xA7D5), (0xA7D6, 0xA7D6, 0xA7D7), (0xA7D8, 0xA7D8, 0xA7D9), (0xA7DA, 0xA7DA, 0xA7DB),
    (0xA7DC, 0xA7DC, 0x019B), (0x10570, 0x1057A, 0x10597), (0x1057C, 0x1058A, 0x105A3),
    (0x1058C, 0x10592, 0x105B3), (0x10594, 0x10595, 0x105BB), (0x10D50, 0x10D65, 0x10D70),
    (0x16EA0, 0x16EB8, 0x16EBB),
)  # fmt: skip
# The lower case of U+0130 would have two characters, that of U+03A3 depends on its neighbours.
_MAPPED_FIRST = {0x130: "i", 0x3A3: "\u03c3"} | {
    letter: small + letter - first
    for first, last, small in _LATE_LETTERS
    for letter in range(first, last + 1)
}


def _lower(text: str) -> str:
    # Python and the engines agree on all other letters
    return text.lower() if text.isascii() else text.translate(_MAPPED_FIRST).lower()


def normalise_query(query: str) -> str:
    """Collapse and trim white space, then lower case."""
    return _lower(" ".join(query.split()))


def normalise_queries(queries: pl.Series) -> pl.Series:
    """Return texts, perhaps null, with the normal form of each in its place."""
    odd = queries.str.contains(QUERY_MAY_BE_UNNORMALISED).arg_true()
    if not len(odd):
        return queries
    normal = pl.Series([normalise_query(query) for query in queries.gather(odd)], dtype=pl.String)
    return queries.clone().scatter(odd, normal)


def normalise_url(url: str) -> str:
    """Lower-case scheme and host; drop default port, one trailing slash, fragments but for /… and !….

    Text without a scheme is an opaque id and is returned as it is.
    """
    match = _URL.fullmatch(url)
    if match is None:
        return url
    scheme, user, host, path, query, route = match.groups(default="")
    scheme, host = scheme.lower(), _lower(host)
    host = host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    return f"{scheme}://{user}{host}{path if query else path.removesuffix('/')}{query}{route}"
