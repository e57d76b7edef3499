"""The server answers to its own address alone, with its token; a reader who leaves ends the own question."""

import http.client
import socket
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from clickassay.core.errors import SettingsError
from clickassay.studies.explorer import server
from clickassay.studies.explorer.page import POLICY
from clickassay.studies.explorer.server import Door, serve

OURS = "127.0.0.1:9999"
DOOR = Door("secret", 9999)


def refused(host=OURS, path="/9999/", **headers):
    given = {"cookie": "clickassay=secret", **headers} | ({} if host is None else {"host": host})
    return DOOR.refusal(path, given)


OWN = (OURS, "localhost:1", "LOCALHOST:80", "[::1]:8", "127.0.0.1")
FOREIGN = ("evil.example", "127.0.0.1.evil.example", "evil.example:9999", "", "0.0.0.0:9999", "[::1", "a@b")
ORIGINS = (
    *("null", "https://127.0.0.1:9999", "http://evil.example"),
    *("http://127.0.0.1:8888", "http://localhost:9999"),
)
COOKIES = ("", "clickassay=guess", "other=secret", "clickassay=secret2", "clickassay=é", "clickassay")
ADDRESS, TOKEN = "This page answers only to its own address.", "it has the token"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(({"host": host}, None) for host in OWN),
        *(({"host": host}, ADDRESS) for host in (None, *FOREIGN)),
        ({"origin": f"http://{OURS}"}, None),
        *(({"origin": origin}, ADDRESS) for origin in ORIGINS),
        *(({"cookie": cookie}, TOKEN) for cookie in COOKIES),
        ({"path": "/9998/"}, TOKEN),  # the cookie of another port
    ],
)
def test_own_names_with_the_token_are_let_through_and_all_else_is_refused(given, said):
    told = refused(**given)
    assert told == "" if said is None else said in told


def test_answers_forbid_other_addresses_and_keep_no_copy_of_the_run():
    assert "default-src 'none'" in POLICY
    assert "http" not in POLICY
    assert "unsafe-inline" not in POLICY.partition("script-src")[2].partition(";")[0]
    assert server.HEADERS["referrer-policy"] == "same-origin"
    assert server.HEADERS["cache-control"] == "no-store"
    assert DOOR.cookie == "clickassay=secret; Path=/9999/; HttpOnly; SameSite=Lax"


@contextmanager
def served(monkeypatch, answer):
    """Serve a page that `answer` makes, in a thread; yield its place and what it waits for."""
    monkeypatch.setattr(server, "answer", answer)
    monkeypatch.setattr(server.signal, "signal", lambda *_: None)  # this is not the main thread
    told, made = threading.Event(), {}

    class Kept(server.ThreadingHTTPServer):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made["server"] = self

    def tell(address):
        made["address"] = urlsplit(address)
        told.set()

    monkeypatch.setattr(server, "ThreadingHTTPServer", Kept)
    run = SimpleNamespace()
    thread = threading.Thread(target=lambda: serve(run, port=None, open_browser=False, tell=tell))
    thread.start()
    assert told.wait(10)
    address = made["address"]
    token = address.query.partition("=")[2]
    yield address, {"Cookie": f"clickassay={token}", "Content-Length": "3"}
    made["server"].shutdown()
    thread.join(10)


def test_a_reader_that_leaves_ends_its_own_question_alone(monkeypatch):
    begun, interrupted = threading.Semaphore(0), []

    class Questions:
        def __init__(self):
            self.over = threading.Event()

        def interrupt(self):
            interrupted.append(self)
            self.over.set()

    def asked(_run, _path, values, asker):
        of_reader[values["q"]] = asker
        begun.release()
        asker.over.wait(10)
        return server.Answer(b"answered")

    of_reader, readers = {}, {}
    monkeypatch.setattr(server, "PageQuestions", Questions)
    with served(monkeypatch, asked) as (address, headers):
        for name in "12":
            readers[name] = http.client.HTTPConnection(address.netloc, timeout=10)
            readers[name].request("POST", f"{address.path}sql", f"q={name}", headers)
            assert begun.acquire(timeout=10)
        time.sleep(3 * server._LOOKS_S)
        assert interrupted == []
        readers["1"].close()
        assert of_reader["1"].over.wait(10)
        assert interrupted == [of_reader["1"]]
        of_reader["2"].over.set()
        assert readers["2"].getresponse().read() == b"answered"


@pytest.mark.parametrize("length", ["1000001", "-1", "many"])
def test_a_form_that_is_too_long_is_not_read(monkeypatch, length):
    with served(monkeypatch, lambda *_: pytest.fail("it was read")) as (address, headers):
        reader = http.client.HTTPConnection(address.netloc, timeout=10)
        reader.putrequest("POST", f"{address.path}sql")
        for name, value in (headers | {"Content-Length": length}).items():
            reader.putheader(name, value)
        reader.endheaders()
        assert reader.getresponse().status == 413


def test_a_port_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} of 127.0.0.1 cannot be used"):
            serve(SimpleNamespace(), port=port, open_browser=False, tell=lambda _address: None)
