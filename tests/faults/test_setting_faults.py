"""Settings that are unknown, mistyped, out of range or contradict each other; options win over the file."""

import polars as pl
import pytest

from support.logs import tiny


def with_file(folder, text: str) -> tuple[str, ...]:
    (folder / "settings.toml").write_text(text)
    return ("--settings", str(folder / "settings.toml"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dept = 5", ("unknown setting dept", "settings.toml", "did you mean depth?")),
        ("[sessions]\nidle_minutes = 30", ("section [sessions]; settings stand without sections",)),
        ('idle_minutes = "an hour"', ("setting idle_minutes", "'an hour'")),
        ("idle_minutes = inf", ("setting idle_minutes",)),
        ("idle_minutes = nan", ("setting idle_minutes",)),
        ("depth = [5, 63]", ("setting depth", "between 1 and 62")),
        ("depth = []", ("setting depth", "between 1 and 62")),
        ('depth = ["five"]', ("setting depth", "'five'")),
        ("depth = 5.5", ("setting depth",)),
        ("pool = 3", ("setting pool", "judged")),
        ('conflicts = "min"', ("setting conflicts", "expected one of error, max", "'min'")),
        ("relevant_grade = 5", ("relevant_grade 5 is above max_grade 4",)),
        ('scale = ["bad"]', ("setting scale", "at least two distinct labels")),
        ('scale = ["bad", "good", "Bad "]', ("setting scale", "distinct")),
        ('scale = ["a", "b"]\nmax_grade = 7', ("scale has 2 labels but max_grade is 7",)),
        ("memory_limit = 4", ("setting memory_limit",)),
        ('memory_limit = "lots"', ("setting memory_limit", "'lots'")),
        ("depth = [5", ("settings file", "settings.toml")),
        ("memory-limit = 4\nmemory_limit = '5GB'", ("settings.toml", "memory-limit occurs twice")),
        ("depth = 2024-01-01", ("setting depth", "found 2024-01-01, expected a whole number, 1 to 62")),
        ('scale = [["bad"], ["good"]]', ("setting scale", "found ['bad'], expected a text")),
        (f"scale = {[f'label {number}' for number in range(40)]}", ("setting max_grade", "found 39")),
        ("\x00", ("settings file", "settings.toml")),
    ],
)
def test_a_faulty_settings_file_is_said_in_one_line(tmp_path, text, words):
    log = tiny.write_log(tmp_path)
    before = tiny.tree(tmp_path)
    options = [part for part in log.options("patterns") if part not in ("--depth", "3", "--threads", "1")]
    outcome = tiny.inside(*options, *with_file(tmp_path, text))
    line = tiny.one_line(outcome)
    assert [word for word in words if word not in line] == []
    assert tiny.tree(tmp_path) == sorted([*before, "settings.toml"])


def test_what_may_be_a_token_is_not_shown(tmp_path):
    log = tiny.write_log(tmp_path)
    text = 'engine = "spark"\nspark_remote = ["sc://host;token=abc"]\n'
    line = tiny.one_line(tiny.inside(*log.options("patterns"), *with_file(tmp_path, text)))
    assert "setting spark_remote" in line
    assert "abc" not in line


@pytest.mark.parametrize("name", ["none.toml", "folder", "latin.toml"])
def test_a_settings_file_that_is_missing_a_folder_or_not_utf_8_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.toml").write_bytes('pool = "\u00e9"'.encode("latin-1"))
    more = ("--settings", str(tmp_path / name))
    tiny.refused(tiny.write_log(tmp_path), "settings file", str(tmp_path / name), more=more)


@pytest.mark.parametrize(
    "more",
    [("--depth", "five"), ("--conflicts", "min"), ("--nonsense",), ("--idle-scope", "page"), ("stray",)],
)
def test_options_that_cannot_be_parsed_end_with_code_2_and_no_traceback(tmp_path, more):
    log = tiny.write_log(tmp_path)
    before = tiny.tree(tmp_path)
    outcome = tiny.inside(*log.options(), *more)
    assert outcome.code == 2
    assert more[0].removeprefix("--") in outcome.err
    assert "Traceback" not in outcome.err
    assert tiny.tree(tmp_path) == before


def test_the_deepest_depth_works(tmp_path):
    deep = [[f"r{number}" for number in range(62)]] * tiny.ROWS
    clicks = tiny.clicks().with_columns(url=pl.lit("r61"))
    log = tiny.write_log(
        tmp_path, searches=tiny.searches().with_columns(pl.Series("results", deep)), clicks=clicks
    )
    tiny.said_by(*log.options("patterns"), "--depth", "62")
    assert 2**61 in pl.read_parquet(log.out / "patterns.parquet")["click_mask"].to_list()


def test_a_depth_that_a_pattern_table_does_not_hold_is_refused(tmp_path):
    log = tiny.write_log(tmp_path)
    tiny.counted(log)
    place = ("--patterns", log.out, "--judgments", log.judgments, "--out", tmp_path / "r")
    line = tiny.refusal("report", *place, "--depth", "9")
    assert "has 3 results per ranking, but depth 9" in line
    assert "patterns --depth 9" in line
    assert not (tmp_path / "r").exists()
