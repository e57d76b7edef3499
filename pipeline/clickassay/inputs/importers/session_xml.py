"""XML of search sessions, read one ``<session>`` at a time: its tree never holds more than one."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import ClassVar, NoReturn, TypeVar

from clickassay.core.errors import InputError
from clickassay.inputs.importers.base import CanonicalFolder, whole_number
from clickassay.inputs.text.lines import lines

_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")


class SessionTree(ET.TreeBuilder):
    """Collects `finished` sessions under a `root`; InputError for a DOCTYPE, and for none of given roots."""

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
            f"{self.source} declares DOCTYPE {name}; expected XML without DOCTYPE: remove the line if "
            "you trust the file"
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


class Session:
    """Reads one ``<session>`` of a log of `KIND`; InputError names file, session and interaction."""

    KIND: ClassVar[str]

    def __init__(self, source: Path, element: ET.Element, counts: dict[str, int]) -> None:
        self._source = source
        self._element = element
        self._counts = counts
        self._where = f"session {element.get('num')}"
        self.number = self._whole(element.get("num"), "a session number")
        counts["sessions"] += 1

    def fail(self, found: str, *, expected: str) -> NoReturn:
        """Raise the error."""
        raise InputError(f"{self._source}, {self._where}: {found}; expected {expected}; fix or remove it")

    def _interactions(self) -> Iterator[ET.Element]:
        for interaction in self._element.findall("interaction"):
            self._where = f"session {self.number}, interaction {interaction.get('num')}"
            self._counts["interactions"] += 1
            yield interaction

    def _whole(self, text: str | None, what: str) -> int:
        number = whole_number((text or "").strip())
        return self.fail(f"{text!r}", expected=what) if number is None else number


Read = TypeVar("Read", bound=Session)


def sessions_of(
    session: type[Read], target: SessionTree, folder: CanonicalFolder, encoding: str = "utf-8", hint: str = ""
) -> Iterator[Read]:
    """Yield and count the sessions of `target`'s file, each to be read before the next.

    Raises InputError, also as `lines`, if XML is not well-formed, a session comes twice, or there is no
    interaction.
    """
    seen: set[int] = set()
    for element in _elements(target, folder, encoding, hint):
        found = session(target.source, element, folder.counts)
        if found.number in seen:
            found.fail("occurs twice", expected="each session once")
        seen.add(found.number)
        yield found
    if not folder.counts["interactions"]:
        raise InputError(f"{target.source} has no interaction; expected sessions of {session.KIND}")


def _elements(target: SessionTree, folder: CanonicalFolder, encoding: str, hint: str) -> Iterator[ET.Element]:
    parser = ET.XMLParser(target=target)  # noqa: S314 - the target refuses a DOCTYPE
    try:
        for _, text in lines(target.source, progress=folder.progress, encoding=encoding, hint=hint):
            escaped, found = _BARE_AMPERSAND.subn("&amp;", text)
            folder.counts["ampersands_escaped"] += found
            parser.feed(escaped + "\n")
            yield from _taken(target)
        parser.close()
        # Since 2.6, expat may leave what follows a tag on several lines to the end of the file.
        yield from _taken(target)
    except ET.ParseError as error:
        raise InputError(
            f"{target.source} is not well-formed XML: {error}; fix it or download the file again"
        ) from error


def _taken(target: SessionTree) -> list[ET.Element]:
    taken = target.finished[:]
    target.finished.clear()
    return taken
