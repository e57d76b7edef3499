"""XML of search sessions, read one ``<session>`` at a time: its tree never holds more than one."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress
from clickassay.inputs.importers.base import lines

_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")


class SessionTree(ET.TreeBuilder):
    """Hands over finished sessions one by one; `root` is the name of the outermost element.

    Raises
    ------
    InputError
        For a DOCTYPE, and for a root that is none of `roots`, where these are given.
    """

    def __init__(self, source: Path, roots: Collection[str] = ()) -> None:
        super().__init__()
        self.source = source
        self.root = ""
        self.finished: list[ET.Element] = []
        self._roots = roots
        self._outermost: ET.Element | None = None

    def doctype(self, name: str, _pubid: str | None, _system: str | None) -> NoReturn:
        """Refuse: such files have no DOCTYPE, and entities declared there can grow without end."""
        raise InputError(
            f"{self.source} declares DOCTYPE {name}; expected XML without it: remove it if you trust the file"
        )

    def start(self, tag: str, attrs: dict[str, str], /) -> ET.Element:
        """Open an element; the first one is the root."""
        element = super().start(tag, attrs)
        if self._outermost is None:
            if self._roots and tag not in self._roots:
                raise InputError(
                    f"{self.source}: the root is <{tag}>; expected one of {', '.join(self._roots)}"
                )
            self._outermost, self.root = element, tag
        return element

    def end(self, tag: str, /) -> ET.Element:
        """Close an element; a session is taken out of the tree."""
        element = super().end(tag)
        if tag == "session" and self._outermost is not None:
            self.finished.append(element)
            self._outermost.clear()
        return element


def sessions_of(
    target: SessionTree,
    counts: dict[str, int],
    progress: Progress,
    *,
    encoding: str = "utf-8",
    hint: str = "",
) -> Iterator[ET.Element]:
    """Yield the ``<session>`` elements of `target`'s file; bare ``&`` are escaped and counted.

    Counts ``ampersands_escaped``. Raises InputError for text that is not well-formed XML, or as `lines` does.
    """
    parser = ET.XMLParser(target=target)  # noqa: S314 - the target refuses a DOCTYPE
    try:
        for _, text in lines(target.source, progress=progress, encoding=encoding, hint=hint):
            escaped, found = _BARE_AMPERSAND.subn("&amp;", text)
            counts["ampersands_escaped"] += found
            parser.feed(escaped + "\n")
            yield from _taken(target)
        parser.close()
        # Since 2.6, expat may leave what follows a tag on several lines to the end of the file.
        yield from _taken(target)
    except ET.ParseError as error:
        raise InputError(
            f"{target.source} is not well-formed XML: {error}; mend it or get the file again"
        ) from error


def _taken(target: SessionTree) -> list[ET.Element]:
    taken = target.finished[:]
    target.finished.clear()
    return taken
