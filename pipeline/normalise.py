"""The "simple normalization" of queries and URLs (contract 2) for tables that Python reads.

The log side does the same in SQL (``normalise_query``, ``normalise_url`` in ``sql/macros``);
tests hold the two equal over all of Unicode.
"""

import re

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*@)?([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.DOTALL)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


MAY_BE_ODD = (
    r"(?s)^[a-z0-9+.-]*[A-Z][A-Za-z0-9+.-]*://"  # upper case in the scheme
    r"|^[^/]*://[^/?#]*[A-Z\x{80}-\x{10FFFF}]"  # upper case or foreign letters in the host
    r"|://.*#|://.*:(?:80|443)|^[^?]*://.*/$"  # perhaps a fragment, a default port, a last slash
)
"""A cheap test, for Polars, that every URL passes whose normal form is another; few others do."""


def _lower(text: str) -> str:
    # Engines disagree about these two letters only: U+0130 grows a dot, U+03A3 looks at its neighbours.
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def normalise_query(query: str) -> str:
    """Collapse and trim white space, then lower case."""
    return _lower(" ".join(query.split()))


def normalise_url(url: str) -> str:
    """Lower-case scheme and host; drop default port, fragment and one trailing slash of the path.

    Text without a scheme is an opaque id and is returned as it is.
    """
    match = _URL.fullmatch(url)
    if match is None:
        return url
    scheme, user, host, path, query = match.groups(default="")
    scheme, host = scheme.lower(), _lower(host)
    host = host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    return f"{scheme}://{user}{host}{path if query else path.removesuffix('/')}{query}"
