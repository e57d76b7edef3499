"""Letters of metrics: two that share a letter are not significantly different."""

from collections.abc import Sequence
from string import ascii_lowercase

Group = tuple[str, ...]


def groups(ordered: Sequence[str], different: Sequence[tuple[str, str]]) -> tuple[Group, ...]:
    """Return the largest sets of metrics of which no two are significantly different; they may overlap.

    Begins with one set of all; each significantly different pair splits the sets that hold both,
    and sets within another are dropped (insert and absorb; Piepho 2004).

    Parameters
    ----------
    ordered
        Metrics, in the order that members and sets are returned in.
    different
        Pairs that are significantly different.
    """
    sets = [frozenset(ordered)]
    for a, b in different:
        split = {part for one in sets for part in ([one - {a}, one - {b}] if {a, b} <= one else [one])}
        sets = [one for one in split if not any(one < other for other in split)]
    places = sorted(sorted(ordered.index(name) for name in one) for one in sets)
    return tuple(tuple(ordered[place] for place in one) for one in places)


def letters(groups: Sequence[Group]) -> dict[str, str]:
    """Return the letters of each metric, one for each of its groups: ``a``, ``b`` ... ``z``, ``a2`` ..."""
    by_metric: dict[str, list[str]] = {}
    for place, group in enumerate(groups):
        turn = place // len(ascii_lowercase)
        letter = ascii_lowercase[place % len(ascii_lowercase)] + (str(turn + 1) if turn else "")
        for name in group:
            by_metric.setdefault(name, []).append(letter)
    return {name: " ".join(own) for name, own in by_metric.items()}
