"""Documents of TOML and JSON: whatever is in the file, one kind of error, and soon."""

import json
import time

import pytest
from pydantic import BaseModel

from clickassay.core.files import documents
from clickassay.core.files.documents import DocumentError, check_form, read_json, read_toml

DEEP, LONG, DOTS = 100_000, 5_000, 50_000
BROKEN_TOML = {
    "no TOML": b"a = ",
    "no text": b"a = '\xff'",
    "zero byte": b"\x00",
    "nested lists": b"a = " + b"[" * 40_000,
    "nested tables": b"a = " + b"{a=" * 30_000,
    "a long number": b"a = " + b"9" * LONG,
    "a key of many parts": b".".join([b"a"] * DOTS) + b" = 1",
    "a head of many parts": b"[" + b".".join([b'"a"'] * 1_000) + b"]",
    "too long": b"#" * 100_001,
}
BROKEN_JSON = {
    "no JSON": b'{"a": ',
    "no text": b'{"a": "\xff"}',
    "nested lists": b'{"a": ' + b"[" * DEEP,
    "nested objects": b'{"a":' * DEEP,
    "a long number": b'{"a": ' + b"9" * LONG + b"}",
    "no object": b"[1]",
    "nothing": b"",
}


@pytest.mark.parametrize(
    ("read", "content"),
    [(read_toml, one) for one in BROKEN_TOML.values()] + [(read_json, one) for one in BROKEN_JSON.values()],
    ids=[*BROKEN_TOML, *(f"JSON: {name}" for name in BROKEN_JSON)],
)
def test_a_broken_document_is_one_kind_of_error_and_soon(tmp_path, read, content):
    file = tmp_path / "document"
    file.write_bytes(content)
    began = time.monotonic()
    with pytest.raises(DocumentError):
        read(file)
    assert time.monotonic() - began < 5


def test_json_has_a_limit_of_size_too(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MOST_JSON_BYTES", 10)
    (tmp_path / "long.json").write_text('{"a": "0123456789"}')
    with pytest.raises(DocumentError, match="more than 10 bytes"):
        read_json(tmp_path / "long.json")


def test_a_file_that_is_missing_is_no_broken_document(tmp_path):
    for read in (read_toml, read_json):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nowhere")


def test_a_mark_at_the_beginning_of_toml_is_skipped(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfa = [1, 2]")
    assert read_toml(tmp_path / "a.toml") == {"a": [1, 2]}


class Form(BaseModel):
    rows: int
    names: list[str]


def test_a_form_is_held_to_its_types_and_may_have_more():
    good = {"rows": 3, "names": ["a"], "more": None}
    assert check_form(good, Form) == good
    for odd, place in ((good | {"rows": "3"}, "rows: "), (good | {"names": ["a", 1]}, r"names\.1: ")):
        with pytest.raises(DocumentError, match=place):
            check_form(json.loads(json.dumps(odd)), Form)
