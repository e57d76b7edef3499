"""Readers of foreign logs and judgments into the canonical tables (docs/formats.md)."""

from pipeline.formats.baidu_ultr import import_baidu_ultr
from pipeline.formats.base import Imported
from pipeline.formats.judgment_files import HowToRead
from pipeline.formats.judgments import Choices, import_judgments
from pipeline.formats.letor import import_letor
from pipeline.formats.pyclick import import_pyclick
from pipeline.formats.tiangong_st import import_tiangong_st
from pipeline.formats.trec_session import import_trec_session
from pipeline.formats.yahoo_l18 import import_yahoo_l18
from pipeline.formats.yandex import import_yandex

__all__ = [
    "Choices",
    "HowToRead",
    "Imported",
    "import_baidu_ultr",
    "import_judgments",
    "import_letor",
    "import_pyclick",
    "import_tiangong_st",
    "import_trec_session",
    "import_yahoo_l18",
    "import_yandex",
]
from pipeline.formats.ubi import import_ubi

__all__ = ["Imported", "import_letor", "import_trec_session", "import_ubi", "import_yandex"]
