"""A rating as a file has it, and how files are to be read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clickassay.core.progress import Progress
from clickassay.inputs.sources.mapping import Names
from clickassay.inputs.text.lines import lines

UNRATED = "queries_unrated"
BLANK = "ratings_blank"
"""Names of counts."""

FoundRating = tuple[str, str, str, str, str | None]
"""A rating as readers yield it: place for messages, query, URL, rating, rater."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating, as a file has it."""

    # query, url: Text, not normalised.
    query: str
    url: str
    value: str  # The rating as it is written.
    rater: str | None  # Who gave it; None where the file does not say.


@dataclass(frozen=True)
class ReadOptions:
    """How files of judgments are to be read."""

    layout: str | None = None  # One of `files.LAYOUTS`; None = recognised by the content.
    encoding: str = "utf-8"  # Of text files.
    # Columns of a table that hold the ratings of one rater each; by default, of CSV, those of ``*_rating``.
    rater_columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # Columns of a table that hold nothing.
    # The columns of tables that the user named.
    names: Names = field(default_factory=dict)

    def lines(self, file: Path, progress: Progress) -> Iterator[tuple[int, str]]:
        """Yield the numbered lines of a text file."""
        hint = " (or say which with --encoding, e.g. gb18030)"
        return lines(file, progress=progress, encoding=self.encoding, hint=hint)


Reader = Callable[[Path, ReadOptions, dict[str, int], Progress], Iterator[FoundRating]]
"""Yields the ratings of a file, and counts what it leaves aside."""
