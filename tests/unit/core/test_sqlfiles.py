"""Where the SQL files lie."""

import pytest

from clickassay.core.errors import QueryError
from clickassay.core.files.sql import sql_names, sql_text
from support.places import ROOT


def test_the_text_of_a_name_is_that_of_its_file():
    for folder in ("questions/log", "steps/5_visits", "checks"):
        names = sql_names(folder)
        assert list(names) == sorted(file.stem for file in (ROOT / "sql" / folder).glob("*.sql"))
        for name in names:
            assert sql_text(f"{folder}/{name}") == (ROOT / "sql" / folder / f"{name}.sql").read_text("utf-8")


def test_an_unknown_name_is_answered_with_the_closest():
    with pytest.raises(QueryError, match=r"no SQL file 'questions/log/coverag'; did you mean coverage\?"):
        sql_text("questions/log/coverag")


@pytest.mark.parametrize(
    "name", ["questions/log/../log/coverage", "coverage", "", "/questions/log/coverage", "questions/log/"]
)
def test_only_files_directly_in_a_folder_have_names(name):
    with pytest.raises(QueryError):
        sql_text(name)


@pytest.mark.parametrize("folder", ["..", ".", "", "step", "/", "steps/..", "steps/5_visits/"])
def test_an_unknown_folder_is_refused(folder):
    with pytest.raises(QueryError, match="no folder"):
        sql_names(folder)
