"""Names of measures: one grammar, one catalogue for lists, the names of other tools as aliases.

The grammar is that of ir_measures.
"""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import replace

from clickassay.core.errors import SettingsError
from clickassay.core.settings import MAX_DEPTH, Settings
from clickassay.core.text import did_you_mean
from clickassay.metrics.definition import Measure, Metric, Parameter, Value, flag, numbers
from clickassay.metrics.editorial import EDITORIAL, PLAIN
from clickassay.metrics.ranked import JUDGED, OF_USERS, RANKED

NAME = re.compile(r"(?P<name>[A-Za-z]\w*)\s*(?:\((?P<arguments>[^()]*)\))?(?:@(?P<at>\d[\d.]{0,8}))?")
"""The grammar of ir_measures: ``Name``, ``Name(parameter=value,...)``, either followed by ``@depth``."""

_BETWEEN_ARGUMENTS = re.compile(r",(?![^{]*\})")


def parse(
    text: str,
    metrics: tuple[Metric, ...],
    *,
    deepest: int = MAX_DEPTH,
    rules: tuple[Parameter, ...] = (),
) -> Measure:
    """Read a metric's name, e.g. ``AP(rel=2)@5`` or ``nDCG(dcg='exp-log2')@10``.

    Parameters
    ----------
    text
        A name in the grammar of ir_measures. ``@k`` must lie in 1..`deepest`.
    metrics
        The declared metrics to choose from.
    rules
        Parameters that every metric has besides its own.

    Raises
    ------
    SettingsError
        If the name is not of this grammar, names a metric, parameter or value that is not known, or two
        parameters that exclude each other.
    """
    spelled = text.strip()
    match = NAME.fullmatch(spelled)
    if match is None:
        raise SettingsError(f"metric {text!r}: expected a name like ERR, AP(rel=2) or AP(rel=2)@5")
    whole = re.sub(r"\s", "", spelled.partition("@")[0]).replace('"', "'")
    alias = next((metric for metric in metrics if whole in metric.aliases), None)
    if alias is not None:
        return Measure(alias, (), _depth(text, match["at"], deepest))
    metric = _find(match["name"], metrics)
    arguments = match["arguments"] or ""
    if metric.at is not None and match["at"] is not None:
        arguments, depth = f"{arguments},{metric.at}={match['at']}".strip(","), None
    else:
        depth = _depth(text, match["at"], deepest)
    given = _arguments(metric, arguments, rules)
    own = {item.name for item in metric.parameters}
    return Measure(
        metric,
        tuple(item for item in given if item[0] in own),
        depth,
        tuple(item for item in given if item[0] not in own),
    )


def _depth(text: str, after: str | None, deepest: int) -> int | None:
    if after is None:
        return None
    if not (after.isdecimal() and 1 <= int(after) <= deepest):
        raise SettingsError(f"metric {text!r}: the depth after @ must lie in 1..{deepest}")
    return int(after)


def _find(name: str, metrics: tuple[Metric, ...]) -> Metric:
    for metric in metrics:
        if metric.name == name:
            return metric
    known = [spelling for metric in metrics for spelling in (metric.name, *metric.aliases)]
    raise SettingsError(f"unknown metric {name}; {did_you_mean(name, known)}")


def _arguments(metric: Metric, text: str, rules: tuple[Parameter, ...]) -> tuple[tuple[str, Value], ...]:
    pieces = [piece.strip() for piece in _BETWEEN_ARGUMENTS.split(text)] if text.strip() else []
    given = {name.strip(): value.strip() for name, _, value in (piece.partition("=") for piece in pieces)}
    parameters = (*metric.parameters, *rules)
    known = [parameter.name for parameter in parameters]
    if len(given) < len(pieces) or not set(given) <= set(known):
        expected = ", ".join(map(_form, parameters)) or "none"
        unknown = next((name for name in given if name not in known), "")
        close = f" no parameter {unknown}; {did_you_mean(unknown, known)};" if unknown in given else ""
        raise SettingsError(
            f"metric {metric.name}({text}):{close} its parameters, each once at most, are: {expected}"
        )
    for one, other in metric.exclusive:
        if one in given and other in given:
            raise SettingsError(
                f"metric {metric.name}: {one} and {other} exclude each other; give one of them"
            )
    spelled = [parameter for parameter in parameters if parameter.name in given]
    return tuple((parameter.name, _value(metric, parameter, given[parameter.name])) for parameter in spelled)


def _form(parameter: Parameter) -> str:
    return f"{parameter.name}='value value …'" if parameter.kind is numbers else f"{parameter.name}=value"


def _value(metric: Metric, parameter: Parameter, text: str) -> Value:
    try:
        value = parameter.kind(text)
    except ValueError:
        value = None
    if value is None or not parameter.admits(value):
        message = f"metric {metric.name}: {parameter.name} is {text!r}, expected {parameter.expected}"
        raise SettingsError(message)
    return value


DEEPEST = 1_000_000
"""The deepest cut that a name may have."""

MEASURES: tuple[Metric, ...] = (
    *(metric for metric in EDITORIAL if metric.name != "NDCG"),
    *(*RANKED, JUDGED, *OF_USERS, *PLAIN),
)
"""Every measure that `evaluate` has."""

JUDGED_ONLY = Parameter(
    name="judged_only",
    kind=flag,
    meaning="leave results without a grade out, so that those below move up",
    expected="True or False",
    admits=lambda value: isinstance(value, bool),
    setting=None,
)
UNJUDGED = Parameter(
    name="unjudged",
    kind=int,
    meaning="the grade that results without one get",
    expected="a grade of 0..30",
    admits=lambda grade: 0 <= grade <= 30,
    setting=None,
)
RULES = (JUDGED_ONLY, UNJUDGED)
"""What a name may set for results without a grade; by default they count as grade 0."""


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


ALIASES = {"NDCG": "nDCG(dcg='exp-log2')", **OTHER_NAMES}
"""Other names of a measure. In a run NDCG is a metric of its own, the one of method 6."""

_SEPARATOR = re.compile(r"[\s,;]+(?![^(]*\))")


def parse_measures(text: str) -> tuple[Measure, ...]:
    """Read names of measures with blanks or commas between them, each once.

    Raises
    ------
    SettingsError
        If one is unknown or spelled wrongly, or there is none.
    """
    names = [name for name in _SEPARATOR.split(text.strip()) if name]
    if not names:
        raise SettingsError("no measure is named; give some, as in -m 'nDCG@10 ERR@10 AP(rel=2)'")
    return tuple(dict.fromkeys(parse_measure(name) for name in names))


def parse_measure(text: str) -> Measure:
    """Read the name of one measure, e.g. ``nDCG@10``, ``AP(rel=2)`` or trec_eval's ``ndcg_cut_10``.

    Raises
    ------
    SettingsError
        If it is unknown or spelled wrongly.
    """
    return parse(without_aliases(text.strip(), _NAMES, ALIASES), MEASURES, deepest=DEEPEST, rules=RULES)


_NAMES = frozenset(metric.name for metric in MEASURES)


def other_names(metric: Metric) -> tuple[str, ...]:
    """Return the names of a metric in trec_eval and other tools; K is a depth, L a level of recall."""
    ours = [alias for alias in ALIASES if parse_measure(alias).metric is metric]
    trec = [
        pattern.replace(r"(\d+)", "K").replace(r"([01]\.\d+)", "L")
        for pattern, name in TREC
        if parse_measure(name("1")).metric is metric
    ]
    return tuple(name for name in (*trec, *ours) if name != metric.name)


def spell_out(measure: Measure, settings: Settings) -> Measure:
    """Return the measure with every parameter that the settings give, so that its name is complete.

    ``AP`` becomes ``AP(rel=1)``, ``ERR@10`` becomes ``ERR(max_rel=4)@10``; a bare ``DCG`` names its gains.
    """
    given = dict(measure.arguments)
    excluded = {
        one for pair in measure.metric.exclusive for one in pair if given.keys() & (set(pair) - {one})
    }
    full = {
        item.name: given.get(item.name, getattr(settings, item.setting) if item.setting else item.default)
        for item in measure.metric.parameters
        if item.name in given
        or (item.name not in excluded and (item.setting is not None or item.name in _ALWAYS_SPELLED))
    }
    if measure.metric.name == "nDCG" and full.get("dcg") == "log2":
        del full["dcg"]  # as ir_measures prints it
    return replace(measure, arguments=tuple(full.items()))


_ALWAYS_SPELLED = {"dcg"}


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
