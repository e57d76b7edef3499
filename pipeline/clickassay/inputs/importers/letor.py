"""Learning-to-rank data in the layout of LETOR, MSLR-WEB30k and LightGBM: judged documents with features.

    grade qid:N feature:value feature:value ... # comment

or without qid, and a second file with the number of lines of each query. Judgment lists of the plugins for
Elasticsearch and OpenSearch have documents and queries in comments.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.text.lines import lines

FEATURES = base.JUDGMENTS.append(pa.field("features", pa.list_(pa.int32()))).append(
    pa.field("values", pa.list_(pa.float32()))
)
"""One row per document; `features` are numbers of features, `values` theirs; all other features are 0."""

_LAYOUT = "'grade qid:N feature:value ...' (LETOR), or without qid and a file of lines per query (LightGBM)"
_LAST_FEATURE = 2**31 - 1  # the numbers are written in 32 bits
_LARGEST_VALUE = float(np.finfo(np.float32).max)  # and so are the values
_PAIR = f"a feature from 0 to {_LAST_FEATURE} with a finite value, at most {_LARGEST_VALUE:.2g} in size"
_DOCUMENT = re.compile(r"\bdocid\s*=\s*(\S+)")
_QUERY_TEXT = re.compile(r"#\s*qid:([^\s:]+)\s*:\s*(\S.*?)\s*(?:\*[0-9.]+)?\s*")
"""A line that names a query, perhaps with its weight: ``# qid:1: red chair*1``."""

_COUNTS = ("lines", "blank_lines", "queries", "documents", "without_features", "comments_not_used")
_NOTES = ("These data have no clicks: evaluate rankings of these documents with `clickassay plan`.",)


def import_letor(
    file: Path, *, sizes: Path | None = None, out: Path, progress: Progress = silent
) -> base.Imported:
    """Translate a file of judged documents into ``judgments.parquet`` and ``features.parquet``.

    file: one document a line, a query's documents together.
    sizes: lines of each query, one number a line, where `file` has no qid.

    Documents are called by the docid of their comment, or by its first word if every line has one that is its
    own in the query; else ``qid-n``, n being the place in the query's lines from 1. Queries are called by
    their texts in comments, if all have one, else by qid. Raises InputError for a line that is not in the
    layout, a query whose lines are not together, or sizes that do not add up to the lines.
    """
    texts = _texts(file, progress) if sizes is None else None
    with base.importing(out, {"file": file, "sizes": sizes}, _COUNTS, progress) as folder:
        with (
            folder.table("judgments", base.JUDGMENTS) as judgments,
            folder.table("features", FEATURES) as features,
        ):
            for row in _documents(file, sizes, texts, folder):
                judgments.add(*row[:3])
                features.add(*row)
        if not folder.counts["documents"]:
            raise InputError(f"{file} has no document; expected lines {_LAYOUT}")
        return folder.finish("letor", _notes(folder.counts, texts))


def _notes(counts: Mapping[str, int], texts: Mapping[str, str] | None) -> Iterator[str]:
    yield from _NOTES
    if texts is not None:
        yield f"Comments name the documents{' and the queries' if texts else ''}."
    if counts["comments_not_used"]:
        yield (
            f"{counts['comments_not_used']:,} comments were ignored: a comment names a document by "
            "'docid = X', or by its first word if every line of the query begins with a different one."
        )


def _texts(file: Path, progress: Progress) -> Mapping[str, str] | None:
    """Return the texts of queries by qid, empty if not all; None if no first words of comments are names."""
    told: dict[str, str] = {}
    names: defaultdict[str, set[str]] = defaultdict(set)
    endings: defaultdict[str, set[str]] = defaultdict(set)
    documents = 0
    for _, text in lines(file, progress=progress):
        body, _, comment = text.partition("#")
        of_query, fields = _QUERY_TEXT.fullmatch(text.strip()), body.split()
        if of_query:
            told[of_query[1]] = of_query[2]
        if len(fields) < 2:
            continue
        name, rest = _name_and_rest(comment)
        if not name or _DOCUMENT.search(comment):
            return None
        documents += 1
        query = fields[1].removeprefix("qid:")
        names[query].add(name)
        endings[query].add(rest)
    if sum(map(len, names.values())) < documents:
        return None
    # what follows the names is the text of the query where it is the same in all lines of each
    alike = {query: rest for query, (rest, *others) in endings.items() if not others}
    texts = told if told.keys() >= names.keys() else alike if len(names) < documents else {}
    has_all = len({texts.get(query) for query in names} - {"", None}) == len(names)
    return texts if has_all else {}


def _documents(
    file: Path, sizes: Path | None, texts: Mapping[str, str] | None, folder: base.CanonicalFolder
) -> Iterator[tuple[str, str, int, list[int], list[float]]]:
    """Yield rows of the table of features: query, URL, grade, numbers of features, their values."""
    counts = folder.counts
    queries = None if sizes is None else _queries(sizes, folder.progress)
    seen: set[str] = set()
    current, place = "", 0
    for number, text in lines(file, progress=folder.progress):
        counts["lines"] += 1
        body, _, comment = text.partition("#")
        fields = body.split()
        if not fields:
            counts["blank_lines"] += 1
            continue
        query = _query(file, number, text, fields, queries)
        if query != current:
            if query in seen:
                raise malformed(file, number, text, expected=f"the lines of query {query} together")
            seen.add(query)
            current, place = query, 0
            counts["queries"] += 1
        place += 1
        counts["documents"] += 1
        told = _DOCUMENT.search(comment)
        name = told[1] if told else _name_and_rest(comment)[0] if texts is not None else None
        counts["comments_not_used"] += name is None and bool(comment.strip())
        called = (texts or {}).get(query, query)
        grade = base.whole_number(fields[0])
        parts = [part.partition(":") for part in fields[1:]]
        try:
            features, values = (
                [int(feature) for feature, _, _ in parts],
                [float(value) for _, _, value in parts],
            )
        except ValueError:
            raise malformed(file, number, text, expected=_LAYOUT) from None
        if grade is None:
            raise malformed(file, number, text, expected="a whole grade of 0 or more at the beginning")
        for part, feature, value in zip(fields[1:], features, values, strict=True):
            # Written so that NaN, which no comparison holds for, is refused too.
            if not (0 <= feature <= _LAST_FEATURE and abs(value) <= _LARGEST_VALUE):
                raise malformed(file, number, part, expected=_PAIR)
        counts["without_features"] += not features
        yield called, name or f"{query}-{place}", grade, features, values
    if queries is not None and next(queries, None) is not None:
        raise InputError(f"{sizes}: more lines than {file} has documents; give the file that belongs to it")


def _name_and_rest(comment: str) -> tuple[str, str]:
    told = comment.strip()
    name, _, rest = told.partition("\t" if "\t" in told else " ")
    return name.strip(), rest.strip()


def _queries(sizes: Path, progress: Progress) -> Iterator[str]:
    for number, text in lines(sizes, progress=progress):
        size = base.whole_number(text.strip())
        if not size:
            raise malformed(sizes, number, text, expected="the number of lines of a query, 1 or more")
        yield from repeat(str(number), size)


def _query(file: Path, number: int, text: str, fields: list[str], queries: Iterator[str] | None) -> str:
    if queries is not None:
        query = next(queries, None)
        if query is None:
            raise malformed(file, number, text, expected="no more lines than the sizes of queries add up to")
        return query
    if len(fields) < 2 or not fields[1].startswith("qid:") or fields[1] == "qid:":
        raise malformed(file, number, text, expected=_LAYOUT)
    return fields.pop(1).removeprefix("qid:")
