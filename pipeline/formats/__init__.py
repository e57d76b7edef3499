"""Readers of foreign logs and judgments into the canonical tables (docs/formats.md)."""

from pipeline.formats.base import Imported
from pipeline.formats.letor import import_letor
from pipeline.formats.trec_session import import_trec_session
from pipeline.formats.ubi import import_ubi
from pipeline.formats.yandex import import_yandex

__all__ = ["Imported", "import_letor", "import_trec_session", "import_ubi", "import_yandex"]
