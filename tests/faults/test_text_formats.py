"""CSV, JSON lines, gzip and Hive folders: the same log gives the same bytes; what is broken is said."""

import csv
import gzip
import json

import polars as pl
import pytest

from support.logs import tiny

FEW = ("--max-rejected", "0.2")


def as_cells(table: str) -> list[dict[str, object]]:
    """Return the rows of a table as a spreadsheet or a log shipper would write them: times as ISO text."""
    frame = getattr(tiny, table)()
    if "timestamp" in frame.columns:
        frame = frame.with_columns(pl.col("timestamp").dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    return frame.to_dicts()


def write_csv(file, rows: list[dict[str, object]], *, separator: str = ",") -> None:
    """Write rows with the standard library; lists become JSON arrays."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "wt", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=separator)
        writer.writeheader()
        for row in rows:
            writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()})


def write_json_lines(file, rows: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())


def write_as(ending: str, file, rows: list[dict[str, object]]) -> None:
    if "json" in ending:
        write_json_lines(file, rows)
    else:
        write_csv(file, rows, separator="\t" if "tsv" in ending else ",")


@pytest.mark.parametrize(
    "ending", [".csv", ".tsv", ".csv.gz", ".jsonl", ".ndjson", ".json", ".jsonl.gz", ".CSV"]
)
def test_every_text_format_gives_the_bytes_of_parquet(tmp_path, ending):
    plain = tiny.write_log(tmp_path / "plain")
    places = {name: tmp_path / f"{name}{ending}" for name in ("searches", "clicks", "judgments")}
    for name, place in places.items():
        write_as(ending, place, as_cells(name))
    log = tiny.write_log(tmp_path / "text", **places)
    assert tiny.counted(plain) == tiny.counted(log)
    # ids are text in CSV, integers in Parquet: the buckets of users may differ, nothing else
    for table in ("configurations", "patterns"):
        assert (plain.out / f"{table}.parquet").read_bytes() == (log.out / f"{table}.parquet").read_bytes()
    assert tiny.analysed(plain)["correlations"].equals(tiny.analysed(log)["correlations"])


TIMES = {
    "milliseconds": str,
    "ISO with Z": lambda ms: f"2024-05-01T{clock(ms, 12)}Z",
    "ISO with a space": lambda ms: f"2024-05-01 {clock(ms, 12)}",
    "two hours east": lambda ms: f"2024-05-01T{clock(ms, 14)}+02:00",
    "five and a half hours east": lambda ms: f"2024-05-01 {clock(ms + 1_800_000, 17)}+0530",
    "eight hours west": lambda ms: f"2024-05-01T{clock(ms, 4)}-08:00",
    "blanks around": lambda ms: f"  {ms} ",
    "without a fraction": lambda ms: f"2024-05-01T{clock(ms, 12).split('.')[0]}Z",
    "microseconds": lambda ms: f"2024-05-01T{clock(ms, 12)}000Z",
}


def clock(ms: int, hour: int) -> str:
    """Return the time of day of an instant of the tiny log, when noon in UTC is at `hour`."""
    seconds, fraction = divmod(ms - tiny.NOON_MS, 1000)
    return f"{hour + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:03}"


@pytest.mark.parametrize("spelling", TIMES)
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_times_may_be_spelled_in_many_ways(tmp_path, spelling, ending):
    plain, places = tiny.write_log(tmp_path / "plain"), {}
    for name in ("searches", "clicks"):
        frame = getattr(tiny, name)().with_columns(pl.col("timestamp").dt.epoch("ms"))
        rows = [
            {**row, "timestamp": TIMES[spelling](row["timestamp"])} for row in frame.iter_rows(named=True)
        ]
        places[name] = tmp_path / f"{name}{ending}"
        write_as(ending, places[name], rows)
    log = tiny.write_log(tmp_path / "text", **places)
    assert tiny.counted(plain) == tiny.counted(log)
    assert (plain.out / "patterns.parquet").read_bytes() == (log.out / "patterns.parquet").read_bytes()


@pytest.mark.parametrize("text", ["yesterday", "01/05/2024", "2024-13-45 99:00:00", "12:00", "NaN"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_times_that_are_none_are_counted_as_null(tmp_path, text, ending):
    rows = as_cells("searches")
    rows[0]["timestamp"] = text
    write_as(ending, tmp_path / f"s{ending}", rows)
    counts = tiny.counted(tiny.write_log(tmp_path, searches=tmp_path / f"s{ending}"), *FEW)
    assert counts["searches", "rejected", "null timestamp"] == 1


BROKEN = (
    '["a", "b"', "a,b,c", "['a', 'b']", '{"a": 1}', '"a"', "null", "", "[[1]]", '["a",]', '["\\q"]', "[1.5]",
    "[true]", '["a"] ["b"]', "[", "\x00",
)  # fmt: skip


@pytest.mark.parametrize("cell", BROKEN)
def test_a_cell_that_is_no_json_array_has_null_results(tmp_path, cell):
    rows = [{**row, "results": json.dumps(row["results"])} for row in as_cells("searches")]
    rows[3]["results"] = cell
    write_csv(tmp_path / "s.csv", rows)
    log = tiny.write_log(tmp_path, searches=tmp_path / "s.csv")
    counts = tiny.counted(log, *FEW)
    assert counts["searches", "rejected", "null results"] == 1
    assert counts["searches", "kept", ""] == tiny.ROWS - 1


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('["a\\"b", "\\u00e9", "\\ud83d\\ude00"]', ['a"b', "é", "😀"]),
        (' [ "x" ,\n 7 , "" ] ', ["x", "7", ""]),
        ('["c:\\\\d", "e\\/f", "g\\th"]', ["c:\\d", "e/f", "g\th"]),
    ],
)
def test_json_arrays_are_read_with_their_escapes(tmp_path, cell, expected):
    rows = [{**row, "results": json.dumps(row["results"])} for row in as_cells("searches")]
    rows[0].update(results=cell, query="odd")
    write_csv(tmp_path / "s.csv", rows)
    log = tiny.write_log(tmp_path, searches=tmp_path / "s.csv")
    tiny.counted(log, "--raw-urls")
    stored = pl.read_parquet(log.out / "configurations.parquet").filter(query="odd")
    assert stored["results"].to_list() == [expected]


def test_an_empty_array_and_a_null_inside_one_are_counted(tmp_path):
    rows = [{**row, "results": json.dumps(row["results"])} for row in as_cells("searches")]
    rows[0]["results"], rows[1]["results"] = "[]", '["a", null]'
    write_csv(tmp_path / "s.csv", rows)
    counts = tiny.counted(tiny.write_log(tmp_path, searches=tmp_path / "s.csv"), *FEW)
    assert counts["searches", "rejected", "empty results"] == 1
    assert counts["searches", "rejected", "null in results"] == 1


def test_results_that_no_cell_spells_as_json_stop_the_run(tmp_path):
    rows = [{**row, "results": "|".join(row["results"])} for row in as_cells("searches")]
    write_csv(tmp_path / "s.csv", rows)
    log = tiny.write_log(tmp_path, searches=tmp_path / "s.csv")
    tiny.refused(log, "searches: 24 of 24 rows are unusable (24 with null results)", "read as it is meant")


@pytest.mark.parametrize("table", ["searches", "clicks", "judgments"])
def test_csv_that_is_not_utf_8_is_refused(tmp_path, table):
    rows = as_cells(table)
    rows[5]["query" if "query" in rows[5] else "url"] = "caf\u00e9"
    write_csv(tmp_path / "latin.csv", rows)
    (tmp_path / "latin.csv").write_bytes(
        (tmp_path / "latin.csv").read_text(encoding="utf-8").encode("latin-1")
    )
    log = tiny.write_log(tmp_path, **{table: tmp_path / "latin.csv"})
    tiny.refused(log, f"{table}: cannot read ", "latin.csv", "UTF-8")


def test_csv_with_a_byte_order_mark_is_read(tmp_path):
    write_csv(tmp_path / "j.csv", as_cells("judgments"))
    (tmp_path / "j.csv").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "j.csv").read_bytes())
    log = tiny.write_log(tmp_path, judgments=tmp_path / "j.csv")
    assert tiny.analysed(log)["statistics"]["n_configurations"].to_list() == [6]


@pytest.mark.parametrize("table", ["searches", "clicks", "judgments"])
def test_csv_with_rows_that_are_too_long_is_refused(tmp_path, table):
    write_csv(tmp_path / "ragged.csv", as_cells(table))
    lines = (tmp_path / "ragged.csv").read_text().splitlines()
    lines[3] += ",more,and more"
    (tmp_path / "ragged.csv").write_text("\n".join(lines) + "\n")
    tiny.refused(
        tiny.write_log(tmp_path, **{table: tmp_path / "ragged.csv"}), f"{table}: cannot read ", "ragged.csv"
    )


def test_csv_rows_that_are_too_short_have_nulls(tmp_path):
    write_csv(tmp_path / "c.csv", as_cells("clicks"))
    lines = (tmp_path / "c.csv").read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0]
    (tmp_path / "c.csv").write_text("\n".join(lines) + "\n")
    log = tiny.write_log(tmp_path, clicks=tmp_path / "c.csv")
    assert tiny.counted(log, *FEW)["clicks", "rejected", "null url"] == 1


def test_a_csv_whose_quote_never_ends_is_refused_or_counted(tmp_path):
    write_csv(tmp_path / "c.csv", as_cells("clicks"))
    text = (tmp_path / "c.csv").read_text()
    (tmp_path / "c.csv").write_text(text.replace("http://", '"http://', 1))
    tiny.refused(tiny.write_log(tmp_path, clicks=tmp_path / "c.csv"), "clicks")


def test_csv_keeps_quotes_commas_and_line_ends_of_a_query(tmp_path):
    rows = as_cells("searches")
    rows[0]["query"] = 'a "b", c\nd'
    write_csv(tmp_path / "s.csv", rows)
    log = tiny.write_log(tmp_path, searches=tmp_path / "s.csv")
    tiny.counted(log)
    assert 'a "b", c d' in pl.read_parquet(log.out / "queries.parquet")["query"].to_list()


@pytest.mark.parametrize("line", ['{"search_id": 1', "not json", '["a"]', "[1, 2]"])
@pytest.mark.parametrize("table", ["searches", "clicks", "judgments"])
def test_a_line_that_is_no_json_object_is_refused(tmp_path, table, line):
    write_json_lines(tmp_path / "t.jsonl", as_cells(table))
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    lines[4] = line
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    tiny.refused(tiny.write_log(tmp_path, **{table: tmp_path / "t.jsonl"}), table, "t.jsonl")


def test_json_lines_may_lack_a_field_here_and_there(tmp_path):
    rows = as_cells("clicks")
    del rows[2]["url"]
    rows[4]["url"] = None
    write_json_lines(tmp_path / "c.jsonl", rows)
    log = tiny.write_log(tmp_path, clicks=tmp_path / "c.jsonl")
    assert tiny.counted(log, *FEW)["clicks", "rejected", "null url"] == 2


# ---- Hive folders -----------------------------------------------------------------------------


def partitioned(folder, name: str, value: str, frame: pl.DataFrame) -> None:
    (folder / f"{name}={value}").mkdir(parents=True)
    frame.write_parquet(folder / f"{name}={value}" / "part-0.parquet")


@pytest.mark.parametrize("pattern", ["", "*", "*/*.parquet", "**/*.parquet"])
def test_a_hive_folder_names_the_market(tmp_path, pattern):
    half = tiny.ROWS // 2
    partitioned(tmp_path / "logs", "market", "us", tiny.searches().head(half))
    partitioned(tmp_path / "logs", "market", "r%C3%A9union", tiny.searches().tail(half))
    log = tiny.write_log(tmp_path, searches=tmp_path / "logs" / pattern)
    tiny.counted(log)
    markets = pl.read_parquet(log.out / "queries.parquet")["market"].unique().sort().to_list()
    assert markets == ["réunion", "us"]


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("market", "us", "__HIVE_DEFAULT_PARTITION__"), ("page", "1", "two")]
)
def test_a_hive_folder_of_nulls_or_of_what_is_no_number_is_counted(tmp_path, name, good, bad):
    partitioned(tmp_path / "logs", name, good, tiny.searches().head(22))
    partitioned(tmp_path / "logs", name, bad, tiny.searches().tail(2))
    log = tiny.write_log(tmp_path, searches=tmp_path / "logs")
    assert tiny.counted(log, *FEW)["searches", "rejected", f"null {name}"] == 2


def test_hive_folders_of_days_change_nothing(tmp_path):
    plain = tiny.write_log(tmp_path / "plain")
    half = tiny.ROWS // 2
    partitioned(tmp_path / "logs", "day", "2024-05-01", tiny.searches().head(half))
    partitioned(tmp_path / "logs", "day", "2024-05-02", tiny.searches().tail(half))
    parts = tiny.write_log(tmp_path / "parts", searches=tmp_path / "logs")
    assert tiny.counted(plain) == tiny.counted(parts)
    assert tiny.patterns(plain.out) == tiny.patterns(parts.out)
