"""Readers of foreign logs and judgments into the canonical tables (docs/formats.md)."""

from pipeline.formats.base import Imported
from pipeline.formats.judgment_files import HowToRead
from pipeline.formats.judgments import Choices, import_judgments
from pipeline.formats.letor import import_letor
from pipeline.formats.trec_session import import_trec_session
from pipeline.formats.yandex import import_yandex

__all__ = [
    "Choices",
    "HowToRead",
    "Imported",
    "import_judgments",
    "import_letor",
    "import_trec_session",
    "import_yandex",
]
