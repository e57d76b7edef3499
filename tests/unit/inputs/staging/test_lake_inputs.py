"""Tables of Delta Lake and Iceberg: the rows of the present version alone, and its fingerprint."""

import polars as pl
import pyarrow as pa
import pytest

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.staging import lakes
from clickassay.inputs.staging.sources import staged
from clickassay.jobs.inputs import opened
from support.logs import tiny

deltalake = pytest.importorskip("deltalake")
catalog = pytest.importorskip("pyiceberg.catalog.memory")


def searches():
    return tiny.searches().with_columns(loaded=pl.lit(1)).to_arrow()


def delta(folder):
    """A table of Delta Lake from which a row was deleted, and to which others were appended."""
    rows = searches()
    deltalake.write_deltalake(folder, rows.slice(0, 10), partition_by=["query"])
    deltalake.DeltaTable(folder).delete("search_id = 3")
    deltalake.write_deltalake(folder, rows.slice(10), mode="append")
    deltalake.write_deltalake(folder, rows.slice(2, 1), mode="append")
    return folder


def iceberg(folder):
    """The same of Iceberg."""
    made = catalog.InMemoryCatalog("m", warehouse=f"file://{folder}")
    made.create_namespace("n")
    table = made.create_table("n.t", schema=searches().schema)
    table.append(searches().slice(0, 10))
    table.delete("search_id = 3")
    table.append(searches().slice(10))
    table.append(searches().slice(2, 1))
    return folder / "n" / "t"


@pytest.fixture(scope="module", params=[delta, iceberg], ids=["Delta Lake", "Iceberg"])
def table(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("lake") / "table")


def test_the_rows_of_the_present_version_are_read(table):
    with scratch():
        rows = opened("searches", table, Settings()).frame.collect().sort("search_id")
    plain = tiny.searches().sort("search_id")
    assert rows["search_id"].to_list() == plain["search_id"].to_list()
    assert rows["results"].to_list() == plain["results"].to_list()
    assert rows["timestamp"].to_list() == plain["timestamp"].dt.epoch("ms").to_list()


def test_only_needed_columns_are_written_and_the_fingerprint_is_of_the_version(table):
    with scratch():
        made = staged("searches", table, {})
        assert "loaded" not in pl.read_parquet(made.path).columns
        (origin,) = made.origins.values()
        again = staged("searches", table, {})
        assert list(again.origins.values()) == [origin]
    assert origin.fingerprint.digest.startswith("version:")


def test_another_version_is_another_fingerprint(tmp_path):
    folder, known = delta(tmp_path / "t"), []
    for _ in range(2):
        with scratch():
            (origin,) = staged("searches", folder, {}).origins.values()
            known.append(origin.fingerprint.digest)
        deltalake.DeltaTable(folder).delete("search_id = 4")
    assert known[0] != known[1]


def test_a_file_of_metadata_names_its_version(tmp_path):
    folder = iceberg(tmp_path / "t")
    files = sorted((folder / "metadata").glob("*.metadata.json"))
    with scratch():
        assert opened("searches", files[1], Settings()).frame.collect().height == 10


def test_files_that_lie_elsewhere_are_refused_unasked(tmp_path, monkeypatch):
    folder = iceberg(tmp_path / "t")
    newest = max((folder / "metadata").glob("*.metadata.json"))
    newest.write_text(newest.read_text().replace(f"file://{folder}/metadata/snap", "s3://else/snap"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with scratch(), pytest.raises(InputError, match=r"has files in another place, such as s3://else/snap"):
        staged("searches", folder, {})


def test_two_files_of_the_highest_version_are_refused(tmp_path):
    folder = iceberg(tmp_path / "t")
    newest = max((folder / "metadata").glob("*.metadata.json"))
    newest.with_name(newest.name[:6] + "other.metadata.json").write_bytes(newest.read_bytes())
    with scratch(), pytest.raises(InputError, match=r"2 files of version .* only its catalogue"):
        staged("searches", folder, {})


@pytest.mark.parametrize("make", [delta, iceberg])
def test_a_broken_table_has_one_line_with_the_remedy(tmp_path, make):
    folder = make(tmp_path / "t")
    for file in folder.rglob("*.json"):
        file.write_text("{")
    with scratch(), pytest.raises(InputError) as refused:
        staged("searches", folder, {})
    line = str(refused.value)
    assert line.startswith("searches: cannot read the table of ")
    assert "write its rows as Parquet with the program that made it" in line
    assert "\n" not in line


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    folder = delta(tmp_path / "t")
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    with scratch(), pytest.raises(InputError, match=r"to read it, install: pip install 'clickassay\[lake\]'"):
        staged("searches", folder, {})


def test_views_of_text_become_text():
    assert lakes._plain(pa.list_(pa.string_view())) == pa.large_list(pa.large_string())
    assert lakes._plain(pa.struct([("a", pa.string_view())])) == pa.struct([("a", pa.large_string())])
