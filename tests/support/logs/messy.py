"""Messy logs as files."""

import pyarrow as pa
import pyarrow.parquet as pq

MS = pa.timestamp("ms")
TIMES = (pa.int64(), pa.timestamp("ms", tz="UTC"), pa.timestamp("us"), pa.timestamp("us", tz="UTC"))


def write_log(folder, seed, **tables):
    """Write each table as Parquet, in some logs as a folder of two files; return paths by name."""
    folder.mkdir()
    types = column_types(seed, tables)
    paths = {}
    for name, rows in tables.items():
        if rows is None:
            continue
        fields = [pa.field(column, types[name, column]) for column in columns_of(name, rows)]
        data = pa.Table.from_pylist(rows, schema=in_ms(fields))
        data = data.cast(pa.schema(fields))
        paths[name] = write_parquet(data, folder / name, parts=1 + (seed % 3 == 0))
    return paths


def columns_of(name, rows):
    """Return the columns of rows; an empty click log still has its columns."""
    return list(rows[0]) if rows else ["search_id", "timestamp", "url"]


def in_ms(fields):
    """Return a schema in which all times are milliseconds, as the rows have them."""
    return pa.schema([field.with_type(MS) if field.name == "timestamp" else field for field in fields])


def column_types(seed, tables):
    """Return the Arrow type by table and column; ids, times and grades have several."""
    searches, judgments = tables["searches"], tables["judgments"]
    types = {
        ("searches", "results"): pa.list_(pa.string()),
        ("searches", "teams"): pa.list_(pa.string()),
        ("searches", "page"): (pa.int32(), pa.int64())[seed % 2],
        ("clicks", "position"): (pa.int64(), pa.int32())[seed % 2],
        ("clicks", "action"): pa.string(),
        ("clicks", "dwell_seconds"): (pa.float64(), pa.float32())[seed % 2],
        ("queries", "navigational"): pa.bool_(),
        ("queries", "tier"): pa.int64(),
        ("judgments", "grade"): id_type(judgments, "grade"),
        ("searches", "user_id"): id_type(searches, "user_id"),
    }
    for name in ("searches", "clicks"):
        types[name, "search_id"] = id_type(searches, "search_id")
        types[name, "timestamp"] = TIMES[seed // 2 % len(TIMES)]
    texts = ("query", "url", "judge", "market", "topic", "group", "variant", "experiment")
    types |= {(name, column): pa.string() for name in tables for column in texts}
    return types


def id_type(rows, column):
    """Return the Arrow type of a column that holds integers or text."""
    return pa.string() if any(isinstance(row[column], str) for row in rows) else pa.int64()


def write_parquet(data, path, *, parts):
    """Write a table as one file, or as a folder of files."""
    if parts == 1:
        pq.write_table(data, path.with_suffix(".parquet"))
        return path.with_suffix(".parquet")
    path.mkdir()
    cut = data.num_rows // parts
    pq.write_table(data.slice(0, cut), path / "b.parquet")
    pq.write_table(data.slice(cut), path / "a.parquet")
    return path
