"""Click models session by session, in plain Python, from their stories: everything hidden is enumerated.

Shares no code with the package. A session is (documents, clicks): a tuple of codes and one of 0 and 1.
"""

import math
from collections import defaultdict


def stops(session, attraction, go_after_click, go_after_skip):
    """Return P(clicks, last position examined) of a reader who goes down the list, by last position from 0.

    `attraction` (document) -> chance; `go_after_click` (document, position from 0) -> chance;
    `go_after_skip` one.
    """
    documents, clicks = session
    found = []
    for stop in range(len(documents)):
        chance = 0.0 if any(clicks[stop + 1 :]) else 1.0
        for place in range(stop + 1):
            a = attraction(documents[place])
            chance *= a if clicks[place] else 1 - a
            go = go_after_click(documents[place], place) if clicks[place] else go_after_skip
            if place < stop:
                chance *= go
            elif place < len(documents) - 1:
                chance *= 1 - go
        found.append(chance)
    return found


def chain_probability(session, attraction, go_after_click, go_after_skip):
    """Return P(clicks), by summing over where the reader stops; `attraction` by document."""
    return sum(stops(session, attraction.__getitem__, go_after_click, go_after_skip))


def product_probability(session, attraction, examination):
    """Return P(clicks); `examination` (position from 0, last click before it or 0) -> chance."""
    documents, clicks = session
    chance, last = 1.0, 0
    for place, (document, clicked) in enumerate(zip(documents, clicks, strict=True)):
        p = attraction[document] * examination(place, last)
        chance *= p if clicked else 1 - p
        last = place + 1 if clicked else last
    return chance


def log_likelihood(sessions, probability):
    """Return the sum of log P(clicks) over (documents, clicks, times seen)."""
    return math.fsum(
        times * math.log(probability((documents, clicks))) for documents, clicks, times in sessions
    )


def marginals(documents, probability):
    """Return P(C_r = 1) of each position, by summing over all patterns of clicks."""
    size = len(documents)
    found = [0.0] * size
    for mask in range(1 << size):
        clicks = tuple(mask >> place & 1 for place in range(size))
        chance = probability((documents, clicks))
        for place in range(size):
            found[place] += chance * clicks[place]
    return found


class Tally:
    """Expected successes and trials of parameters, by name."""

    def __init__(self):
        self.successes, self.trials = defaultdict(float), defaultdict(float)

    def add(self, name, success, trial=1.0):
        self.successes[name] += success
        self.trials[name] += trial

    def share(self, name, pseudo_count):
        trials = self.trials[name] + 2 * pseudo_count
        return (self.successes[name] + pseudo_count) / trials if trials else 0.5

    def shares(self, kind, pseudo_count):
        """Return the share of each (kind, key), by key."""
        names = [name for name in self.trials if name[0] == kind]
        return {key: self.share((kind, key), pseudo_count) for _, key in names}


def factorised_em(sessions, *, by_last_click, rounds, pseudo_count):
    """Fit alpha (by document) and gamma (by position from 0 and last click, or 0); return both as dicts."""
    alpha, gamma = {}, {}
    for _ in range(rounds):
        tally = Tally()
        for documents, clicks, times in sessions:
            last = 0
            for place, (document, clicked) in enumerate(zip(documents, clicks, strict=True)):
                kind = (place, last if by_last_click else 0)
                a = alpha.get(document, 0.5)
                g = 1.0 if kind == (0, 0) else gamma.get(kind, 0.5)
                attracted = 1.0 if clicked else a * (1 - g) / (1 - a * g)
                examined = 1.0 if clicked else g * (1 - a) / (1 - a * g)
                tally.add(("alpha", document), times * attracted, times)
                tally.add(("gamma", kind), times * examined, times)
                last = place + 1 if clicked else last
        alpha = tally.shares("alpha", pseudo_count)
        gamma = tally.shares("gamma", pseudo_count)
        gamma[0, 0] = 1.0
    return alpha, gamma


def counted(sessions, *, pseudo_count):
    """Return (a, s by document, lambda by position from 0) of readers who stop at their last click."""
    tally = Tally()
    for documents, clicks, times in sessions:
        end = max((place for place, clicked in enumerate(clicks) if clicked), default=len(clicks) - 1)
        for place in range(end + 1):
            tally.add(("a", documents[place]), times * clicks[place], times)
            if clicks[place]:
                tally.add(("s", documents[place]), times * (place == end), times)
                tally.add(("stop", place), times * (place == end), times)
    a, s, stop = (tally.shares(kind, pseudo_count) for kind in ("a", "s", "stop"))
    return a, s, {place: 1 - chance for place, chance in stop.items()}


def _posterior(documents, clicks, attraction, after_click, after_skip):
    """Return (last position examined, its posterior) of where a reader may have stopped."""
    weights = stops((documents, clicks), attraction, after_click, after_skip)
    total = math.fsum(weights)
    return [(stop, weight / total) for stop, weight in enumerate(weights) if weight > 0]


def dcm_em(sessions, *, rounds, pseudo_count):
    """Fit a (by document) and lambda (by position from 0) from what is counted; return (a, lambda)."""
    a, _, continuation = counted(sessions, pseudo_count=max(pseudo_count, 1.0))
    for _ in range(rounds):
        tally = Tally()
        for documents, clicks, times in sessions:
            go = lambda _, place: continuation.get(place, 0.5)  # noqa: E731, B023
            for stop, chance in _posterior(documents, clicks, lambda d: a.get(d, 0.5), go, 1.0):  # noqa: B023
                for place in range(stop + 1):
                    tally.add(("a", documents[place]), times * chance * clicks[place], times * chance)
                    if clicks[place] and place < len(documents) - 1:
                        tally.add(("on", place), times * chance * (place < stop), times * chance)
        a = tally.shares("a", pseudo_count)
        continuation = tally.shares("on", pseudo_count)
    return a, continuation


def sdbn_em(sessions, *, rounds, pseudo_count):
    """Fit a and s (by document) from what is counted; return (a, s)."""
    a, s, _ = counted(sessions, pseudo_count=max(pseudo_count, 1.0))
    return _dbn_em(sessions, a, s, 1.0, rounds=rounds, pseudo_count=pseudo_count, fixed=True)[:2]


def dbn_em(sessions, *, rounds, pseudo_count):
    """Fit a and s (by document) and gamma; return (a, s, gamma)."""
    return _dbn_em(sessions, {}, {}, 0.9, rounds=rounds, pseudo_count=pseudo_count, fixed=False)


def _dbn_em(sessions, a, s, gamma, *, rounds, pseudo_count, fixed):
    for _ in range(rounds):
        tally = Tally()
        for documents, clicks, times in sessions:
            go = lambda document, _: gamma * (1 - s.get(document, 0.5))  # noqa: E731, B023
            for stop, chance in _posterior(documents, clicks, lambda d: a.get(d, 0.5), go, gamma):  # noqa: B023
                n, end = times * chance, len(documents) - 1
                for place in range(stop + 1):
                    document = documents[place]
                    tally.add(("a", document), n * clicks[place], n)
                    goes_on = place < stop
                    if not clicks[place]:
                        if place < end:
                            tally.add("gamma", n * goes_on, n)
                        continue
                    if place == end:  # who is at the end stops, satisfied or not
                        continue
                    of_s = s.get(document, 0.5)
                    sated = 0.0 if goes_on else of_s / (of_s + (1 - of_s) * (1 - gamma))
                    tally.add(("s", document), n * sated, n)
                    tally.add("gamma", n * goes_on, n * (1 - sated))
        a = tally.shares("a", pseudo_count)
        s = tally.shares("s", pseudo_count)
        gamma = gamma if fixed else tally.share("gamma", pseudo_count)
    return a, s, gamma


def ccm_em(sessions, *, rounds, pseudo_count):
    """Fit a (by document) and the three alphas; return (a, alphas)."""
    a, alpha = {}, [0.9, 0.8, 0.5]
    for _ in range(rounds):
        tally = Tally()
        for documents, clicks, times in sessions:
            of = lambda d: a.get(d, 0.5)  # noqa: E731, B023
            go = lambda d, _: alpha[1] * (1 - of(d)) + alpha[2] * of(d)  # noqa: E731, B023
            for stop, chance in _posterior(documents, clicks, of, go, alpha[0]):
                n, end = times * chance, len(documents) - 1
                for place in range(stop + 1):
                    document, goes_on = documents[place], place < stop
                    tally.add(("a", document), n * clicks[place], n)
                    if not clicks[place]:
                        if place < end:
                            tally.add(0, n * goes_on, n)
                        continue
                    relevant = of(document)
                    if place < end:
                        on, off = (
                            alpha[2] * relevant / go(document, place),
                            (1 - alpha[2]) * relevant / (1 - go(document, place)),
                        )
                        relevant = on if goes_on else off
                        tally.add(1, n * (1 - relevant) * goes_on, n * (1 - relevant))
                        tally.add(2, n * relevant * goes_on, n * relevant)
                    tally.add(("a", document), n * relevant, n)
        a = {name[1]: tally.share(name, pseudo_count) for name in tally.trials if isinstance(name, tuple)}
        alpha = [tally.share(number, pseudo_count) for number in range(3)]
    return a, alpha
