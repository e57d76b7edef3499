"""A rating as a file has it, and how files are to be read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clickassay.core.progress import Progress
from clickassay.inputs.text.lines import lines

UNRATED = "queries_unrated"
BLANK = "ratings_blank"
"""Names of counts."""

FoundRating = tuple[str, str, str, str, str | None]
"""A rating as readers yield it: place for messages, query, URL, rating, rater."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating, as a file has it.

    Attributes
    ----------
    query, url
        Text, not normalised.
    value
        The rating as it is written.
    rater
        Who gave it; None where the file does not say.
    """

    query: str
    url: str
    value: str
    rater: str | None


@dataclass(frozen=True)
class ReadOptions:
    """How files of judgments are to be read.

    Attributes
    ----------
    layout
        One of `files.LAYOUTS`; None = recognised by the content.
    encoding
        Of text files.
    rater_columns
        Columns of a CSV file that hold the ratings of one rater each; by default those named ``*_rating``.
    """

    layout: str | None = None
    encoding: str = "utf-8"
    rater_columns: tuple[str, ...] = ()

    def lines(self, file: Path, progress: Progress) -> Iterator[tuple[int, str]]:
        """Yield the numbered lines of a text file."""
        hint = " (or say which with --encoding, e.g. gb18030)"
        return lines(file, progress=progress, encoding=self.encoding, hint=hint)


Reader = Callable[[Path, ReadOptions, dict[str, int], Progress], Iterator[FoundRating]]
"""Yields the ratings of a file, and counts what it leaves aside."""
