"""The layouts that files come in, each with the command that reads it."""

from dataclasses import dataclass

from clickassay.inputs.types import columns


@dataclass(frozen=True)
class Layout:
    """A layout that files come in."""

    name: str  # For programs, e.g. ``yandex``.
    what: str  # For people, e.g. "a log in Yandex's layout".
    command: str  # The command that reads it, with ``{file}`` for the file; empty if none does.


def _canonical(table: str) -> Layout:
    needed = dict.fromkeys(["searches", "clicks", "judgments", table])
    options = " ".join(f"--{name} {'{file}' if name == table else name.upper()}" for name in needed)
    return Layout(table, f"the canonical table of {table}", f"run {options} --out RUN")


def _imported(name: str, what: str, arguments: str) -> Layout:
    return Layout(name, what, f"import {arguments} --out FOLDER")


UNKNOWN = Layout("unknown", "not a layout that clickassay knows", "")
SEARCHES, CLICKS, JUDGMENTS, QUERIES = map(_canonical, columns.CANONICAL)
QUEPID = _imported("quepid", "ratings exported by Quepid", "judgments {file}")
QUEPID_RATERS = _imported(
    "quepid-raters", "ratings by several raters, exported by Quepid", "judgments {file}"
)
SRW = _imported("srw", "judgments of OpenSearch's Search Relevance Workbench", "judgments {file}")
QRELS = _imported("qrels", "TREC qrels", "judgments {file}")
BEIR = _imported("beir", "qrels of BEIR", "judgments {file}")
JUDGMENT_TABLE = _imported("judgment-table", "a table of judgments", "judgments {file}")
RRE = _imported("rre", "ratings of the Rated Ranking Evaluator", "judgments {file}")
RANK_EVAL = _imported(
    "rank-eval", "a request of the ranking evaluation API, with ratings", "judgments {file}"
)
TREC_RUN = Layout("trec-run", "a TREC run: rankings, without clicks or grades", "")
TREC_SESSION = _imported("trec-session", "sessions of the TREC Session Track", "trec-session {file} QRELS")
TIANGONG = _imported("tiangong-st", "sessions of TianGong-ST", "tiangong-st {file}")
TIANGONG_LABELS = _imported(
    "tiangong-st-labels", "human labels of TianGong-ST", "tiangong-st XML --judgments {file}"
)
YANDEX = _imported("yandex", "a log in Yandex's layout", "yandex {file}")
YANDEX_JUDGMENTS = _imported(
    "yandex-judgments", "judgments in Yandex's or CLARA's layout", "yandex LOG --judgments {file}"
)
UBI = _imported("ubi", "OpenSearch User Behavior Insights", "ubi {file}")
LETOR = _imported("letor", "judged documents with features (LETOR)", "letor {file}")
LIGHTGBM = _imported(
    "letor-without-qid",
    "judged documents with features, without queries (LightGBM)",
    "letor {file} --sizes SIZES",
)
PYCLICK = _imported("pyclick", "PyClick's sample of Yandex's log", "pyclick {file}")
YAHOO = _imported("yahoo-l18", "a log in the layout of Yahoo L18", "yahoo-l18 {file}")
BAIDU = _imported("baidu-ultr", "a log in the layout of Baidu-ULTR", "baidu-ultr {file}")
BAIDU_LABELS = _imported(
    "baidu-ultr-labels", "expert labels of Baidu-ULTR", "baidu-ultr LOG --judgments {file}"
)
