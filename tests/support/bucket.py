"""A server of objects on this machine, as S3 answers, that can be slow, cut connections, refuse or change."""

import hashlib
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "logs"


class Bucket:
    """The objects of one bucket, and how the server misbehaves.

    objects: Bytes by key.
    asked: How often each method was asked for each key.
    status: Answer of every request instead of the right one; 0 = the right one.
    cuts, stalls: So many bodies of objects end in the middle, or stop for `stall` seconds.
    knows_ranges: Whether parts of an object can be asked for.
    before_get: Called before an object is sent.
    redirect: Status and address of another server, which every request is sent on to; None = to none.
    sizes: What the list says of an object in place of its size.
    page: Objects of a page of the list; 0 = each page is empty, and there is no last one.
    secrets: Tokens of sessions that were sent here.
    """

    def __init__(self):
        self.objects, self.asked = {}, Counter()
        self.status, self.cuts, self.stalls, self.stall = 0, 0, 0, 0.0
        self.knows_ranges = True
        self.before_get = lambda key, start: None
        self.redirect, self.sizes, self.page, self.secrets = None, {}, 1000, []

    def put(self, key, file):
        self.objects[key] = Path(file).read_bytes() if isinstance(file, (str, Path)) else file


def tag_of(content):
    return f'"{hashlib.md5(content).hexdigest()}"'  # noqa: S324 - as S3 does


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def bucket(self):
        return self.server.bucket

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix(f"/{BUCKET}").removeprefix("/")
        self.bucket.asked[self.command, key] += 1
        self.bucket.secrets += self.headers.get_all("x-amz-security-token", [])
        if self.bucket.redirect:
            status, address = self.bucket.redirect
            self.answer(status, Location=f"{address}{self.path}")
        elif self.bucket.status:
            self.answer(self.bucket.status, b"<Error><Code>Told</Code><Message>no</Message></Error>")
        elif "list-type" in parse_qs(parts.query):
            asked = {name: texts[0] for name, texts in parse_qs(parts.query).items()}
            self.list(asked.get("prefix", ""), int(asked.get("continuation-token", 0)))
        elif key not in self.bucket.objects:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self.object(key)

    def list(self, prefix, start):
        every = [one for one in sorted(self.bucket.objects.items()) if one[0].startswith(prefix)]
        end = start + self.bucket.page
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{self.bucket.sizes.get(key, len(content))}</Size>"
            f"<ETag>{tag_of(content)}</ETag><LastModified>2026-01-05T00:00:00.123Z</LastModified></Contents>"
            for key, content in every[start:end]
        )
        more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < len(every) else ""
        rows = f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{rows}"
        text = f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{rows}</ListBucketResult>'
        self.answer(200, text.encode(), Content_Type="application/xml")

    def object(self, key):
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        if self.command == "GET":
            self.bucket.before_get(key, start)
        content = self.bucket.objects[key]
        if self.headers.get("If-Match") not in (None, tag_of(content)):
            self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            return
        headers = {
            "ETag": tag_of(content),
            "Last_Modified": "Mon, 05 Jan 2026 00:00:00 GMT",
            "Accept_Ranges": "bytes",
        }
        if asked is None or self.command == "HEAD" or not self.bucket.knows_ranges:
            self.answer(200, content, **headers)
            return
        last = min(int(asked.rpartition("-")[2]), len(content) - 1)
        self.part(content[start : last + 1], f"bytes {start}-{last}/{len(content)}", headers)

    def part(self, body, where, headers):
        self.send_response(206)
        for name, value in (headers | {"Content_Range": where, "Content_Length": str(len(body))}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        if self.bucket.cuts:
            self.bucket.cuts -= 1
            self.wfile.flush()
            self.connection.close()
            return
        if self.bucket.stalls:
            self.bucket.stalls -= 1
            self.wfile.flush()
            time.sleep(self.bucket.stall)
        self.wfile.write(body[len(body) // 2 :])


@contextmanager
def served():
    """Yield a bucket and the address of its server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.bucket = True, Bucket()
    server.handle_error = lambda *_: None  # connections that are cut on purpose
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.bucket, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
