"""The server answers to its own address alone, stops the browser from asking others, and ends on a signal."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clickassay.core.errors import SettingsError
from clickassay.studies.explorer.server import check_installed, guard_requests, serve

OURS = b"127.0.0.1:9999"


def asked(headers, kind="http", path="/"):
    """Send one request through the guard; return what came back and the scope that reached the page."""
    sent, reached = [], []

    async def page(scope, _receive, send):
        reached.append(scope)
        if kind == "http":
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=9")]}
            )

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "path": path, "headers": headers}
    with ThreadPoolExecutor(1) as thread:  # this one may have the loop of a browser test
        thread.submit(asyncio.run, guard_requests(page, Path("run"), 5)(scope, None, send)).result()
    return sent[0] if sent else None, reached


@pytest.mark.parametrize("host", [OURS, b"localhost:1", b"LOCALHOST:80", b"[::1]:8", b"127.0.0.1"])
def test_the_names_of_this_machine_are_let_through(host):
    answer, reached = asked([(b"host", host)])
    assert answer["status"] == 200
    assert reached[0]["meta"].items() >= {"run": str(Path("run").resolve()), "min_users": 5}.items()


def test_a_page_that_is_closed_ends_its_own_question_alone():
    class Questions:
        def __init__(self):
            self.interrupted = 0

        def interrupt(self):
            self.interrupted += 1

    made = []

    def questions():
        made.append(Questions())
        return made[-1]

    async def page(scope, receive, _send):
        assert scope["meta"]["questions"] is made[-1]
        for kind in ("websocket.receive", "websocket.disconnect"):
            before = made[-1].interrupted
            assert (await receive())["type"] == kind
            assert made[-1].interrupted - before == (kind == "websocket.disconnect")

    scope = {"type": "websocket", "path": "/", "headers": [(b"host", OURS)]}
    guard = guard_requests(page, Path("run"), 5, questions=questions)
    for _ in range(2):
        messages = iter(({"type": "websocket.receive"}, {"type": "websocket.disconnect"}))

        async def receive(messages=messages):
            return next(messages)

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, guard(scope, receive, None)).result()
    assert [one.interrupted for one in made] == [1, 1]


FOREIGN = ("evil.example", "127.0.0.1.evil.example", "evil.example:9999", "", "0.0.0.0:9999", "[::1", "a@b")


@pytest.mark.parametrize("headers", [[], *([(b"host", host.encode())] for host in FOREIGN)])
def test_a_foreign_name_for_this_machine_or_none_is_refused(headers):
    answer, reached = asked(headers)
    assert (answer["status"], reached) == (403, [])


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin",
    [
        b"http://evil.example",
        b"http://127.0.0.1:8888",
        b"https://127.0.0.1:9999",
        b"null",
        b"http://localhost:9999",
    ],
)
def test_a_page_of_another_origin_is_refused(kind, origin):
    answer, reached = asked([(b"host", OURS), (b"origin", origin)], kind)
    assert reached == []
    assert answer.get("status", answer.get("code")) in (403, 1008)


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_the_pages_own_origin_is_let_through(kind):
    assert asked([(b"host", OURS), (b"origin", b"http://127.0.0.1:9999")], kind)[1]


def test_answers_forbid_other_addresses_and_keep_no_copy_of_the_run():
    headers = dict(asked([(b"host", OURS)])[0]["headers"])
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert b"http" not in headers[b"content-security-policy"]
    assert headers[b"referrer-policy"] == b"no-referrer"
    assert headers[b"cache-control"] == b"no-store"


def test_the_programs_own_files_may_be_kept():
    assert dict(asked([(b"host", OURS)], path="/assets/x.js")[0]["headers"])[b"cache-control"] == b"max-age=9"


def test_a_missing_extra_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "marimo", None)
    with pytest.raises(SettingsError, match=r"marimo.*pip install 'clickassay\[explore\]'"):
        check_installed()


def test_a_port_that_is_taken_is_one_line(tmp_path):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} of 127.0.0.1 cannot be used"):
            serve(tmp_path, port=port, min_users=5, open_browser=False, tell=lambda _address: None)
