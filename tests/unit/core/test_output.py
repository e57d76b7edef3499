"""A folder appears whole or not at all, and what is there is not lost."""

import errno
import fcntl
import json
import os

import pytest

from clickassay.core.errors import OutputError
from clickassay.core.files.output import (
    SETTINGS_FILE,
    check_free,
    published_file,
    published_folder,
    write_json,
)


def publish(place, text="new", **options):
    with published_folder(place, **options) as folder:
        (folder / SETTINGS_FILE).write_text("{}")
        (folder / "file").write_text(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_folder_appears_when_the_block_ends_with_the_rights_that_new_folders_have(tmp_path, mask):
    place = tmp_path / "deep" / "er" / "out"
    before = os.umask(mask)
    try:
        with published_folder(place) as folder:
            (folder / "file").write_text("x")
            assert not place.exists()
    finally:
        os.umask(before)
    assert (place / "file").read_text() == "x"
    assert names(place.parent) == ["out"]
    assert place.stat().st_mode & 0o777 == 0o777 & ~mask


def leftover(folder, *, ours=True):
    """Make a folder as a killed process leaves it; return its lock."""
    folder.mkdir()
    (folder / "half").write_text("x")
    lock = folder / (".clickassay-work" if ours else "settings.json")
    lock.touch()
    return lock


def test_what_killed_processes_left_is_swept_unless_it_is_in_use_or_not_ours(tmp_path):
    leftover(tmp_path / ".yesterday.0123abcd")
    leftover(tmp_path / ".out.20260101", ours=False)
    with leftover(tmp_path / ".other.4567cdef").open() as used:
        fcntl.flock(used, fcntl.LOCK_EX)
        with published_folder(tmp_path / "out") as folder:
            own = folder.name
            publish(tmp_path / "beside")
            assert names(tmp_path) == sorted([".other.4567cdef", ".out.20260101", own, "beside"])
    publish(tmp_path / "next")
    assert names(tmp_path) == [".out.20260101", "beside", "next", "out"]
    assert names(tmp_path / "beside") == ["file", SETTINGS_FILE]


def test_what_a_killed_process_left_above_a_place_that_was_not_there_is_swept_too(tmp_path):
    leftover(tmp_path / ".scratch.0123abcd")
    publish(tmp_path / "new" / "below" / "out")
    assert names(tmp_path) == ["new"]


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyboardInterrupt(), MemoryError()])
def test_a_block_that_fails_leaves_nothing_behind_or_the_old_folder_as_it_was(tmp_path, error):
    def fail(**options):
        with published_folder(tmp_path / "out", **options) as folder:
            (folder / "file").write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert names(tmp_path) == []
    publish(tmp_path / "out", "old")
    with pytest.raises(type(error)):
        fail(force=True)
    assert (tmp_path / "out" / "file").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_a_place_that_is_taken_is_refused_before_any_work(tmp_path):
    publish(tmp_path / "out", "old")
    with (
        pytest.raises(
            OutputError, match="out exists already; choose another --out, or replace it with --force"
        ),
        published_folder(tmp_path / "out"),
    ):
        pytest.fail("the block must not begin")
    assert (tmp_path / "out" / "file").read_text() == "old"


def test_force_replaces_a_folder_of_ours_whole(tmp_path):
    publish(tmp_path / "out", "old")
    (tmp_path / "out" / "left over").write_text("x")
    publish(tmp_path / "out", "new", force=True)
    assert names(tmp_path / "out") == ["file", SETTINGS_FILE]
    assert (tmp_path / "out" / "file").read_text() == "new"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("force", [False, True])
def test_an_empty_folder_is_free(tmp_path, force):
    (tmp_path / "out").mkdir()
    publish(tmp_path / "out", force=force)
    assert names(tmp_path / "out") == ["file", SETTINGS_FILE]
    assert names(tmp_path) == ["out"]


def folder_of_others(place):
    place.mkdir()
    (place / "precious").write_text("x")


OF_OTHERS = {
    "folder": folder_of_others,
    "file": lambda place: place.write_text("precious"),
    "broken link": lambda place: place.symlink_to(place.parent / "nowhere"),
    "folder whose mark is a folder": lambda place: (place / SETTINGS_FILE).mkdir(parents=True),
}


@pytest.mark.parametrize("taken", OF_OTHERS.values(), ids=OF_OTHERS)
def test_force_does_not_replace_what_is_not_ours(tmp_path, taken):
    taken(tmp_path / "out")
    with pytest.raises(OutputError, match="exists already"):
        check_free(tmp_path / "out")
    with pytest.raises(OutputError, match=r"was not made by clickassay .*--force does not replace it"):
        publish(tmp_path / "out", force=True)
    assert names(tmp_path) == ["out"]


def test_a_place_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=r"cannot write .*choose another --out"):
        publish(tmp_path / "file" / "out")


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "disk full while writing"), (errno.EDQUOT, "disk full"), (errno.EIO, "cannot write")],
)
def test_a_write_that_fails_is_reported_in_one_line(tmp_path, number, message):
    with pytest.raises(OutputError, match=message), published_folder(tmp_path / "out"):
        raise OSError(number, os.strerror(number))
    assert names(tmp_path) == []


def test_a_folder_that_appears_meanwhile_is_not_written_over(tmp_path):
    def race():
        with published_folder(tmp_path / "out") as folder:
            (folder / "file").write_text("late")
            folder_of_others(tmp_path / "out")

    with pytest.raises(OutputError):
        race()
    assert names(tmp_path / "out") == ["precious"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(
    "name", ["d\u00fcnn \u65e5\u672c", os.fsdecode(b"log\xff"), 'a "quote" \\ and\na line']
)
def test_json_is_read_back_as_it_was_also_with_names_that_are_no_text(tmp_path, name):
    write_json(tmp_path / "a.json", {"b": [name], "a": 1})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"a": 1, "b": [name]}


OURS = "made by us"


def publish_file(place, text="new", **options):
    with published_file(place, ours=OURS, **options) as file:
        assert not place.exists() or options
        file.write_text(f"{OURS}: {text}")


def test_a_block_that_fails_leaves_no_file_or_the_old_one(tmp_path):
    def fail(**options):
        with published_file(tmp_path / "deep" / "page.html", ours=OURS, **options) as file:
            file.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == []
    publish_file(tmp_path / "deep" / "page.html", "old")
    with pytest.raises(RuntimeError):
        fail(force=True)
    assert (tmp_path / "deep" / "page.html").read_text() == "made by us: old"
    assert names(tmp_path / "deep") == ["page.html"]


def test_force_replaces_a_file_of_ours_and_nothing_else(tmp_path):
    place = tmp_path / "page.html"
    publish_file(place, "old")
    with pytest.raises(OutputError, match="exists already; choose another --out, or replace it with --force"):
        publish_file(place)
    publish_file(place, force=True)
    assert place.read_text() == "made by us: new"
    place.write_text("the diary of somebody")
    (tmp_path / "link.html").symlink_to(place)
    (tmp_path / "folder.html").mkdir()
    for name in ("page", "link", "folder"):
        with pytest.raises(OutputError, match="was not made by clickassay; --force does not replace it"):
            publish_file(tmp_path / f"{name}.html", force=True)
    assert place.read_text() == "the diary of somebody"
