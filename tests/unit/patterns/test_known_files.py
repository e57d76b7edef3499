import hashlib

import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.sources.fingerprint import FileFingerprint, ends_digest, file_fingerprint
from clickassay.patterns.batches import KnownFiles

SIZE = 3 << 20


def written(file, middle=0, size=SIZE):
    content = bytearray(size)
    content[size // 2] = middle
    file.write_bytes(content)
    return file


def known_as_older(file):
    """Return what is known of a file that an older clickassay read: its size and its ends."""
    return FileFingerprint(file.name, str(file.resolve()), file.stat().st_size, ends_digest(file))


def test_a_file_is_known_by_its_content(tmp_path):
    first = file_fingerprint(written(tmp_path / "first"))
    known = KnownFiles("searches", [first])
    assert known.like(file_fingerprint(written(tmp_path / "copy"))) == first
    assert known.like(file_fingerprint(written(tmp_path / "other", middle=1))) is None
    assert known.at(first.path) == first
    assert known.like(file_fingerprint(written(tmp_path / "first", middle=1))) is None


def test_a_second_file_with_the_ends_of_one_that_an_older_version_read_is_compared_whole(tmp_path):
    first = known_as_older(written(tmp_path / "first"))
    known = KnownFiles("searches", [first])
    assert known.like(file_fingerprint(tmp_path / "first")) == first
    assert known.like(file_fingerprint(written(tmp_path / "copy"))) == first
    assert known.like(file_fingerprint(written(tmp_path / "other", middle=1))) is None


def test_where_the_older_file_is_gone_it_is_neither_skipped_nor_read_twice_but_named(tmp_path):
    first = known_as_older(written(tmp_path / "first"))
    known = KnownFiles("clicks", [first])
    moved = (tmp_path / "first").rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"clicks: .*moved may be a copy of .*first, which is gone"):
        known.like(file_fingerprint(moved))
    (tmp_path / "first").symlink_to(moved)
    assert known.like(file_fingerprint(moved)) == first


def test_the_ends_of_a_small_file_are_all_of_it(tmp_path):
    first = known_as_older(written(tmp_path / "first", size=2 << 20))
    assert first.digest == "ends:" + hashlib.sha256((2 << 20).to_bytes(8, "big") + bytes(2 << 20)).hexdigest()
    moved = (tmp_path / "first").rename(tmp_path / "moved")
    assert KnownFiles("clicks", [first]).like(file_fingerprint(moved)) == first
