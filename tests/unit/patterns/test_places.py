"""What a path is, by the files in it; those who read it go by the same answer."""

import pytest

from clickassay.core.errors import PatternError
from clickassay.jobs.click_models import read_clicks
from clickassay.jobs.inspect import own_folder
from clickassay.patterns.places import Place, place_of

TABLE = ("settings.json", "configurations.parquet", "patterns.parquet", "queries.parquet", "funnel.parquet")
RUN = (*TABLE, "run.duckdb", "statistics.parquet")
FOLDERS = {
    "a store": (("store.json", "1/batch.json"), Place.STORE),
    "a run": (RUN, Place.RUN),
    "a run without its database": ([name for name in RUN if name != "run.duckdb"], Place.RUN),
    "a run without its statistics": ([name for name in RUN if name != "statistics.parquet"], Place.RUN),
    "a run without its settings": (RUN[1:], Place.RUN),
    "a pattern table": (TABLE, Place.PATTERN_TABLE),
    "a pattern table without patterns": ([name for name in TABLE if name[0] != "p"], Place.PATTERN_TABLE),
    "tables without settings": (TABLE[1:], Place.OTHER),
    "an evaluation": (("settings.json", "means.parquet", "report.html"), Place.OTHER),
    "a log": (("searches.parquet", "clicks.parquet"), Place.OTHER),
    "an empty folder": ((), Place.OTHER),
}


@pytest.fixture(params=FOLDERS)
def folder(request, tmp_path):
    """Return a folder with such files, all empty, and what it is."""
    names, place = FOLDERS[request.param]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path, place


def test_a_folder_is_known_by_its_files(folder):
    assert place_of(folder[0]) is folder[1]


def test_inspect_names_what_clickassay_made_and_leaves_the_rest_to_its_files(folder):
    path, place = folder
    found = own_folder(path)
    assert (found is None) == (place is Place.OTHER)
    if found is not None:
        assert found[0] == place.value


def test_a_file_and_nothing_are_told_apart(tmp_path):
    (tmp_path / "file").touch()
    assert place_of(tmp_path / "file") is Place.FILE
    assert place_of(tmp_path / "file" / "beyond") is Place.NOTHING
    assert place_of(tmp_path / "nowhere") is Place.NOTHING
    assert own_folder(tmp_path / "file") is None
    with pytest.raises(PatternError, match="is a file; give the folder of a run"):
        read_clicks(tmp_path / "file", market=None, depth=None)
    with pytest.raises(PatternError, match="is not a pattern table"):
        read_clicks(tmp_path / "nowhere", market=None, depth=None)
