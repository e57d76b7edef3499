"""The files of an input by format and schema, with what their folders spell out."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.tables import scan_parquet
from clickassay.inputs.files import READ_ERRORS, check_parquet, format_by_content, format_of, unreadable_file
from clickassay.inputs.sources.mapping import OUR_NAMES, Names, columns_under
from clickassay.inputs.sources.walk import Found, find_files
from clickassay.inputs.text.lines import check_table
from clickassay.inputs.text.rows import PLAIN, Form, form_in
from clickassay.inputs.types import as_text, is_wide, logical_columns


def scan(
    files: Sequence[Path], format_: str, schema: pl.Schema | None = None, form: Form = PLAIN
) -> pl.LazyFrame:
    """Return the unread rows of files of one format, whose names are no globs; `schema` is of JSON lines."""
    if format_ == "parquet":
        return scan_parquet(files)
    if format_ == "json":
        # scan_ndjson reads every path as a pattern; the others have an option
        paths = [Path(escape(str(file))) for file in files]
        return pl.scan_ndjson(paths, schema=schema, infer_schema_length=None)
    return pl.scan_csv(
        list(files), separator=form.separator, skip_lines=form.skipped, eol_char=form.line_end,
        infer_schema=False, glob=False, with_column_names=lambda names: [name.strip() for name in names],
    )  # fmt: skip


def schema_of(what: str, file: Path, format_: str) -> pl.Schema:
    """Return columns and types of a file, by all rows of JSON lines; InputError if empty or unreadable."""
    try:
        if file.stat().st_size == 0:
            raise InputError(f"{what}: {file} is empty (0 bytes); remove it or write it again")
        if format_ == "parquet":
            check_parquet(what, file)
        else:
            check_table(what, file, format_)
        return scan([file], format_, form=form_in(file, format_)).collect_schema()
    except READ_ERRORS as error:
        raise unreadable_file(what, file, error) from error


Partition = tuple[tuple[str, str | None], ...]
"""Names and values of columns, as names of folders spell them out: Hive partitions, as ``market=uk``."""

NULL = "__HIVE_DEFAULT_PARTITION__"
_AGAIN = "_duplicated_0"
"""What Polars adds to the name of a column of delimited text that is there already."""


def partition_of(file: Path, root: Path) -> Partition:
    """Return the columns that the folders between the root of an input and a file spell out."""
    folders = file.relative_to(root).parts[:-1]
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return tuple((name, None if value == NULL else unquote(value)) for name, value in pairs)


_Like = tuple[
    str, Form, tuple[tuple[str, pl.DataType], ...], Partition, frozenset[str], tuple[tuple[str, str], ...]
]
"""Format, form, schema, partition values, their names and `Logical`, which all files of a part share."""


@dataclass(frozen=True)
class Part:
    """Files of one format and schema under one set of Hive partition values."""

    files: tuple[Path, ...]
    format: str
    # Columns and types as the files have them; integers of JSON lines beyond 64 bits are texts.
    written: pl.Schema
    wide: frozenset[str]  # Columns of whole numbers whose type reaches beyond 64 signed bits.
    # What the folders spell out, of the columns that are read; it stands in place of a column of the files.
    partition: Partition
    folders: frozenset[str]  # All columns that the folders spell out.
    source: pl.Schema  # Columns and types under the names that the files have.
    # What selects the columns of `written` from them; empty where their names are ours, and none is bytes.
    renamed: tuple[pl.Expr, ...] = ()
    held: Mapping[Path, pl.DataFrame] = field(default_factory=dict)  # Rows of files that are in memory.
    form: Form = PLAIN  # How they are written, if they are delimited text.
    json: frozenset[str] = frozenset()  # Columns that the files have as JSON: text that spells all values.
    # By column of the files that has numbers of lists, the lists.
    lists: Mapping[str, pl.Series] = field(default_factory=dict)

    @property
    def schema(self) -> pl.Schema:
        """Columns and types of the files, and of what their folders spell out."""
        return pl.Schema(dict(self.written) | {name: pl.String() for name in sorted(self.folders)})

    def without(self, names: Collection[str]) -> "Part":
        """Return the part as if it had no columns of these names."""
        written = pl.Schema({name: dtype for name, dtype in self.written.items() if name not in names})
        partition = tuple(one for one in self.partition if one[0] not in names)
        return replace(self, written=written, partition=partition, folders=self.folders.difference(names))

    @property
    def frame(self) -> pl.LazyFrame:
        """Rows as they were written, with the partition."""
        return self.rows_of(self.files)

    def rows_of(self, files: Sequence[Path], rows: tuple[int, int] | None = None) -> pl.LazyFrame:
        """Return the rows of some files, or of one from an offset on, so many, with the partition."""
        frame = self.written_in(files)
        return (frame if rows is None else frame.slice(*rows)).with_columns(
            pl.lit(value, dtype=pl.String).alias(name) for name, value in self.partition
        )

    def written_in(self, files: Sequence[Path]) -> pl.LazyFrame:
        """Return the rows of some files as they were written, without the partition."""
        in_memory = [self.held[file].lazy() for file in files if file in self.held]
        rows = pl.concat(in_memory) if in_memory else scan(files, self.format, self.source, self.form)
        rows = rows.with_columns(texts_of_lists(*one) for one in self.lists.items())
        return rows.select(self.renamed) if self.renamed else rows


def texts_of_lists(column: str, lists: pl.Series) -> pl.Expr:
    """Return the lists whose numbers a column has; null where it is null."""
    return pl.col(column).map_batches(lists.gather, return_dtype=lists.dtype, is_elementwise=True)


def parts_of(
    what: str,
    found: Found,
    read: Collection[str] | None,
    names: Names = OUR_NAMES,
    held: Mapping[Path, pl.DataFrame] = MappingProxyType({}),
    lists: Mapping[str, pl.Series] = MappingProxyType({}),
) -> Iterator[Part]:
    """Yield the parts of an input: files that differ in partitions that are not `read` are one, as days are.

    Raises InputError if a file is empty, cannot be read, is of no known format, or has a column twice.
    """
    groups: defaultdict[_Like, list[Path]] = defaultdict(list)
    name_of = {path: name for name, path in names.items()}
    for file in found.files:
        format_ = format_of(file) or format_by_content(what, file)
        of_lists = {name: some.dtype for name, some in lists.items()}
        schema = tuple((dict(schema_of(what, file, format_)) | of_lists).items())
        # under our names, where these are given
        spelled = [
            (name_of.get(name, name), value)
            for name, value in partition_of(file, found.root)
            if name in name_of or name not in names
        ]
        partition = tuple(one for one in spelled if read is None or one[0] in read)
        logical = logical_columns(file, pl.Schema(schema)) if format_ == "parquet" else {}
        form = form_in(file, format_)
        groups[format_, form, schema, partition, frozenset(dict(spelled)), tuple(logical.items())].append(
            file
        )
    for (format_, form, schema, partition, folders, logical_of), files in groups.items():
        # Polars reads 128 signed bits of JSON lines as a number, all others as a text
        too_wide = {name for name, dtype in schema if is_wide(dtype)} if format_ == "json" else set()
        source = pl.Schema({name: pl.String() if name in too_wide else dtype for name, dtype in schema})
        of_files = {name: path for name, path in names.items() if name not in folders}
        as_found = columns_under(what, files[0], pl.Schema(schema), of_files)
        wide = frozenset(name for name, (_, dtype) in as_found.items() if is_wide(dtype))
        ours = columns_under(what, files[0], source, of_files)
        logical, path_of = dict(logical_of), {name: of_files.get(name, name) for name in ours}
        if format_ in ("csv", "tsv"):
            used = [path for name, path in path_of.items() if read is None or name in read]
            twice = next((name for name in used if f"{name}{_AGAIN}" in source), None)
            if twice is not None:
                raise InputError(f"{what}: column {twice} is there twice in {files[0]}; rename or remove one")
        as_texts = {
            name: as_text(column, dtype, logical[path_of[name]])
            for name, (column, dtype) in ours.items()
            if path_of[name] in logical
        }
        ours |= {name: (column.alias(name), dtype) for name, (column, dtype) in as_texts.items()}
        json = frozenset(name for name in as_texts if logical[path_of[name]] == "JSON")
        written = pl.Schema({name: dtype for name, (_, dtype) in ours.items()})
        columns = tuple(column for column, _ in ours.values()) if of_files or as_texts else ()
        yield Part(
            tuple(files), format_, written, wide, partition, folders, source, columns, held, form, json, lists
        )


def first_part(what: str, place: str | Path) -> Part:
    """Return the first file of a place as a part; InputError if there is none, or it cannot be read."""
    found = find_files(what, place)
    return next(parts_of(what, replace(found, files=found.files[:1]), None))
