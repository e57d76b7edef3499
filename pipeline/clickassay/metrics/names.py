"""Names of measures: the grammar of ir_measures, one catalogue for lists, names of other tools as aliases."""

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from clickassay.core.errors import SettingsError
from clickassay.core.settings import MAX_DEPTH, Settings
from clickassay.core.text.words import did_you_mean
from clickassay.metrics.definition import Measure, Metric, Parameter, Value, flag, numbers
from clickassay.metrics.editorial import EDITORIAL, PLAIN
from clickassay.metrics.ranked import JUDGED, OF_USERS, RANKED

NAME = re.compile(r"(?P<name>[A-Za-z]\w*)\s*(?:\((?P<arguments>[^()]*)\))?(?:@(?P<at>\d[\d.]{0,8}))?")
"""The grammar of ir_measures: ``Name``, ``Name(parameter=value,...)``, either followed by ``@depth``."""

_BETWEEN_ARGUMENTS = re.compile(r",(?![^{]*\})")


def parse(
    text: str, metrics: tuple[Metric, ...], *, deepest: int = MAX_DEPTH, rules: tuple[Parameter, ...] = ()
) -> Measure:
    """Read a metric's name, e.g. ``AP(rel=2)@5`` or ``nDCG(dcg='exp-log2')@10``, in any letter case.

    ``@k`` must lie in 1..`deepest`. A parameter with its default is left out: the same measures are equal.
    rules: parameters that every metric has besides its own.
    Raises SettingsError if it is not of the grammar of ir_measures, or names what is not known or excluded.
    """
    spelled = text.strip()
    match = NAME.fullmatch(spelled)
    if match is None:
        raise SettingsError(f"metric {text!r}: expected a name like ERR, AP(rel=2) or AP(rel=2)@5")
    metric = next((one for one in metrics if one.name.lower() == match["name"].lower()), None)
    if metric is None:
        known = did_you_mean(match["name"], [one.name for one in metrics])
        raise SettingsError(f"unknown metric {match['name']}; {known}")
    arguments, after, depth = match["arguments"] or "", match["at"], None
    if metric.at is not None and after is not None:
        arguments = f"{arguments},{metric.at}={after}".strip(",")
    elif after is not None:
        if not (after.isdecimal() and 1 <= int(after) <= deepest):
            raise SettingsError(f"metric {text!r}: the depth after @ must lie in 1..{deepest}")
        depth = int(after)
    given = _arguments(metric, arguments, rules)
    own = {item.name for item in metric.parameters}
    return Measure(
        metric,
        tuple(item for item in given if item[0] in own),
        depth,
        tuple(item for item in given if item[0] not in own),
    )


def _arguments(metric: Metric, text: str, rules: tuple[Parameter, ...]) -> tuple[tuple[str, Value], ...]:
    pieces = [piece.strip() for piece in _BETWEEN_ARGUMENTS.split(text)] if text.strip() else []
    given = {name.strip(): value.strip() for name, _, value in (piece.partition("=") for piece in pieces)}
    parameters = (*metric.parameters, *rules)
    known = [parameter.name for parameter in parameters]
    if len(given) < len(pieces) or not set(given) <= set(known):
        forms = {one.name: "'value value …'" if one.kind is numbers else "value" for one in parameters}
        expected = ", ".join(f"{name}={form}" for name, form in forms.items()) or "none"
        unknown = next((name for name in given if name not in known), "")
        close = f" no parameter {unknown}; {did_you_mean(unknown, known)};" if unknown in given else ""
        raise SettingsError(
            f"metric {metric.name}({text}):{close} its parameters, each at most once, are: {expected}"
        )
    for one, other in metric.exclusive:
        if one in given and other in given:
            raise SettingsError(f"metric {metric.name}: {one} and {other} exclude each other; give only one")
    values: dict[str, Value] = {}
    for parameter in parameters:
        if parameter.name not in given:
            continue
        spelled, value = given[parameter.name], None
        with suppress(ValueError):
            value = parameter.kind(spelled)
        if value is None or not parameter.admits(value):
            expected = parameter.expected
            raise SettingsError(f"metric {metric.name}: {parameter.name} is {spelled!r}, expected {expected}")
        if value != parameter.default or parameter.setting:
            values[parameter.name] = value
    return tuple(values.items())


DEEPEST = 1_000_000
"""The deepest cut that a name may have."""

MEASURES: tuple[Metric, ...] = (*(*EDITORIAL, *RANKED, JUDGED, *OF_USERS, *PLAIN),)
"""Every measure that `evaluate` has."""

JUDGED_ONLY = Parameter(
    "judged_only", flag, "remove unjudged results, so that results below move up",
    "True or False", lambda value: isinstance(value, bool), None,
)  # fmt: skip
UNJUDGED = Parameter(
    "unjudged", int, "the grade of unjudged results", "a grade of 0..30", lambda grade: 0 <= grade <= 30, None
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
    "F1": "F",
    "hit_rate": "Success",
    "HitRate": "Success",
    "HR": "Success",
    "Hits": "Success",
    "Accuracy": "Success",
}
"""Names that other tools have for a measure. There grade 1 is relevant, and so it is here without a `rel`."""

_SEPARATOR = re.compile(r"[\s,;]+(?![^(]*\))")
_DOTTED = re.compile(r"([A-Za-z](?:\w*[A-Za-z])?)\.(\d[\d.]*(?:,\d[\d.]*)*)")
"""A name with its cuts as options of trec_eval have them: ``ndcg_cut.10,20``."""


def parse_measures(text: str) -> tuple[Measure, ...]:
    """Read distinct measures between blanks or commas; SettingsError if one is unknown, or there is none."""

    def with_each_cut(dotted: re.Match[str]) -> str:
        """Return ``ndcg_cut_10 ndcg_cut_20`` of ``ndcg_cut.10,20``."""
        return " ".join(f"{dotted[1]}_{cut}" for cut in dotted[2].split(","))

    spelled = _DOTTED.sub(with_each_cut, text.strip()) if "." in text else text.strip()
    names = [name for name in _SEPARATOR.split(spelled) if name]
    if not names:
        raise SettingsError("no measure is named; name some, e.g. -m 'nDCG@10 ERR@10 AP(rel=2)'")
    return tuple(dict.fromkeys(parse_measure(name) for name in names))


def parse_measure(text: str) -> Measure:
    """Read a measure, e.g. ``nDCG@10``, ``AP(rel=2)`` or trec_eval's ``ndcg_cut_10``; else SettingsError."""
    return parse(without_aliases(text.strip(), MEASURES), MEASURES, deepest=DEEPEST, rules=RULES)


def other_names(metric: Metric) -> tuple[str, ...]:
    """Return the names of a metric in trec_eval and other tools; K is a depth, L a level of recall."""
    ours = [alias for alias in OTHER_NAMES if parse_measure(alias).metric is metric]
    trec = [
        pattern.replace(r"(\d+)", "K").replace(r"([01]\.\d+)", "L")
        for pattern, name in TREC
        if parse_measure(name("1")).metric is metric
    ]
    return tuple(name for name in (*trec, *ours) if name.lower() != metric.name.lower())


def listing() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows, one for each measure: every one takes `RULES`, and most a depth after ``@``."""
    rows: list[tuple[str, ...]] = []
    for metric in MEASURES:
        span = f"from {metric.low:g}" if math.isinf(metric.high) else f"{metric.low:g} to {metric.high:g}"
        parameters = ", ".join(parameter.name for parameter in metric.parameters)
        named = metric.with_parameters or metric.name
        rows.append((named, metric.line, parameters, span, ", ".join(other_names(metric)), metric.source))
    return ("Name", "What it is", "Parameters", "Range", "Other names", "Source"), rows


def rules() -> list[tuple[str, str]]:
    """Return pairs (parameter, meaning) of the rules on results without a grade, which every name takes."""
    return [(rule.name, rule.meaning) for rule in RULES]


def spell_out(measure: Measure, settings: Settings) -> Measure:
    """Return the measure with every parameter that the settings give, so that its name is complete.

    ``AP`` becomes ``AP(rel=1)``, ``ERR@10`` becomes ``ERR(max_rel=4)@10``; DCG and NDCG name their gains.
    """
    return _with_defaults(measure, lambda item: getattr(settings, item.setting) if item.setting else None)


def spell_gains(measure: Measure) -> Measure:
    """Return the measure with the form of its gains, which other tools understand differently.

    ``NDCG@10`` becomes ``nDCG(dcg='exp-log2')@10``; what the settings give stays open, as in ``AP``.
    """
    return _with_defaults(measure, lambda _: None)


def _with_defaults(measure: Measure, of_setting: Callable[[Parameter], Value]) -> Measure:
    given = dict(measure.arguments)
    excluded = {
        one for pair in measure.metric.exclusive for one in pair if given.keys() & (set(pair) - {one})
    }
    full = {}
    for item in measure.metric.parameters:
        by_default = item.default if item.name in _ALWAYS_SPELLED else of_setting(item)
        value = given.get(item.name, None if item.name in excluded else by_default)
        if value is not None:
            full[item.name] = value
    return replace(measure, arguments=tuple(full.items()))


_ALWAYS_SPELLED = {"dcg"}


TREC: tuple[tuple[str, Callable[[str], str]], ...] = (
    (r"map", lambda _: "AP(rel=1)"),
    (r"map_cut_(\d+)", "AP(rel=1)@{}".format),
    (r"ndcg_cut_(\d+)", "nDCG(dcg='log2')@{}".format),
    (r"recip_rank", lambda _: "RR(rel=1)"),
    (r"recip_rank_cut_(\d+)", "RR(rel=1)@{}".format),
    (r"P_(\d+)", "P(rel=1)@{}".format),
    (r"recall_(\d+)", "R(rel=1)@{}".format),
    (r"success_(\d+)", "Success(rel=1)@{}".format),
    (r"iprec_at_recall_([01]\.\d+)", lambda level: f"IPrec(rel=1)@{float(level)}"),
    (r"11pt_avg", lambda _: "IPrec(rel=1)"),
    (r"set_P", lambda _: "P(rel=1)"),
    (r"set_recall", lambda _: "R(rel=1)"),
    (r"set_F", lambda _: "F(rel=1)"),
)
"""Names of trec_eval, and ours. Rprec, bpref and infAP are names of both, and ndcg of another measure."""

_OTHERS_OF_TREC = {
    "ndcg": "write nDCG for gain 2^g - 1, or nDCG(dcg='log2') for trec_eval's linear gain",
    "rbp": "write RBP for gain (2^g - 1) / 2^top, or RBP(p=0.9,gains='...') with a gain for each grade for "
    "trec_eval's gain (grade / best judged grade of the query)",
}
"""Names that trec_eval has for another measure than the one that this name means in any case of letters."""

_FIRST = re.compile(r"[A-Za-z]\w*")


def without_aliases(text: str, metrics: tuple[Metric, ...]) -> str:
    """Return a name without aliases (``MAP@5``: ``AP(rel=1)@5``); SettingsError if trec_eval's differs."""
    if text in _OTHERS_OF_TREC:
        raise SettingsError(
            f"metric {text!r} is ambiguous, as trec_eval defines it differently: {_OTHERS_OF_TREC[text]}"
        )
    underscored = _DOTTED.sub(r"\1_\2", text, count=1)
    for pattern, name in TREC:
        match = re.fullmatch(pattern, underscored, re.IGNORECASE)
        if match is not None:
            return name(*match.groups() or ("",))
    first = _FIRST.match(text)
    if first is None or first[0].lower() in {metric.name.lower() for metric in metrics}:
        return text
    others = {alias.lower(): name for alias, name in OTHER_NAMES.items()}
    ours, rest = others.get(first[0].lower()), text[first.end() :].strip()
    if ours is None:
        return text
    if not rest.startswith("("):
        return f"{ours}(rel=1){rest}"
    return ours + (rest if re.search(r"\brel\s*=", rest) else f"(rel=1,{rest[1:]}".replace(",)", ")"))
