import hashlib
import os
from pathlib import Path

import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.sources.fingerprint import (
    FileFingerprint,
    file_fingerprint,
    input_fingerprint,
    recorded_digest,
    refuse_changed,
)

SIZE = 3 << 20


def file_of(folder, name, changes=()):
    """Write 3 MiB, some bytes of which differ; return the file."""
    content = bytearray(SIZE)
    for place in changes:
        content[place] = 7
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("place", [0, SIZE // 2, SIZE - 1])
def test_a_change_anywhere_in_a_file_is_seen(tmp_path, place):
    before = file_fingerprint(file_of(tmp_path, "a"))
    assert before.digest == "sha256:" + hashlib.sha256(bytes(SIZE)).hexdigest()
    after = file_fingerprint(file_of(tmp_path, "a", [place]))
    assert not after.has_content_of(before)


def test_a_copy_is_the_same_file_whatever_its_name_and_place(tmp_path):
    file, copy = (file_fingerprint(file_of(tmp_path / name, name)) for name in ("a", "b"))
    assert copy.has_content_of(file)
    assert input_fingerprint([file])["digest"] == input_fingerprint([copy])["digest"]


def older(file, **changed):
    """Return a fingerprint as older versions recorded it: of size, first and last MiB, called sha256."""
    content = file.read_bytes()
    ends = (
        len(content).to_bytes(8, "big")
        + content[: 1 << 20]
        + content[max(1 << 20, len(content) - (1 << 20)) :]
    )
    entry = {"name": file.name, "path": str(file), "bytes": len(content)}
    return {**entry, "sha256": hashlib.sha256(ends).hexdigest(), **changed}


@pytest.mark.parametrize(("place", "is_seen"), [(0, True), (SIZE // 2, False), (SIZE - 1, True)])
def test_a_file_is_compared_with_an_older_digest_as_far_as_that_goes(tmp_path, place, is_seen):
    known = FileFingerprint.recorded(older(file_of(tmp_path, "a")))
    assert known.kind == "ends"
    assert file_fingerprint(file_of(tmp_path, "a")).has_content_of(known)
    assert file_fingerprint(file_of(tmp_path, "a", [place])).has_content_of(known) != is_seen


def test_an_older_digest_where_only_spark_reaches_is_of_path_size_and_time(tmp_path):
    entry = older(file_of(tmp_path, "a"), path="s3a://logs/a")
    assert FileFingerprint.recorded(entry).digest == f"listing:{entry['sha256']}"


def change(file):
    file.write_bytes(bytes(SIZE - 1) + b"x")


def replace(file):
    change(file.with_name("new"))
    file.with_name("new").rename(file)


@pytest.mark.parametrize("harm", [change, replace, Path.unlink])
def test_a_file_that_was_changed_since_is_refused(tmp_path, harm):
    file = file_of(tmp_path, "a")
    before = file_fingerprint(file)
    harm(file)
    with pytest.raises(InputError, match=r"^clicks: .*a was changed while it was read; run again$"):
        refuse_changed("clicks", [before])


def test_a_link_that_leads_to_another_file_since_is_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file_of(tmp_path, "a"))
    before = file_fingerprint(link)
    link.unlink()
    link.symlink_to(file_of(tmp_path, "b", [5]))
    with pytest.raises(InputError, match="link was changed while it was read"):
        refuse_changed("clicks", [before])


def test_a_file_that_was_only_touched_or_put_back_is_the_same_and_its_digest_says_of_what_it_is(tmp_path):
    file = file_of(tmp_path, "a")
    before = file_fingerprint(file)
    os.utime(file, (1, 1))
    refuse_changed("clicks", [before])
    file.unlink()
    file_of(tmp_path, "a")
    refuse_changed("clicks", [before])
    new, old = file_fingerprint(file), FileFingerprint.recorded(older(file))
    kinds = [input_fingerprint(files)["digest"].split(":")[0] for files in ([new], [old], [new, old])]
    assert kinds == ["sha256", "ends", "ends+sha256"]
    assert recorded_digest({"digest": "sha256:12"}) == "sha256:12"
    assert recorded_digest({"sha256": "12"}) == "ends:12"
    assert recorded_digest({}) is None


def test_a_fingerprint_is_read_back_as_it_was_recorded(tmp_path):
    file = file_fingerprint(file_of(tmp_path, "a"))
    assert FileFingerprint.recorded(file.entry()) == file
