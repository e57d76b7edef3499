"""CSV, JSON lines, gzip and Hive folders: the same log gives the same bytes; what is broken is said."""

import csv
import gzip
import json

import polars as pl
import pytest

from support.logs import tiny

FEW = ("--max-rejected", "0.2")
TABLES = ("searches", "clicks", "judgments")


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


# ---- how delimited text is written ---------------------------------------------------------------
COMMAS = (".csv", ",")
FORMS = {
    "semicolons": (".csv", ";", lambda text: text),
    "bars": (".csv", "|", lambda text: text),
    "tabs in a file called csv": (".csv", "\t", lambda text: text),
    "commas in a file called tsv": (".tsv", ",", lambda text: text),
    "the line of Excel": (".csv", ";", lambda text: "sep=;\n" + text),
    "the line of Excel for commas, quoted": (*COMMAS, lambda text: '"sep=,"\n' + text),
    "line ends of Windows and a mark": (".csv", ";", lambda text: "\ufeffsep=;\n" + text),
    "carriage returns alone": (*COMMAS, lambda text: text.replace("\n", "\r")),
    "carriage returns, packed": (".csv.gz", ";", lambda text: ("sep=;\n" + text).replace("\n", "\r")),
    "a comma in the header": (".csv", ";", lambda text: text.replace("\n", ';"a,b,c,d,e,f,g,h"\n', 1)),
}


@pytest.fixture(scope="module")
def commas(tmp_path_factory):
    """Return the places of the good log as CSV, the pattern tables of it by engine, and its judgments."""
    folder = tmp_path_factory.mktemp("commas")
    places = {name: folder / f"{name}.csv" for name in TABLES}
    for name, place in places.items():
        write_csv(place, as_cells(name))
    logs = {engine: tiny.write_log(folder / engine, **places) for engine in ("arrays", "duckdb")}
    for engine, log in logs.items():
        assert tiny.counted(log, "--engine", engine)["clicks", "kept", ""] == tiny.CLICKS
    tiny.said_by("import", "judgments", places["judgments"], "--out", folder / "judged")
    return logs, (folder / "judged" / "judgments.parquet").read_bytes()


def written_in(form: str, folder) -> dict[str, object]:
    """Write the three tables of the good log in a form; return their places."""
    ending, separator, changed = FORMS[form]
    places = {}
    for name in ("searches", "clicks", "judgments"):
        write_csv(folder / f"{name}.csv", as_cells(name), separator=separator)
        text = changed((folder / f"{name}.csv").read_bytes().decode().replace("\r\n", "\n"))
        text = text.replace("\n", "\r\n") if "Windows" in form else text
        (folder / f"{name}.csv").unlink()
        places[name] = folder / f"{name}{ending}"
        raw = text.encode()
        places[name].write_bytes(gzip.compress(raw) if ending.endswith(".gz") else raw)
    return places


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_delimited_text_gives_the_same_bytes_at_every_door(tmp_path, commas, form):
    (tmp_path / "other").mkdir()
    places, (plain, judged) = written_in(form, tmp_path / "other"), commas
    for engine in ("arrays", "duckdb") if form == "the line of Excel" else ("arrays",):
        log = tiny.write_log(tmp_path / engine, **places)
        assert tiny.counted(log, "--engine", engine) == tiny.funnel(plain[engine].out)
        assert tiny.patterns(log.out) == tiny.patterns(plain[engine].out)
    assert "judgments: " in tiny.said_by("inspect", places["judgments"])
    tiny.said_by("import", "judgments", places["judgments"], "--out", tmp_path / "judged")
    assert (tmp_path / "judged" / "judgments.parquet").read_bytes() == judged
    tiny.said_by("init", tmp_path / "other", "--out", tmp_path / "project.toml")
    text = (tmp_path / "project.toml").read_text(encoding="utf-8")
    assert all(f"{name} = " in text for name in places)


def test_json_lines_that_end_with_carriage_returns_are_refused_with_the_command_that_mends_them(tmp_path):
    file = tmp_path / "clicks.jsonl"
    write_json_lines(file, as_cells("clicks"))
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r"))
    tiny.refused(tiny.write_log(tmp_path / "log", clicks=file), "tr '\\r' '\\n' <", "lines-clicks.jsonl")


# ---- whole numbers as floats, as pandas writes them beside a null ---------------------------------------


@pytest.mark.parametrize("clicked", [("1.0", "0.0"), ("1.0", ""), ("2.0", "0"), ("1", "0.00")])
def test_clicks_of_impressions_may_be_whole_floats(tmp_path, clicked):
    rows = [
        {"search_id": f"{row['search_id']}.0", "user_id": row["user_id"], "query": row["query"],
         "timestamp": row["timestamp"], "url": url, "position": f"{place}.0", "clicked": clicked[place > 1]}
        for row in as_cells("searches")
        for place, url in enumerate(row["results"], 1)
    ]  # fmt: skip
    write_csv(tmp_path / "shown.csv", rows)
    out = tmp_path / "out"
    tiny.said_by("patterns", "--searches", tmp_path / "shown.csv", "--depth", "3", "--out", out)
    assert tiny.funnel(out)["clicks", "kept", ""] == tiny.ROWS


TIMES = {
    "milliseconds": str,
    "milliseconds as floats": lambda ms: f"{ms}.0",
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


@pytest.mark.parametrize("spellings", [["milliseconds"], ["milliseconds as floats"], [*TIMES]], ids=len)
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_times_may_be_spelled_in_many_ways_even_within_a_file(tmp_path, spellings, ending):
    plain, places = tiny.write_log(tmp_path / "plain"), {}
    for name in ("searches", "clicks"):
        frame = getattr(tiny, name)().with_columns(pl.col("timestamp").dt.epoch("ms"))
        rows = [
            {**row, "timestamp": TIMES[spellings[number % len(spellings)]](row["timestamp"])}
            for number, row in enumerate(frame.iter_rows(named=True))
        ]
        places[name] = tmp_path / f"{name}{ending}"
        write_as(ending, places[name], rows)
    log = tiny.write_log(tmp_path / "text", **places)
    assert tiny.counted(plain) == tiny.counted(log)
    assert (plain.out / "patterns.parquet").read_bytes() == (log.out / "patterns.parquet").read_bytes()


def log_of(folder, table: str, rows: list[dict[str, object]], ending: str = ".csv") -> tiny.Log:
    """Write rows as one table of the good log."""
    write_as(ending, folder / f"{table}{ending}", rows)
    return tiny.write_log(folder, **{table: folder / f"{table}{ending}"})


def log_of_cells(folder, *changed: tuple[int, dict[str, str]]) -> tiny.Log:
    """Write the searches as CSV with some cells of some rows changed."""
    rows = [{**row, "results": json.dumps(row["results"])} for row in as_cells("searches")]
    for number, cells in changed:
        rows[number].update(cells)
    return log_of(folder, "searches", rows)


def log_of_text(folder, table: str, change, ending: str = ".csv") -> tiny.Log:
    """Write a table whose bytes are changed by a function."""
    log = log_of(folder, table, as_cells(table), ending)
    file = folder / f"{table}{ending}"
    file.write_bytes(change(file.read_bytes()))
    return log


def with_line(number: int, change):
    """Return a function that changes one line."""

    def changed(content: bytes) -> bytes:
        lines = content.splitlines(keepends=False)
        lines[number] = change(lines[number])
        return b"\n".join(lines) + b"\n"

    return changed


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_times_that_are_none_are_counted_as_null(tmp_path, ending):
    rows, none = as_cells("searches"), ("yesterday", "01/05/2024", "2024-13-45 99:00:00", "12:00", "NaN")
    for row, text in zip(rows, none, strict=False):
        row["timestamp"] = text
    counts = tiny.counted(log_of(tmp_path, "searches", rows, ending), "--max-rejected", "0.5")
    assert counts["searches", "rejected", "null timestamp"] == len(none)


BROKEN = (
    '["a", "b"', "a,b,c", "['a', 'b']", '{"a": 1}', '"a"', "null", "", "[[1]]", '["a",]', '["\\q"]', "[1.5]",
    "[true]", '["a"] ["b"]', "[", "\x00",
)  # fmt: skip


def test_a_cell_that_is_no_json_array_has_null_results(tmp_path):
    log = log_of_cells(tmp_path, *((number, {"results": cell}) for number, cell in enumerate(BROKEN)))
    counts = tiny.counted(log, "--max-rejected", "0.9", code=1)  # most clicks have no search
    assert counts["searches", "rejected", "null results"] == len(BROKEN)
    assert counts["searches", "kept", ""] == tiny.ROWS - len(BROKEN)


ESCAPED = {
    '["a\\"b", "\\u00e9", "\\ud83d\\ude00"]': ['a"b', "é", "😀"],
    ' [ "x" ,\n 7 , "" ] ': ["x", "7", ""],
    '["c:\\\\d", "e\\/f", "g\\th"]': ["c:\\d", "e/f", "g\th"],
}


def test_json_arrays_are_read_with_their_escapes(tmp_path):
    cells = [{"results": cell, "query": f"odd {number}"} for number, cell in enumerate(ESCAPED)]
    log = log_of_cells(tmp_path, *enumerate(cells))
    tiny.counted(log, "--no-normalise-urls")
    stored = pl.read_parquet(log.out / "configurations.parquet").filter(
        pl.col("query").str.starts_with("odd")
    )
    assert stored.sort("query")["results"].to_list() == list(ESCAPED.values())


BAD_LINES = {
    "not UTF-8": lambda line: line.replace(b"http", "caf\u00e9".encode("latin-1")),
    "too long": lambda line: line + b",more,and more",
}


@pytest.mark.parametrize("fault", BAD_LINES)
@pytest.mark.parametrize("table", TABLES)
def test_csv_that_is_not_utf_8_or_has_rows_that_are_too_long_is_refused(tmp_path, table, fault):
    log = log_of_text(tmp_path, table, with_line(5, BAD_LINES[fault]))
    tiny.refused(log, f"{table}: cannot read ", f"{table}.csv", "UTF-8" if "UTF" in fault else "")


def test_csv_rows_that_are_too_short_have_nulls(tmp_path):
    log = log_of_text(tmp_path, "clicks", with_line(3, lambda line: line.rsplit(b",", 1)[0]))
    assert tiny.counted(log, *FEW)["clicks", "rejected", "null url"] == 1


def test_a_csv_whose_quote_never_ends_is_refused_or_counted(tmp_path):
    log = log_of_text(tmp_path, "clicks", lambda content: content.replace(b"http://", b'"http://', 1))
    tiny.refused(log, "clicks")


def test_csv_keeps_quotes_commas_and_line_ends_of_a_query(tmp_path):
    log = log_of_cells(tmp_path, (0, {"query": 'a "b", c\nd'}))
    tiny.counted(log)
    assert 'a "b", c d' in pl.read_parquet(log.out / "queries.parquet")["query"].to_list()


@pytest.mark.parametrize(
    ("table", "line"),
    [
        *((table, b"not json") for table in TABLES),
        *(("clicks", line) for line in (b'{"search_id": 1', b"[1]")),
    ],
)
def test_a_line_that_is_no_json_object_is_refused(tmp_path, table, line):
    log = log_of_text(tmp_path, table, with_line(4, lambda _: line), ".jsonl")
    tiny.refused(log, table, f"{table}.jsonl")


# ---- Hive folders -----------------------------------------------------------------------------
def partitioned(folder, name: str, value: str, frame: pl.DataFrame) -> None:
    (folder / f"{name}={value}").mkdir(parents=True)
    frame.write_parquet(folder / f"{name}={value}" / "part-0.parquet")


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("market", "us", "__HIVE_DEFAULT_PARTITION__"), ("page", "1", "two")]
)
def test_a_hive_folder_of_nulls_or_of_what_is_no_number_is_counted(tmp_path, name, good, bad):
    partitioned(tmp_path / "logs", name, good, tiny.searches().head(22))
    partitioned(tmp_path / "logs", name, bad, tiny.searches().tail(2))
    log = tiny.write_log(tmp_path, searches=tmp_path / "logs")
    assert tiny.counted(log, *FEW)["searches", "rejected", f"null {name}"] == 2


@pytest.mark.parametrize(
    ("table", "cells", "words"),
    [
        ("searches", {"results": "['a', 'b']"}, ("cannot be read", "Results “['a', 'b']”", '["a", "b"]')),
        ("searches", {"results": "a|b"}, ("Results “a|b”", "JSON array")),
        ("searches", {"timestamp": "03.10.2026 14:05"}, ("“03.10.2026 14:05”", "2026-10-03 14:05:00")),
        ("clicks", {"timestamp": "03.10.2026 14:05"}, ("clicks: ", "Timestamp “03.10.2026 14:05”")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_value_that_cannot_be_read_is_shown_beside_the_form_that_is_expected(
    tmp_path, table, cells, words, engine
):
    rows = [row | cells if number > 2 else row for number, row in enumerate(as_cells(table))]
    line = tiny.refused(log_of(tmp_path, table, rows), *words, f"{table}.csv", more=("--engine", engine))
    assert "null" not in line


@pytest.mark.parametrize(
    ("ending", "engine", "column"),
    [(".csv", "arrays", "market"), (".tsv", "arrays", "query"), (".jsonl", "arrays", "user_id"),
     (".parquet", "arrays", "market"), (".csv", "duckdb", "user_id"), (".parquet", "duckdb", "query"),
     (".parquet", "duckdb", "market")],
)  # fmt: skip
def test_what_databases_write_for_no_value_is_none_in_any_format(tmp_path, ending, engine, column):
    rows = [row | {"market": "uk", "user_id": f"u{row['user_id']}"} for row in as_cells("searches")]
    rows = [row | ({column: "\\N"} if number < 2 else {}) for number, row in enumerate(rows)]
    place = tmp_path / f"cells{ending}"
    if ending == ".parquet":
        times = pl.col("timestamp").str.to_datetime(time_zone="UTC")
        pl.DataFrame(rows).with_columns(times).write_parquet(place)
    else:
        write_as(ending, place, rows)
    log = tiny.write_log(tmp_path, searches=place)
    tiny.refused(
        log, f"2 with {column} that cannot be read", f"“\\N” of {place}", "is not a value; write the"
    )
    assert tiny.counted(log, *FEW, "--engine", engine)["searches", "rejected", f"null {column}"] == 2
    written = pl.read_parquet(log.out / "queries.parquet")
    assert "\\N" not in {*written["market"], *written["query"]}


def test_a_stay_without_a_value_is_none(tmp_path):
    rows = [row | {"dwell_seconds": "\\N"} for row in as_cells("clicks")]
    write_csv(tmp_path / "stays.csv", rows)
    plain, log = (
        tiny.write_log(tmp_path / "plain"),
        tiny.write_log(tmp_path / "stays", clicks=tmp_path / "stays.csv"),
    )
    assert tiny.counted(log) == tiny.counted(plain)
