"""Names of measures: one catalogue, in the grammar of ir_measures, with the names of trec_eval as aliases."""

import re
from dataclasses import replace

from clickassay.errors import SettingsError
from clickassay.metrics.aliases import OTHER_NAMES, TREC, without_aliases
from clickassay.metrics.base import Measure, Metric, Parameter, flag, parse
from clickassay.metrics.editorial import EDITORIAL, PLAIN
from clickassay.metrics.ranked import JUDGED, OF_USERS, RANKED
from clickassay.settings import Settings

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
"""What a name may say of results without a grade; without a word they are worth grade 0."""

ALIASES = {"NDCG": "nDCG(dcg='exp-log2')", **OTHER_NAMES}
"""Other names of a measure. In a run NDCG is a metric of its own, the one of contract 6."""

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
    """Return the names that a metric has in trec_eval and elsewhere; K is a depth, L a level of recall."""
    ours = [alias for alias in ALIASES if parse_measure(alias).metric is metric]
    trec = [
        pattern.replace(r"(\d+)", "K").replace(r"([01]\.\d+)", "L")
        for pattern, name in TREC
        if parse_measure(name("1")).metric is metric
    ]
    return tuple(name for name in (*trec, *ours) if name != metric.name)


def spelled_out(measure: Measure, settings: Settings) -> Measure:
    """Return the measure with every parameter that the settings give, so that its name says all of it.

    ``AP`` becomes ``AP(rel=1)``, ``ERR@10`` becomes ``ERR(max_rel=4)@10``; a bare ``DCG`` says its gains.
    """
    told = dict(measure.arguments)
    outdone = {one for pair in measure.metric.exclusive for one in pair if told.keys() & (set(pair) - {one})}
    full = {
        item.name: told.get(item.name, getattr(settings, item.setting) if item.setting else item.default)
        for item in measure.metric.parameters
        if item.name in told
        or (item.name not in outdone and (item.setting is not None or item.name in _ALWAYS_SAID))
    }
    if measure.metric.name == "nDCG" and full.get("dcg") == "log2":
        del full["dcg"]  # as ir_measures prints it
    return replace(measure, arguments=tuple(full.items()))


_ALWAYS_SAID = {"dcg"}
