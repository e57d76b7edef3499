"""Serves the page on this machine alone: on loopback, with a token, for requests to its own address."""

import secrets
import signal
import socket
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clickassay.core.errors import SettingsError
from clickassay.studies.questions import PageQuestions

LOOPBACK = "127.0.0.1"

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Message, _Receive, _Send], Awaitable[None]]

_NAMES = frozenset({LOOPBACK, "localhost", "::1"})
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # marimo's own page, and Vega's expressions
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_ASSETS = "/assets/"  # marimo's own files: they hold nothing of a run, and are large
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def serve(
    run: Path, *, port: int | None, min_users: int, open_browser: bool, tell: Callable[[str], None]
) -> None:
    """Serve the page of a run until the user presses Ctrl-C.

    run: a run folder that `read.explored_run` has checked.
    port: port of 127.0.0.1; None = any free port.
    min_users: queries of fewer users are shown as digests.
    open_browser: whether to open the page in the user's browser.
    tell: called with the address, which holds the token, once the port is taken.

    Raises SettingsError if the extra ``[explore]`` is not installed, or the port is taken or forbidden.
    """
    token = secrets.token_urlsafe(24)
    with _listen(port) as listening, suppress(KeyboardInterrupt):
        taken = listening.getsockname()[1]
        server = _server(guard_requests(_page(token, f"/{taken}"), run, min_users))
        address = f"http://{LOOPBACK}:{taken}/{taken}/?access_token={token}"
        tell(address)
        if open_browser:
            webbrowser.open(address)
        signal.set_wakeup_fd(-1)  # the server handles SIGTERM itself; a SIGINT would interrupt its shutdown
        hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
        if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
            signal.signal(hang_up, signal.SIG_DFL)  # which the server does not handle
        server.run(sockets=[listening])


def check_installed() -> None:
    """Check that the extra is installed.

    Raises SettingsError if it is not; the message has the command that installs it.
    """
    try:
        import altair  # noqa: F401, PLC0415
        import marimo  # noqa: F401, PLC0415
    except ImportError as error:
        raise SettingsError(
            f"explore needs {error.name or 'marimo'}, which is missing: pip install 'clickassay[explore]'"
        ) from error


def _page(token: str, path: str) -> _App:
    import marimo  # noqa: PLC0415 - an extra

    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    builder = marimo.create_asgi_app(
        quiet=True, include_code=False, token=token, html_head=f"<style>{style}</style>"
    )
    page: _App = builder.with_app(path=path, root=str(Path(__file__).parent / "app.py")).build()
    return page


def _server(app: _App) -> Any:  # noqa: ANN401 - uvicorn comes with the extra
    import uvicorn  # noqa: PLC0415

    return uvicorn.Server(
        uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
    )


def _listen(port: int | None) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port or 0))
        listening.listen()  # so that a browser that comes early waits
    except (OSError, OverflowError) as error:
        listening.close()
        raise SettingsError(
            f"port {port} of {LOOPBACK} cannot be used ({error}); give another --port"
        ) from error
    return listening


def guard_requests(
    app: _App, run: Path, min_users: int, *, questions: Callable[[], PageQuestions] = PageQuestions
) -> _App:
    """Pass on only requests that this page makes to its own address.

    Requests under another host name that resolves to 127.0.0.1 (DNS rebinding) and requests of pages of
    another origin, also of another port of this machine, get 403. Answers have a content security policy that
    stops the browser from sending requests to any other address. A page is a web socket: its questions end
    with it.
    """
    about = {"run": str(run.resolve()), "min_users": min_users}

    async def guard(scope: _Message, receive: _Receive, send: _Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await app(scope, receive, send)
        elif not _is_ours(dict(scope["headers"])):
            await _refuse(scope, send)
        else:
            of_page = questions()
            meta = {**about, "questions": of_page}
            heard = _until_closed(receive, of_page.interrupt)
            await app({**scope, "meta": meta}, heard, _with_headers(scope["path"], send))

    return guard


def _until_closed(receive: _Receive, closed: Callable[[], None]) -> _Receive:
    """Pass on messages, and call `closed` when the web socket's other end has gone."""

    async def heard() -> _Message:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            closed()
        return message

    return heard


def _is_ours(headers: dict[bytes, bytes]) -> bool:
    host = headers.get(b"host", b"").decode("latin-1").lower()
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    return _host_name(host) in _NAMES and origin in ("", f"http://{host}")


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"http://{host}").hostname
    except ValueError:
        return None


async def _refuse(scope: _Message, send: _Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"This page answers only to its own address."})


def _with_headers(path: str, send: _Send) -> _Send:
    wanted = _HEADERS if _ASSETS in path else {**_HEADERS, "cache-control": "no-store"}
    ours = [(name.encode(), value.encode()) for name, value in wanted.items()]

    async def sent(message: _Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message["headers"] if pair[0].lower().decode() not in wanted]
            message = {**message, "headers": [*kept, *ours]}
        await send(message)

    return sent
