"""Metrics of a run by the names that rules give them, in capitals or not."""

from collections.abc import Iterable, Sequence

from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.core.text.words import did_you_mean
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.clicks import CLICK_METRICS, click_metric_named, refuse_ips, signal_of
from clickassay.metrics.definition import Measure
from clickassay.metrics.names import parse, spell_out, without_aliases


def click_metric(name: str) -> str | None:
    """Return the click metric of this name; None if there is none.

    Raises SettingsError if it is IPS, which compares nothing.
    """
    refuse_ips(name.upper())
    if signal_of(name) is not None:
        return click_metric_named(name)
    return {known.lower(): known for known in CLICK_METRICS}.get(name.lower())


def required_click_metric(name: str) -> str:
    """Return the click metric of this name.

    Raises SettingsError if there is none.
    """
    metric = click_metric(name)
    if metric is None:
        raise SettingsError(f"unknown click metric {name}; {did_you_mean(name, CLICK_METRICS)}")
    return metric


def editorial_metric(name: str, columns: Sequence[str], settings: Settings, run: str) -> str:
    """Return the column of a run that is the metric of this name: ``map`` may be ``AP(rel=1)``.

    name: the name, as everywhere in the grammar of `clickassay.metrics.names`.
    columns: the names of the run's editorial metrics.
    settings: settings of the run: they give what a name leaves open, so that ``AP(rel=3)`` is ``AP`` there.
    run: what messages call it.

    Raises SettingsError if there is no such metric, or the run does not have it.
    """
    if name.strip() in columns:  # also a score that users brought
        return name.strip()
    if click_metric(name) is not None:
        raise SettingsError(f"{name} is a click metric, and an editorial metric was expected, such as ERR")
    wanted = _measure(name)
    for column in columns:
        if column == str(wanted) or _spelled_out(column, settings) == spell_out(wanted, settings):
            return column
    has = ", ".join(columns) or "none"
    raise SettingsError(
        f"{run} does not have the metric {wanted}; it has {has}: name one of these, or make the run again "
        f"with --metric '{wanted}'"
    )


def _measure(name: str) -> Measure:
    return parse(without_aliases(name.strip(), METRICS), METRICS)


def _spelled_out(column: str, settings: Settings) -> Measure | None:
    try:
        return spell_out(_measure(column), settings)
    except SettingsError:  # a column that this version does not know
        return None


def parted(
    names: Iterable[str], columns: Sequence[str], settings: Settings, run: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the editorial metrics and the click metrics among names; raises as `editorial_metric`."""
    clicks = {name: found for name in names if (found := click_metric(name)) is not None}
    metrics = (editorial_metric(name, columns, settings, run) for name in names if name not in clicks)
    return tuple(dict.fromkeys(metrics)), tuple(dict.fromkeys(clicks.values()))
