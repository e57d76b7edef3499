"""A place to write is checked behind every door, before anything is read: a file URL is the path it names."""

from functools import cache

import pytest

import clickassay as ca
from clickassay.core.errors import ClickassayError
from support.logs import tiny

LOG = {"searches": "missing.parquet", "clicks": "missing.parquet"}
QUICK = {"depth": (3,), "iterations": 10, "click_models": "NONE", "progress": False}


@cache
def table():
    return ca.pattern_table(tiny.searches(), tiny.clicks(), depth=(3,), progress=False)


@cache
def run():
    return table().report(tiny.judgments(), **QUICK)


@cache
def made(study):
    return {"diff": lambda: ca.diff(run(), run()), "audit": lambda: ca.audit(run())}[study]()


READING = {
    "run": lambda place: ca.run(**LOG, judgments="missing.parquet", out=place),
    "pattern_table": lambda place: ca.pattern_table(**LOG, out=place),
    "store": lambda place: ca.pattern_table(**LOG, store=place),
    "report of a table": lambda place: table().report("missing.parquet", out=place),
}
"""What reads inputs first: they are missing, so that the place is refused before."""
SAVING = {
    "simulate": lambda place: ca.simulate(place, 100, progress=False),
    "save a run": lambda place: run().save(place),
    "the page of a run": lambda place: run().report(place),
    "a chart": lambda place: run().chart().save(place),
    "save a table": lambda place: table().save(place),
    "a comparison": lambda place: made("diff").report(place),
    "audit": lambda place: made("audit").save(place),
}


@pytest.mark.parametrize("door", READING | SAVING)
@pytest.mark.parametrize("place", ["s3://bucket/run", "hdfs:/run", "a\0b"])
def test_an_address_is_refused_before_anything_is_read_or_written(door, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ClickassayError, match=r"is a URL|only Spark can write|cannot contain NUL") as refused:
        (READING | SAVING)[door](place)
    assert "missing" not in str(refused.value)
    assert tiny.tree(tmp_path) == []


@pytest.mark.parametrize("begin", ["file://", "file:"])
def test_a_file_url_is_the_path_that_it_names(begin, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    log = {"searches": tiny.searches(), "clicks": tiny.clicks()}
    more = {"depth": (3,), "progress": False}
    of = {
        name: f"{begin}{tmp_path}/{name.replace(' ', '%20')}" for name in ("run", "a table", "store", "saved")
    }
    made_here = ca.run(**log, judgments=tiny.judgments(), out=of["run"], **QUICK)
    assert made_here.found_run.folder == tmp_path / "run"
    ca.pattern_table(**log, out=of["a table"], **more)
    ca.pattern_table(**log, store=of["store"], **more)
    assert table().save(of["saved"]) == tmp_path / "saved"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a table", "run", "saved", "store", "work"]
    assert tiny.tree(tmp_path / "work") == []


def project(folder, log, **places):
    lines = [f'{name} = "{place}"' for name, place in places.items()]
    inputs = [f'{name} = "{getattr(log, name)}"' for name in ("searches", "clicks", "judgments")]
    (folder / "clickassay.toml").write_text("\n".join([*lines, "[inputs]", *inputs]), encoding="utf-8")


def test_places_of_a_project_file_are_held_to_the_same(tmp_path, monkeypatch):
    log = tiny.write_log(tmp_path / "log")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    project(tmp_path / "work", log, out=f"file://{tmp_path}/june", store=f"file://{tmp_path}/store")
    tiny.said_by("run", *tiny.QUICK)
    tiny.said_by("patterns", "--depth", "3")
    tiny.said_by("report", *tiny.QUICK[:4], "--out", tmp_path / "again")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["again", "june", "log", "store", "work"]
    assert tiny.tree(tmp_path / "work") == ["clickassay.toml"]
    gone = tiny.write_log(tmp_path / "log", searches="missing.parquet")
    project(tmp_path / "work", gone, out="s3://bucket/{date}", store="s3://bucket/store")
    for command, says in (
        ("run", "out of clickassay.toml: s3://"),
        ("patterns", "only Spark can write"),
        ("report", "s3:"),
    ):
        line = tiny.refusal(command)
        assert says in line
        assert "missing.parquet" not in line
    assert tiny.tree(tmp_path / "work") == ["clickassay.toml"]
