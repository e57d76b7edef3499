"""Parquet files in the canonical form of method 2."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clickassay.inputs.columns import CLICKS, JUDGMENTS, SEARCHES, arrow_schema
from clickassay.inputs.simulate.corpus import DEPTH, Corpus, SimulatedJudgments
from clickassay.inputs.simulate.rows import EMPTY, NULL, NULL_INSIDE, ClickRows, SearchRows
from clickassay.inputs.simulate.tests import ARMS, ASSIGNMENT_SCHEMA, SimulatedTests
from clickassay.inputs.simulate.traffic import DAYS, periods

TIME = pa.timestamp("ms", tz="UTC")

JUDGMENT_ROW_GROUP = 1 << 20
"""Judgments of a row group, which is as much of their texts as is held at a time."""

COMPRESSION_LEVEL = 1  # of zstd: level 3 is 2% smaller and 20% slower here

_CODED = pa.dictionary(pa.int32(), pa.string())
"""Texts by number: a row group's distinct texts are written once, and need not be looked up to be found."""

_ACTIONS = pa.array(["click", "add_to_cart", "purchase"])
"""What CLICKED, ADDED_TO_CART and BOUGHT are called."""


def parquet_writer(path: Path, schema: Any) -> Any:  # noqa: ANN401 - pyarrow
    """Open a file: numbers and times by their differences, the rest by dictionary.

    URLs get no statistics: no one filters by a range of them.
    """
    integers = [column.name for column in schema if pa.types.is_int64(column.type) or column.type == TIME]
    others = [column.name for column in schema if column.name not in integers]
    lists = [f"{column.name}.list.element" for column in schema if pa.types.is_list(column.type)]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=others + lists,
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
        write_statistics=[name for name in integers + others if name != "url"],
        dictionary_pagesize_limit=1 << 26,
        # Readers are to see plain strings and lists: nothing of Arrow's own types is kept.
        store_schema=False,
    )


def search_schema(markets: tuple[str, ...], *, has_drafts: bool = False) -> Any:  # noqa: ANN401 - pyarrow
    """Columns of ``searches.parquet``."""
    optional = [*(["market"] if markets else []), *(["experiment", "teams"] if has_drafts else [])]
    coded = {"query": _CODED, "market": _CODED, "experiment": _CODED}
    lists = {"results": pa.list_(_CODED), "teams": pa.list_(_CODED)}
    return arrow_schema(SEARCHES, *optional, **coded, **lists)


def click_schema(*, has_actions: bool) -> Any:  # noqa: ANN401 - pyarrow
    """Columns of ``clicks.parquet``."""
    return arrow_schema(CLICKS, "url", *(["action"] if has_actions else []), url=_CODED, action=_CODED)


def search_table(
    rows: SearchRows, corpus: Corpus, markets: tuple[str, ...], tests: SimulatedTests | None
) -> Any:  # noqa: ANN401 - pyarrow
    """Rows of searches with their texts, as an Arrow table of `search_schema`."""
    whole = rows.state != EMPTY
    documents = rows.documents[whole].astype(np.int64)
    documents[rows.state[whole] == NULL_INSIDE, 0] = NULL
    columns = [
        pa.array(rows.search),
        pa.array(rows.user, mask=rows.user == NULL),
        _texts(corpus.queries, rows.query),
        pa.array(rows.time_ms).cast(TIME),
        _lists(whole, _texts(corpus.urls, documents.ravel())),
    ]
    if markets:
        columns.append(_texts(pa.array(markets, pa.string()), rows.market))
    has_drafts = tests is not None and tests.has_drafts
    if tests is not None and has_drafts:
        is_draft = rows.draft >= 0
        columns.append(_texts(pa.array([one.name for one in tests.planted]), rows.draft))
        teams = (rows.teams[is_draft & whole, None] >> np.arange(DEPTH)) & 1
        columns.append(_lists(is_draft & whole, _texts(pa.array(ARMS), teams.ravel()), mask=~is_draft))
    return pa.table(columns, schema=search_schema(markets, has_drafts=has_drafts))


def _lists(are_whole: NDArray[np.bool_], texts: Any, mask: NDArray[np.bool_] | None = None) -> Any:  # noqa: ANN401 - pyarrow
    """Return lists of `DEPTH` texts, or of none; null where the mask is set."""
    ends = np.cumsum(DEPTH * are_whole, dtype=np.int32)
    offsets = pa.array(np.concatenate(([np.int32(0)], ends)))
    return pa.ListArray.from_arrays(offsets, texts, mask=None if mask is None else pa.array(mask))


def click_table(rows: ClickRows, corpus: Corpus, *, has_actions: bool) -> Any:  # noqa: ANN401 - pyarrow
    """Rows of clicks with their texts, as an Arrow table of `click_schema`."""
    columns = [pa.array(rows.search), pa.array(rows.time_ms).cast(TIME), _texts(corpus.urls, rows.document)]
    if has_actions:
        columns.append(_texts(_ACTIONS, rows.action.astype(np.int64)))
    return pa.table(columns, schema=click_schema(has_actions=has_actions))


def _texts(texts: Any, indices: NDArray[np.int64]) -> Any:  # noqa: ANN401 - pyarrow
    occurs = np.zeros(len(texts) + 1, dtype=np.bool_)  # one more, which NULL stands for
    occurs[indices] = True
    has_nulls = bool(occurs[NULL])
    occurs[NULL] = False
    used = np.flatnonzero(occurs)
    codes = np.cumsum(occurs, dtype=np.int32)
    codes -= 1
    coded = pa.array(codes.take(indices, mode="wrap"), mask=indices == NULL if has_nulls else None)
    return pa.DictionaryArray.from_arrays(coded, texts.take(pa.array(used)))


def write_judgments(path: Path, corpus: Corpus, judgments: SimulatedJudgments) -> None:
    """Write ``judgments.parquet``: query, url, grade."""
    schema = arrow_schema(JUDGMENTS, query=_CODED, url=_CODED, grade=pa.int8())
    with parquet_writer(path, schema) as file:
        for begin in range(0, len(judgments.grades), JUDGMENT_ROW_GROUP):
            part = slice(begin, begin + JUDGMENT_ROW_GROUP)
            documents = judgments.documents[part]
            queries = _texts(corpus.queries, corpus.query_of[documents].astype(np.int64))
            columns = [queries, _texts(corpus.urls, documents), pa.array(judgments.grades[part])]
            file.write_table(pa.table(columns, schema=schema))


PROJECT_HEAD = """# The simulated log and its tests, as `clickassay run --project` takes them.
out = "run"
[inputs]
"""


def write_tests(folder: Path, tests: SimulatedTests, n_searches: int) -> None:
    """Write ``clickassay.toml``, which declares tests, and, of A/B tests, ``assignments.parquet``.

    folder: has the other files of the log.
    """
    if tests.has_arms:
        of_a_day = islice(periods(n_searches), sum(1 for _ in periods(n_searches)) // DAYS)
        with parquet_writer(folder / "assignments.parquet", ASSIGNMENT_SCHEMA) as file:
            for period in of_a_day:  # users are the same every day
                file.write_table(tests.assignments(period))
    tables = ("searches", "clicks", "judgments", "outcomes", "assignments")
    inputs = [f'{name} = "{name}.parquet"\n' for name in tables if (folder / f"{name}.parquet").exists()]
    sections = [f"\n{one.declared}" for one in tests.planted]
    text = "".join((PROJECT_HEAD, *inputs, *sections))
    (folder / "clickassay.toml").write_text(text, encoding="utf-8", newline="\n")


def write_queries(path: Path, corpus: Corpus) -> None:
    """Write ``queries.parquet``: query, navigational."""
    table = pa.table({"query": corpus.queries, "navigational": pa.array(corpus.navigational)})
    with parquet_writer(path, table.schema) as file:
        file.write_table(table)
