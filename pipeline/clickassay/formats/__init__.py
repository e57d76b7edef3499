"""Readers of foreign logs and judgments into the canonical tables (docs/formats.md)."""

from clickassay.formats.baidu_ultr import import_baidu_ultr
from clickassay.formats.base import Imported
from clickassay.formats.judgment_files import HowToRead
from clickassay.formats.judgments import Choices, import_judgments
from clickassay.formats.letor import import_letor
from clickassay.formats.pyclick import import_pyclick
from clickassay.formats.tiangong_st import import_tiangong_st
from clickassay.formats.trec_session import import_trec_session
from clickassay.formats.yahoo_l18 import import_yahoo_l18
from clickassay.formats.yandex import import_yandex

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
from clickassay.formats.ubi import import_ubi

__all__ = ["Imported", "import_letor", "import_trec_session", "import_ubi", "import_yandex"]
