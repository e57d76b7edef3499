"""Expectations over all vectors of labels, straight from the definitions: an oracle with plain loops."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Query:
    """A query: probabilities of grades of each document, as fractions, and lists of places among them."""

    probabilities: list
    rankings: list
    cost: Fraction = Fraction(1)
    weight: Fraction = Fraction(1)


def gains(grades, measure):
    """Gain of each grade of a scale."""
    return [Fraction(2**y - 1, 2 ** (grades - 1) if measure == "ERR" else 1) for y in range(grades)]


def performance(ranking, labels, measure, grades):
    """ERR (2) or DCG (1) of a list of documents."""
    gain = gains(grades, measure)
    if measure == "DCG":
        return sum(gain[labels[z]] / Fraction(math.log2(i + 1)) for i, z in enumerate(ranking, start=1))
    total, left = Fraction(0), Fraction(1)
    for i, z in enumerate(ranking, start=1):
        total += left * gain[labels[z]] / i
        left *= 1 - gain[labels[z]]
    return total


def outcomes(query, measure):
    """Yield the chance of each vector of labels, and L1 or L1 - L2."""
    grades = len(query.probabilities[0]) if query.probabilities else 2
    for labels in itertools.product(range(grades), repeat=len(query.probabilities)):
        chance = math.prod((query.probabilities[z][y] for z, y in enumerate(labels)), start=Fraction(1))
        if chance:
            values = [performance(ranking, labels, measure, grades) for ranking in query.rankings]
            yield chance, values[0] - (values[1] if len(values) > 1 else 0)


def moments(query, measure):
    """E and E of the square, exactly but for the logarithms of DCG."""
    pairs = list(outcomes(query, measure))
    return sum((c * v for c, v in pairs), Fraction(0)), sum((c * v * v for c, v in pairs), Fraction(0))


def uninformed(query):
    """The query with every grade as likely as any other."""
    same = [[Fraction(1, len(row))] * len(row) for row in query.probabilities]
    return Query(same, query.rankings, query.cost, query.weight)


def distribution(queries, measure, variant):
    """q of a variant, from the formula (11, 12), and whether no spread is above 0."""
    whole = sum(query.weight for query in queries)
    p = [query.weight / whole for query in queries]
    if variant == "passive":
        return [float(x) for x in p]
    seen = [uninformed(query) if variant == "uniform relevance" else query for query in queries]
    found = [moments(query, measure) for query in seen]
    value = sum((x * mean for x, (mean, _) in zip(p, found, strict=True)), Fraction(0))
    pulls = []
    for x, query, (mean, second) in zip(p, queries, found, strict=True):
        cost = 1 if variant == "uniform cost" else query.cost
        around = mean if variant == "corrected" else value
        pulls.append(float(x) * math.sqrt((second - 2 * around * mean + around * around) / cost))
    total = sum(pulls)
    return [pull / total for pull in pulls] if total else [float(x) for x in p]
