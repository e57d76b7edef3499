"""Every file of an input is read once, or counted with the reason why it is not."""

import os
import random

import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.sources.walk import files_below, find_files


def made(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def found_in(path, root):
    found = find_files("searches", path)
    return [file.relative_to(root).as_posix() for file in found.files], dict(found.left_out)


@pytest.mark.parametrize("given", ["", "*", "**", "**/*", "*/", "day*"])
def test_what_is_hidden_anywhere_below_the_root_is_left_out(tmp_path, given):
    root = made(
        tmp_path / "_work" / ".logs", "day=1/a.parquet", "day=1/_temporary/0/b.parquet", "day=2/.hidden.csv",
        "day=2/deep/.snapshot/hourly.0/c.parquet", "day=2/_SUCCESS", "day=2/deep/d.csv.gz",
    )  # fmt: skip
    names, left_out = found_in(f"{root}/{given}", root)
    assert names == ["day=1/a.parquet", "day=2/deep/d.csv.gz"]
    assert left_out == {"hidden": 4}


def test_endings_that_are_not_read_are_counted(tmp_path):
    made(
        tmp_path, "a.parquet", "1/b.csv.bz2", "2/c.csv.bz2", "3/d.CSV.BZ2", "e.arrow", "000000_0", "f.tar.gz"
    )
    found = find_files("searches", tmp_path)
    assert str(found) == (
        "1 file in 1 folder; ignored: 3 (.csv.bz2), 1 (.arrow), 1 (.tar.gz), 1 (without ending)"
    )


@pytest.mark.parametrize("given", ["", "*", "**/*.csv", "*/*.csv"])
def test_links_are_followed_once(tmp_path, given):
    root = made(tmp_path / "logs", "day=1/a.csv", "day=3/c.csv")
    made(tmp_path / "elsewhere", "b.csv", "more/e.csv")
    (root / "day=2").symlink_to(tmp_path / "elsewhere")
    (root / "a latest day").symlink_to(root / "day=3")
    (root / "day=3" / "again.csv").symlink_to(root / "day=1" / "a.csv")
    (root / "day=3" / "other.csv").symlink_to(made(tmp_path, "alone.csv") / "alone.csv")
    (root / "day=1" / "circle").symlink_to(root)
    names, left_out = found_in(f"{root}/{given}", root)
    every = {"day=1/a.csv", "day=2/b.csv", "day=2/more/e.csv", "day=3/c.csv", "day=3/other.csv"}
    assert set(names) == every - ({"day=2/more/e.csv"} if given == "*/*.csv" else set())
    assert left_out["link seen before"] >= 3


def test_a_link_that_is_the_input_is_followed(tmp_path):
    made(tmp_path, "real/day=1/a.csv")
    (tmp_path / "link").symlink_to("real")
    assert found_in(tmp_path / "link", tmp_path) == (["link/day=1/a.csv"], {})


@pytest.mark.parametrize("name", ["day=2", "b.csv"])
def test_a_link_that_leads_nowhere_is_refused(tmp_path, name):
    (made(tmp_path, "a.csv") / name).symlink_to(tmp_path / "unmounted")
    with pytest.raises(InputError, match=rf"cannot follow the link .*/{name}: .*rows would be missing"):
        find_files("searches", tmp_path)


def test_a_pipe_among_files_is_counted(tmp_path):
    os.mkfifo(made(tmp_path, "a.csv") / "b.csv")
    assert found_in(tmp_path, tmp_path) == (["a.csv"], {"neither file nor folder": 1})


def test_copies_and_hard_links_are_files_of_their_own(tmp_path):
    (tmp_path / "b.csv").hardlink_to(made(tmp_path, "a.csv") / "a.csv")
    assert found_in(tmp_path, tmp_path)[0] == ["a.csv", "b.csv"]


def test_what_is_left_out_is_said_where_nothing_is_left(tmp_path):
    made(tmp_path, "a.csv.bz2", "_b.csv")
    with pytest.raises(InputError, match=r"no data file in .*; ignored: 1 \(.csv.bz2\), 1 \(hidden\); exp"):
        find_files("searches", tmp_path)


def test_a_glob_matches_as_the_library_does(tmp_path):
    rng = random.Random(7)  # noqa: S311
    words = ["a", "b.csv", "ab.csv", "c", "x1.csv", "x2.csv"]
    for _ in range(40):
        parts = [rng.choice(["a", "c", "ab"]) for _ in range(rng.randrange(3))]
        made(tmp_path.joinpath(*parts), f"{rng.choice(['b', 'ab', 'x1', 'x2'])}.csv")
    for _ in range(150):
        depth = rng.randrange(1, 4)
        pattern = "/".join(
            rng.choice(["*", "**", "a*", "?", "x[12].csv", "*.csv", *words]) for _ in range(depth)
        )
        matched = set(tmp_path.glob(pattern)) if any(sign in pattern for sign in "*?[") else set()
        expected = {file for file in matched if file.is_file()}
        expected |= {file for folder in matched if folder.is_dir() for file in folder.rglob("*.csv")}
        if expected:
            assert set(find_files("searches", tmp_path / pattern).files) == expected, pattern


def test_all_files_below_a_folder_are_listed_but_hidden_ones(tmp_path):
    made(tmp_path, "a.txt", "b/c", "_d/e", ".f")
    assert [file.relative_to(tmp_path).as_posix() for file in files_below("a log", tmp_path)] == [
        "a.txt",
        "b/c",
    ]
