"""Serves the page on this machine alone: on loopback, with a token, for requests to its own address."""

import secrets
import select
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from clickassay.core.errors import SettingsError
from clickassay.studies.explorer.page import POLICY, Answer, ExploredRun, answer
from clickassay.studies.questions import PageQuestions

LOOPBACK = "127.0.0.1"
_NAMES = frozenset({LOOPBACK, "localhost", "::1"})
_LARGEST_QUESTION = 1_000_000
"""Bytes of a form."""
_LOOKS_S = 0.2
"""Seconds between two looks whether the reader of an answer is still there."""
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # with less, a form has no origin
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def serve(run: ExploredRun, *, port: int | None, open_browser: bool, tell: Callable[[str], None]) -> None:
    """Serve the page of a run on 127.0.0.1 until Ctrl-C; SettingsError if the port is taken or forbidden.

    port: None = any free one. tell: called with the address, which holds the token, once it is taken.
    """
    try:
        server = ThreadingHTTPServer((LOOPBACK, port or 0), _Handler)
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"port {port} of {LOOPBACK} cannot be used ({error}); give another --port"
        ) from error
    with server, suppress(KeyboardInterrupt):
        door = Door(secrets.token_urlsafe(24), server.server_port)
        server.served = run, door  # type: ignore[attr-defined]
        hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
        if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
            signal.signal(hang_up, signal.SIG_DFL)  # a lost terminal ends the page without a word
        address = f"http://{LOOPBACK}:{door.port}{door.path}?access_token={door.token}"
        tell(address)
        if open_browser:
            webbrowser.open(address)
        server.serve_forever()


@dataclass(frozen=True)
class Door:
    """Who is let in: requests of this page to its own address, with its token."""

    token: str
    port: int

    @property
    def path(self) -> str:
        """Path of the page: a cookie knows no port, so that of another page has another path."""
        return f"/{self.port}/"

    @property
    def cookie(self) -> str:
        """What the browser is asked to keep, in place of the token in the address."""
        return f"clickassay={self.token}; Path={self.path}; HttpOnly; SameSite=Lax"

    def refusal(self, path: str, headers: Mapping[str, str]) -> str:
        """Return why a request is refused; '' if it is not.

        Requests under another host name that resolves to 127.0.0.1 (DNS rebinding) and requests of pages of
        another origin, also of another port of this machine, are refused, and whoever lacks the token.
        """
        host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
        try:
            name = urlsplit(f"http://{host}").hostname
        except ValueError:
            name = None
        if name not in _NAMES or origin not in ("", f"http://{host}"):
            return "This page answers only to its own address."
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get("clickassay")
        except CookieError:
            kept = None
        token = "" if kept is None else kept.value
        is_known = secrets.compare_digest(token.encode(), self.token.encode())
        if not path.startswith(self.path) or not is_known:
            return "Open the address that the command has printed: it has the token."
        return ""


class _Handler(BaseHTTPRequestHandler):
    timeout = 60  # seconds for a request to arrive
    server_version, sys_version = "clickassay", ""

    def do_GET(self) -> None:
        """Answer with a page or a file; the address with the token leads to the one without."""
        parts = urlsplit(self.path)
        asked = _values(parts.query)
        _, door = self._served
        token = asked.pop("access_token", "")
        cookie = {"cookie": f"clickassay={token}"} if token else {}
        if self._is_refused(parts.path, cookie):
            return
        if token:
            self._send(303, Answer(b"", "text/plain"), {"location": door.path, "set-cookie": door.cookie})
        else:
            self._answer(parts.path, asked)

    def do_POST(self) -> None:
        """Answer a form, which asks a question in SQL."""
        if self._is_refused(self.path):
            return
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _LARGEST_QUESTION:
            self._send(413, Answer(b"This question is too long.", "text/plain"))
            return
        self._answer(self.path, _values(self.rfile.read(int(length)).decode("utf-8", "replace")))

    def log_message(self, *_: object) -> None:
        """Say nothing: the terminal is the user's."""

    @property
    def _served(self) -> tuple[ExploredRun, Door]:
        served: tuple[ExploredRun, Door] = self.server.served  # type: ignore[attr-defined]
        return served

    def _is_refused(self, path: str, more: Mapping[str, str] | None = None) -> bool:
        headers = {name.lower(): value for name, value in self.headers.items()} | {**(more or {})}
        why = self._served[1].refusal(path, headers)
        if why:
            self._send(403, Answer(why.encode(), "text/plain"))
        return bool(why)

    def _answer(self, path: str, asked: Mapping[str, str]) -> None:
        questions, (run, door) = PageQuestions(), self._served
        with _watched(self.connection, questions.interrupt):
            found = answer(run, path.removeprefix(door.path), asked, questions)
        self._send(200 if found is not None else 404, found or Answer(b"Nothing is here.", "text/plain"))

    def _send(self, status: int, found: Answer, more: Mapping[str, str] | None = None) -> None:
        file = {"content-disposition": f'attachment; filename="{found.file}"'} if found.file else {}
        own = {"content-type": f"{found.type}; charset=utf-8", "content-length": str(len(found.body))}
        with suppress(ConnectionError):  # the reader has gone
            self.send_response(status)
            for name, value in (HEADERS | own | file | {**(more or {})}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(found.body)


def _values(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}


@contextmanager
def _watched(connection: socket.socket, leave: Callable[[], None]) -> Iterator[None]:
    """Call `leave` when the other end of a connection has gone before the work is done."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOKS_S):
            try:
                readable = select.select([connection], [], [], 0)[0]
                is_gone = bool(readable) and not connection.recv(1, socket.MSG_PEEK)
            except (OSError, ValueError):
                is_gone = True
            if is_gone:
                leave()
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
