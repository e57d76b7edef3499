"""S3 asked by hand, for keys that libraries of paths refuse, as ``s//b``: a list, and parts of an object.

Signatures are those of AWS (Signature Version 4); redirects are not followed.
"""

import hashlib
import hmac
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from xml.etree.ElementTree import Element, fromstring

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
    """Return the headers that sign a request to GET a URL, whose query is in order.

    at: when it is asked, UTC.
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
