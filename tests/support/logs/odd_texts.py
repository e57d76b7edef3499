"""Texts and numbers on which engines might disagree: all of Unicode, odd URLs, large ids."""

from hypothesis import strategies as st

PRIME = 2_147_483_647  # 2^31 - 1
CODE_POINTS = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
BASIC = [sign for sign in CODE_POINTS if sign < "\U00010000"]
RUN = 64
BY_THEMSELVES_AND_IN_RUNS = BASIC + [
    "".join(CODE_POINTS[start : start + RUN]) for start in range(0, len(CODE_POINTS), RUN)
]
"""The 63,488 that nearly all text is made of each by itself, and all in runs: a million texts take long."""


def differing(texts, ours, theirs):
    """Return the first few texts of which two functions think differently."""
    found = [row for row in zip(texts, ours, theirs, strict=True) if row[1] != row[2]]
    return [(ascii(text), ascii(one), ascii(other)) for text, one, other in found[:5]]


NORMAL_QUERIES = {
    "  Running\t SHOES\n": "running shoes",
    "no\u00a0break\u3000space": "no break space",
    "zero\u200bwidth": "zero\u200bwidth",
    "a\x1fb": "a b",
    "\u0130\u039f\u03a3": "i\u03bf\u03c3",  # of Turkish, and a sigma at the end
    "STRASSE Stra\u00dfe \u1e9e": "strasse stra\u00dfe \u00df",
    " \x85 ": "",
    "\x1f\x1c": "",
    "back\\slash 'q' $x": "back\\slash 'q' $x",
}
NORMAL_URLS = {
    "HTTP://User@HOST.Example:80/Path/?Q=A#top": "http://User@host.example/Path/?Q=A",
    "http://User:Pw@Example.com/Path/#Part": "http://User:Pw@example.com/Path",
    "http://a@B@C.example": "http://a@B@c.example",
    "http://example.com/": "http://example.com",
    "http://example.com//": "http://example.com/",
    "http://host?Q=A/": "http://host?Q=A/",
    "http://host/?Q=A/#f/": "http://host/?Q=A/",
    "http://host#frag/ment?x": "http://host",
    "https://Host:443/#/Route/": "https://host#/Route/",
    "http://host/a/?q=A/#!Route#x": "http://host/a/?q=A/#!Route#x",
    "http://host/a#b#/c": "http://host/a",
    "http://host/#": "http://host",
    "http://host# /": "http://host",
    "http://host#\n!": "http://host",
    "id#/Route/": "id#/Route/",
    "http://HOST/a\nB/": "http://host/a\nB",
    "https://example.com:443/a/": "https://example.com/a",
    "https://example.com:80/a": "https://example.com:80/a",
    "ftp://F.example:21/X/": "ftp://f.example:21/X",
    "ftp://host:80//": "ftp://host:80/",
    "Document 7/": "Document 7/",
    "mailto:Me@Example.com": "mailto:Me@Example.com",
    "1http://Odd/": "1http://Odd/",
    "x\n://Host/": "x\n://Host/",
    "http://": "http://",
    "": "",
}


def is_whole_number(text):
    """Tell whether a text user id counts as the number that it spells."""
    digits = text.removeprefix("-")
    return digits.isdecimal() and digits.isascii() and len(digits) <= 18


schemes = st.sampled_from(
    ["http", "HTTP", "https", "Https", "ftp", "x-y+z.1", "1x", "", "mailto", "h\u0131ttp"]
)
users = st.sampled_from(["", "", "user@", "U:p@w@", "@", "a/b@"])
hosts = st.sampled_from(
    ["host", "Host.Example", "M\u00dcNCHEN.de", "\u0130\u03a3\u03c2", "", "[::1]", "H%41", "a b"]
)
ports = st.sampled_from(["", "", ":80", ":443", ":8080", ":80:80", ":", ":080"])
paths = st.sampled_from(
    ["", "/", "//", "/A", "/A/", "/A//", "/a%2F/", "/\u00c4\n/", "/a;b/", "/x:80", "/http://B/"]
)
queries = st.sampled_from(["", "?", "?Q=A", "?a/", "??", "?x:443", "?\u03a3/"])
fragments = st.sampled_from(["", "#", "#F", "#a#b", "#/", "#?", "#\n", "#!", "#!/a#/b", "#/A\n?x/", "#a#/b"])
separators = st.sampled_from(["://", "://", "://", ":", ":/", ":///", ""])
urls = st.builds("".join, st.tuples(schemes, separators, users, hosts, ports, paths, queries, fragments))


odd_texts = st.one_of(st.text(max_size=4), st.text("ab\\u\x1f", max_size=4))


def digest(number):
    """Mix a user number: (low * 48271 + high * 69621 + 11) * 1103515245 + 12345, all modulo the prime."""
    high = abs(number) // PRIME * (1 if number >= 0 else -1)
    mixed = (number % PRIME * 48_271 + high % PRIME * 69_621 + 11) % PRIME
    return (mixed * 1_103_515_245 + 12_345) % PRIME


numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, -1, PRIME, -PRIME, 2**63 - 1, -(2**63)])
)
