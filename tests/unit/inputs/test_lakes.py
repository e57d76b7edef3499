"""A folder that is a table of a lake is refused: its files hold rows that the table no longer has."""

from pathlib import Path

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.sources.walk import find_files

TABLES = {
    "Delta Lake": ("_delta_log/00000000000000000000.json", "part-0.snappy.parquet"),
    "Iceberg": ("metadata/00001-5f.metadata.json", "data/day=1/part-0.parquet"),
    "Hudi": (".hoodie/hoodie.properties", "day=1/part-0.parquet"),
}
GIVEN = ("lake/table", "lake", "lake/table/**/*.parquet", "lake/*", "la*/table", "**/*.parquet", "one file",
         "its folder", "links/there")  # fmt: skip


def table_in(folder, kind):
    mark, data = (folder / "lake" / "table" / name for name in TABLES[kind])
    for file in (mark, data):
        file.parent.mkdir(parents=True) if not file.parent.exists() else None
        file.write_text("{}")
    pl.DataFrame({"query": ["q"]}).write_parquet(data)
    return data


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("given", GIVEN)
def test_a_table_of_a_lake_is_refused_wherever_it_lies(tmp_path, kind, given):
    data = table_in(tmp_path, kind)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "there").symlink_to(data.parent)
    path = {"one file": data, "its folder": data.parent}.get(given, tmp_path / given)
    with pytest.raises(InputError) as refused:
        find_files("searches", path)
    line = str(refused.value)
    named = line.removeprefix("searches: ").partition(" is a table of ")[0]
    assert Path(named).resolve() == (tmp_path / "lake" / "table").resolve()
    assert f" is a table of {kind} (it has " in line
    remedy = "export its rows as Parquet" if kind == "Hudi" else "give the folder of the table itself"
    assert remedy in line
    assert "--engine spark" in line


def test_folders_that_only_look_like_a_lake_are_read(tmp_path):
    for name in ("metadata/notes.json", "_temporary/0/a.parquet", "day=1/a.parquet", "b.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [file.relative_to(tmp_path).as_posix() for file in find_files("searches", tmp_path).files]
    assert found == ["b.parquet", "day=1/a.parquet", "metadata/notes.json"]
