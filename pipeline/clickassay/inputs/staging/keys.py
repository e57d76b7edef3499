"""Keys of objects as names of files: which objects an address means, and where each would lie on a disk.

Keys may be what no disk takes as a path: too long, with nothing between two slashes, or a file and a folder
at once, as the empty objects are that stand for folders. Such names are numbers, with the endings of the key.
"""

import hashlib
import hmac
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import count
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from xml.etree.ElementTree import Element, fromstring

from clickassay.core.errors import InputError

_NO_NAMES = {"", ".", ".."}
_LONGEST_NAME = 255
_LONGEST_ENDING = 40


def parts_of(address: str) -> tuple[list[str], list[str]]:
    """Return the parts of a key before the first with a wildcard, and those from it on."""
    parts = address.split("/") if address else []
    fixed = next((number for number, part in enumerate(parts) if has_magic(part)), len(parts))
    return parts[:fixed], parts[fixed:]


def files_of(what: str, address: str, sizes: Mapping[str, int]) -> Iterator[tuple[str, Path]]:
    """Yield the keys that an address (a prefix of a folder, or a glob, no bucket; '' = all) means, and files.

    Names are those of keys where a disk takes them; what stands for a folder gets no ending. Raises
    InputError if the name of a folder is too long, and has the value of a column.
    """
    root, wild = parts_of(address)
    folders = {key[:at] for key in sizes for at, sign in enumerate(key) if sign == "/"}
    names = {name for key in sizes for name in key.split("/")}
    mark = next(signs for signs in ("%" * n for n in count(1)) if not any(signs in name for name in names))
    for number, key in enumerate(sorted(sizes)):
        parts = key.split("/")
        *above, name = parts[len(root) :] or [""]
        if parts[: len(root)] != root or not _matches(parts[len(root) :], wild):
            continue
        if key in folders or name in _NO_NAMES or _is_long(name):
            hidden = name[:1] if name.startswith((".", "_")) else ""
            endings = "" if not sizes[key] else "".join(Path(name).suffixes[-2:])
            name = f"{hidden}{mark}{number}{'' if len(endings) > _LONGEST_ENDING else endings}"
        yield key, Path(*(_folder(what, key, one, mark) for one in above), name)


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    head, rest = patterns[0], patterns[1:]
    if head == "**":
        return not rest or any(_matches(parts[start:], rest) for start in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], head) and _matches(parts[1:], rest)


def _folder(what: str, key: str, name: str, mark: str) -> str:
    if _is_long(name) and "=" in name:
        raise InputError(f"{what}: {key!r:.120}… is in a folder whose name is too long; rename it")
    if _is_long(name):
        return f"{mark}{hashlib.sha256(name.encode()).hexdigest()}"
    return f"{mark}{name}" if name in _NO_NAMES else name


def _is_long(name: str) -> bool:
    return len(name.encode()) > _LONGEST_NAME


_EMPTY = hashlib.sha256(b"").hexdigest()
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_LARGEST_PAGE = 64 << 20


def has_keys() -> bool:
    """Tell whether the environment has the keys that requests are signed with."""
    return all(map(os.environ.get, _KEYS))


def region(named: Mapping[str, str]) -> str:
    """Return the region that variables name."""
    return named.get("AWS_REGION") or named.get("AWS_DEFAULT_REGION") or "us-east-1"


def listed(server: str, bucket: str, prefix: str, seconds: float) -> Iterator[Element]:
    """Yield the elements `Contents` of all objects of a bucket whose key begins with a prefix."""
    query = {"list-type": "2", "prefix": prefix}
    while True:
        page = fromstring(_asked(f"{server}/{bucket}", query, {}, seconds).read(_LARGEST_PAGE))  # noqa: S314 - its keys are data
        yield from page.iterfind("{*}Contents")
        token = page.findtext("{*}NextContinuationToken")
        if not token:
            return
        query["continuation-token"] = token


def part(server: str, bucket: str, key: str, headers: Mapping[str, str], seconds: float) -> IO[bytes]:
    """Return the answer to a request for some bytes of an object."""
    return _asked(f"{server}/{bucket}/{quote(key, safe='/~')}", {}, headers, seconds)


def signature(url: str, at: datetime, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that sign a request to GET a URL, its query in order, at a time in UTC.

    secrets: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, perhaps AWS_SESSION_TOKEN and AWS_REGION.
    """
    where, day = urlsplit(url), f"{at:%Y%m%d}"
    headers = {"host": where.netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": f"{at:%Y%m%dT%H%M%SZ}"}
    if secrets.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = secrets["AWS_SESSION_TOKEN"]
    lines = "".join(f"{name}:{text}\n" for name, text in headers.items())
    request = "\n".join(("GET", where.path, where.query, lines, ";".join(headers), _EMPTY))
    scope = f"{day}/{region(secrets)}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{secrets['AWS_SECRET_ACCESS_KEY']}".encode()
    for text in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{digest}"):
        key = hmac.digest(key, text.encode(), "sha256")
    who = f"Credential={secrets['AWS_ACCESS_KEY_ID']}/{scope}"
    signed = f"AWS4-HMAC-SHA256 {who}, SignedHeaders={';'.join(headers)}, Signature={key.hex()}"
    return {**headers, "authorization": signed}


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - its status is an error then
        return None


def _asked(place: str, query: Mapping[str, str], headers: Mapping[str, str], seconds: float) -> IO[bytes]:
    url = f"{place}?{urlencode(sorted(query.items()), quote_via=quote, safe='~')}" if query else place
    own = signature(url, datetime.now(UTC), os.environ) if has_keys() else {}
    request = Request(url, headers={**headers, **own})  # noqa: S310 - of http or https
    answer: IO[bytes] = build_opener(_NoRedirects).open(request, timeout=seconds)
    return answer
