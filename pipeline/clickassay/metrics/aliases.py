"""Other names of measures: those of trec_eval, and those that ir_measures and people have."""

import re
from collections.abc import Callable, Mapping, Set

OTHER_NAMES = {
    "MAP": "AP",
    "MRR": "RR",
    "Precision": "P",
    "Recall": "R",
    "SetP": "P",
    "SetR": "R",
    "SetF": "F",
}
"""What stands in brackets and after @ is added to the name."""

TREC: tuple[tuple[str, Callable[[str], str]], ...] = (
    (r"map", lambda _: "AP(rel=1)"),
    (r"map_cut_(\d+)", "AP(rel=1)@{}".format),
    (r"ndcg", lambda _: "nDCG"),
    (r"ndcg_cut_(\d+)", "nDCG@{}".format),
    (r"recip_rank", lambda _: "RR(rel=1)"),
    (r"recip_rank_cut_(\d+)", "RR(rel=1)@{}".format),
    (r"P_(\d+)", "P(rel=1)@{}".format),
    (r"recall_(\d+)", "R(rel=1)@{}".format),
    (r"success_(\d+)", "Success(rel=1)@{}".format),
    (r"Rprec", lambda _: "Rprec(rel=1)"),
    (r"bpref", lambda _: "Bpref(rel=1)"),
    (r"infAP", lambda _: "infAP(rel=1)"),
    (r"iprec_at_recall_([01]\.\d+)", lambda level: f"IPrec(rel=1)@{float(level)}"),
    (r"11pt_avg", lambda _: "IPrec(rel=1)"),
    (r"set_P", lambda _: "P(rel=1)"),
    (r"set_recall", lambda _: "R(rel=1)"),
    (r"set_F", lambda _: "F(rel=1)"),
)
"""Names of trec_eval, and ours. A capital Rprec and infAP are names of both: bare, they are ours."""

_FIRST = re.compile(r"[A-Za-z]\w*")


def without_aliases(text: str, known: Set[str], others: Mapping[str, str] = OTHER_NAMES) -> str:
    """Return the name of a measure without aliases: ``ndcg_cut_10`` is ``nDCG@10``, ``MAP@5`` is ``AP@5``.

    Parameters
    ----------
    text
        A name as it was asked for.
    known
        Names that measures have; they stay, also where trec_eval has another measure of that name.
    others
        Other names, by what they stand for.
    """
    for pattern, name in TREC:
        match = re.fullmatch(pattern, text)
        if match is not None and text not in known:
            return name(*match.groups() or ("",))
    first = _FIRST.match(text)
    alias = None if first is None else others.get(first[0])
    if first is None or alias is None:
        return text
    rest = text[first.end() :].strip()
    if alias.endswith(")") and rest.startswith("("):
        return f"{alias[:-1]},{rest[1:]}".replace(",)", ")")
    return alias + rest
