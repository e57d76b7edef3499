"""Readers of foreign logs and judgments into the canonical tables (docs/formats.md)."""

from clickassay.inputs.importers.baidu_ultr import import_baidu_ultr
from clickassay.inputs.importers.base import Imported
from clickassay.inputs.importers.judgments.files import HowToRead
from clickassay.inputs.importers.judgments.importer import Choices, import_judgments
from clickassay.inputs.importers.letor import import_letor
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.tiangong_st import import_tiangong_st
from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.importers.yahoo_l18 import import_yahoo_l18
from clickassay.inputs.importers.yandex import import_yandex

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
from clickassay.inputs.importers.ubi.importer import import_ubi

__all__ = ["Imported", "import_letor", "import_trec_session", "import_ubi", "import_yandex"]
