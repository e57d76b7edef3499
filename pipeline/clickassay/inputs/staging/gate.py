"""The one way from a reader of a store to the network: it leads to the store, and to nothing else.

Libraries follow redirects, and send the token of a session along to whatever a store names. So they are told
that this gate is their proxy: it opens connections to the hosts that were named, and remembers a refused one.
What passes is not looked into. Proxies of the environment are used as before.
"""

import os
import re
import selectors
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from types import TracebackType
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

PORTS = {"http": 80, "https": 443}
_PIECE = 1 << 18
_LONGEST_HEAD = 1 << 16
_SECONDS = 10
"""How long to wait for a connection."""


class Gate:
    """A proxy on this machine while it is entered; `is_open` says what hosts and ports are let through."""

    def __init__(self, is_open: Callable[[str, int], bool]) -> None:
        self.refused: str | None = None
        """The last host and port that was asked for and not let through."""
        self._is_open = is_open
        self._sockets: set[socket.socket] = set()

    def __enter__(self) -> "Gate":
        self._server = ThreadingTCPServer(("127.0.0.1", 0), _passing(self))
        self._server.daemon_threads, self._server.block_on_close = True, False
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        for one in list(self._sockets):  # whatever still waits for an answer ends now
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    @property
    def address(self) -> str:
        """Return its address, to be given as a proxy."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def passed(self, client: socket.socket) -> None:
        """Let a connection through, or refuse it."""
        read = b""
        while b"\r\n\r\n" not in read and len(read) < _LONGEST_HEAD:
            piece = client.recv(_PIECE)
            if not piece:
                break
            read += piece
        head, _, rest = read.partition(b"\r\n")
        method, target, version = head.decode("latin-1").split(" ", 2)
        is_tunnel = method == "CONNECT"
        where = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = where.hostname or "", where.port or PORTS["http"]
        if not self._is_open(host, port):
            self.refused = f"{host}:{port}"
            client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        beyond = _proxy_of("https" if is_tunnel else "http", host)
        try:
            store = _connected(host, port) if beyond is None else _connected_to_proxy(beyond)
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with store:
            self._sockets |= {client, store}
            try:
                if beyond is not None:
                    store.sendall(f"{head.decode('latin-1')}\r\n".encode("latin-1") + _login(beyond) + rest)
                elif is_tunnel:
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    path = where._replace(scheme="", netloc="").geturl() or "/"
                    lines = re.sub(rb"(?im)^(?:proxy-)?connection:.*\r\n", b"", rest)
                    start = f"{method} {path} {version}\r\nConnection: close\r\n"
                    store.sendall(start.encode("latin-1") + lines)
                _pass_on(client, store)
            finally:
                self._sockets -= {client, store}


def _passing(gate: Gate) -> type[StreamRequestHandler]:
    class Passing(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, ValueError):  # a connection that is cut, or no request
                gate.passed(self.connection)

    return Passing


def _pass_on(client: socket.socket, store: socket.socket) -> None:
    other = {client: store, store: client}
    with selectors.DefaultSelector() as waiting:
        for side in other:
            waiting.register(side, selectors.EVENT_READ, side)
        while True:
            for key, _ in waiting.select():
                one: socket.socket = key.data
                piece = one.recv(_PIECE)
                if not piece:
                    return
                other[one].sendall(piece)
                while isinstance(one, ssl.SSLSocket) and one.pending():
                    other[one].sendall(one.recv(_PIECE))


def _proxy_of(scheme: str, host: str) -> SplitResult | None:
    known = getproxies()
    address = known.get(scheme) or known.get("all")
    if not address or proxy_bypass(host):
        return None
    return urlsplit(address if "://" in address else f"http://{address}")


def _connected(host: str, port: int) -> socket.socket:
    found = socket.create_connection((host, port), _SECONDS)
    found.settimeout(None)
    return found


def _connected_to_proxy(proxy: SplitResult) -> socket.socket:
    host = proxy.hostname or ""
    found = _connected(host, proxy.port or PORTS.get(proxy.scheme, PORTS["http"]))
    if proxy.scheme == "https":
        return ssl.create_default_context().wrap_socket(found, server_hostname=host)
    return found


def _login(proxy: SplitResult) -> bytes:
    if proxy.username is None:
        return b""
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return b"Proxy-Authorization: Basic " + b64encode(login.encode()) + b"\r\n"


_CREDENTIALS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
           "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY",
           "GOOGLE_APPLICATION_CREDENTIALS"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY",
           "AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID", "AZURE_STORAGE_TOKEN"),
}  # fmt: skip
"""Variables one of which has credentials."""


def is_signed(kind: str) -> bool:
    """Tell whether the environment has credentials."""
    return any(os.environ.get(name) for name in _CREDENTIALS.get(kind, ()))


def endpoint() -> str:
    """Return the server of S3 that the environment names; '' for that of AWS."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")


OPTION_OF = {"s3": "aws", "gs": "google", "az": "azure", "https": "http"}
_SERVERS = {
    "s3": r"(?:.+\.)?(?:s3|sts)(?:[.-]dualstack|-fips)?(?:\.[a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?",
    "gs": r"(?:.+\.)?googleapis\.com",
    "az": r"[a-z0-9]+\.(?:blob|dfs)\.core\.windows\.net|login\.microsoftonline\.com",
}
"""Hosts of the stores themselves, and of what gives their credentials."""
_NAMING = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
_OF_THIS_MACHINE = "169.254."
"""Addresses that credentials of a machine in a cloud come from."""


def is_of_store(kind: str, base: str, host: str, port: int) -> bool:
    """Tell whether a host is of a store: its address, or one that a variable names, or its provider's."""
    begin = _NAMING.get(kind)
    named = [base] if begin is None else [text for name, text in os.environ.items() if name.startswith(begin)]
    places = [urlsplit(text) for text in named if "://" in text]
    if any((one.hostname, one.port or PORTS.get(one.scheme)) == (host, port) for one in places):
        return True
    is_named = kind == "s3" and bool(endpoint()) and not host.startswith("sts.")
    return begin is not None and (
        host.startswith(_OF_THIS_MACHINE) or (not is_named and re.fullmatch(_SERVERS[kind], host) is not None)
    )
