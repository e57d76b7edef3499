"""What each ready question must answer of the run in ``tiny_run``: every row, worked out by hand."""

from math import sqrt

from support.runs.tiny_run import CONFIGURATIONS, WWW_FALLS

UK = ("uk", 3, "editor")
US = ("us", 2, "editor")
MODEL = ("us", 2, "model")


def weighted_correlation(rows):
    """Pearson's correlation of ERR and MeanRR weighted by sessions, from its definition."""
    total = sum(row[6] for row in rows)
    mean_err = sum(row[6] * row[7] for row in rows) / total
    mean_rr = sum(row[6] * row[9] for row in rows) / total
    joint = sum(row[6] * (row[7] - mean_err) * (row[9] - mean_rr) for row in rows)
    spread_err = sum(row[6] * (row[7] - mean_err) ** 2 for row in rows)
    spread_rr = sum(row[6] * (row[9] - mean_rr) ** 2 for row in rows)
    return joint / sqrt(spread_err * spread_rr)


def without(query, n_configurations, n_sessions):
    """The answer of influential_queries for one query, by computing the correlation twice."""
    rows = [row for row in CONFIGURATIONS if row[0] == "uk"]
    kept = weighted_correlation([row for row in rows if row[3] != query])
    whole = weighted_correlation(rows)
    return (*UK, query, n_configurations, n_sessions, whole, kept, whole - kept)


EXPECTED = {
    "best_editorial_metric": [
        # the comparison is DCG minus ERR, so its interval changes sign
        (*UK, "MeanRR", "ERR", 0.5, 0.4, 0.6, "DCG", 0.05, 0.01, 0.09, 0.02),
        (*UK, "UCTR", "DCG", 0.2, 0.1, 0.3, "ERR", 0.05, -0.02, 0.12, 0.2),
    ],
    "better_of_two_lists": [
        # AP and DCG are equal: by name
        ("all", 3, "editor", "MeanRR", "ERR", 0.25, 0.15, 0.35, 0.5, 0.58, 2),
        ("all", 3, "editor", "MeanRR", "AP", 0.2, 0.0, 0.4, 0.5, 0.564, 2),
        ("all", 3, "editor", "MeanRR", "DCG", 0.2, 0.1, 0.3, 0.5, 0.564, 2),
        (*UK, "MeanRR", "ERR", 0.3, 0.1, 0.5, None, 0.597, 2),
    ],
    "cascade_effects": [
        # www in second place: 20 of 40 below fan (0), 10 of 100 below uk (4)
        (
            *(*UK, 1, "myspace", "www", 3, 2, 0.5, "uk", 4, 2, 0.1, 5.0, 1.0, WWW_FALLS),
            *(["fan", "www", "uk"], [0, 3, 4], ["uk", "www", "fan"], [4, 3, 0]),
        )
    ],
    "correlation_by_frequency": [
        (*UK, 1, 1, 20, None, None, None, None, None, None, None, None),
        (*UK, 2, 1, 30, 0.4, 0.1, 0.6, None, None, None, None, None),
        (*UK, 10, 1, 190, 0.7, 0.6, 0.8, 0.65, None, None, None, None),
    ],
    "coverage": [
        (*UK, 5, 8, 300, 1200, 0.25, 1.6, 37.5),
        (*US, 1, 1, 10, 40, 0.25, 1.0, 10.0),
        (*MODEL, 1, 1, 10, 40, 0.25, 1.0, 10.0),
    ],
    "ctr_below_better": [
        # grade 0: c2 stands below c1 (0), fan below www (3); nobody clicked either
        (*UK, 2, 0, 20, 50, 0.0, 0.0, None),
        # grade 3: www below fan (0) 20 of 40; below uk (4) 10 of 100, and j2 below j1 (4) 0 of 30
        (*UK, 2, 3, 40, 130, 0.5, 1 / 13, 2 / 13),
    ],
    "ctr_by_position_and_grade": [
        (*UK, 1, 0, 60, 0, 0.0),  # fan 40, c1 20
        (*UK, 1, 1, 20, 2, 0.1),
        (*UK, 1, 2, 10, 0, 0.0),
        (*UK, 1, 3, 50, 40, 0.8),
        (*UK, 1, 4, 160, 118, 0.7375),  # uk 85 of 100, w1 6 of 30, j1 27 of 30
        (*UK, 2, 0, 70, 0, 0.0),  # fan 50, c2 20
        (*UK, 2, 1, 10, 4, 0.4),
        (*UK, 2, 2, 20, 8, 0.4),
        (*UK, 2, 3, 170, 30, 3 / 17),  # www 10 of 100 and 20 of 40, j2 0 of 30
        (*UK, 2, 4, 30, 0, 0.0),
        (*UK, 3, 0, 130, 0, 0.0),  # fan 100, m3 20 and 10
        (*UK, 3, 1, 20, 9, 0.45),
        (*UK, 3, 2, 30, 0, 0.0),
        (*UK, 3, 3, 30, 0, 0.0),
        (*UK, 3, 4, 90, 15, 1 / 6),  # uk 5 of 50 and 10 of 40
        (*US, 1, 2, 10, 2, 0.2),
        (*US, 2, 3, 10, 6, 0.6),
        (*MODEL, 1, 2, 10, 2, 0.2),
        (*MODEL, 2, 1, 10, 6, 0.6),
    ],
    "influential_queries": [
        *sorted(
            (
                without("myspace", 3, 190),
                without("maps", 2, 30),
                without("weather", 1, 30),
                without("jobs", 1, 30),
                without("cats", 1, 20),
            ),
            key=lambda row: -abs(row[-1]),
        ),
        (*US, "news", 1, 10, None, None, None),  # one configuration has no correlation
        (*MODEL, "news", 1, 10, None, None, None),
    ],
    "first_or_second_place": [
        # on average: first place 160 of 300, second place 42 of 300
        (*UK, "myspace", "www", 50, 100, 0.8, 0.1, 8.0, 160 / 42),
        (*UK, "myspace", "fan", 40, 50, 0.0, 0.0, None, 160 / 42),
        (*UK, "maps", "m1", 20, 10, 0.1, 0.4, 0.25, 160 / 42),
    ],
    "frequent_click_patterns": [
        (*UK, [1], 155, 155 / 300, 5),  # m1 80 in two folds, m2 40, p1 2, w1 6, j1 27
        (*UK, [], 79, 79 / 300, 8),
        (*UK, [2], 37, 37 / 300, 4),
        (*UK, [3], 24, 0.08, 3),
        (*UK, [1, 2], 5, 5 / 300, 1),
        (*US, [2], 6, 0.6, 1),
        (*US, [], 2, 0.2, 1),
        (*US, [1], 2, 0.2, 1),
        (*MODEL, [2], 6, 0.6, 1),
        (*MODEL, [], 2, 0.2, 1),
        (*MODEL, [1], 2, 0.2, 1),
    ],
    "funnel_losses": [
        ("searches", "all", 0, "all", "rejected", "null query", 15, 1500, 0.01),
        ("sessions", *UK, "not judged", "a result without a grade", 700, 1200, 7 / 12),
        ("sessions", *UK, "too short", "fewer results than the depth", 200, 1200, 1 / 6),
        ("sessions", *MODEL, "not judged", "a result without a grade", 30, 40, 0.75),
    ],
    "good_but_abandoned": [
        # mean ERR: cats .1, maps 7/30, myspace 14/19, weather .95, jobs .96; the upper quartile is .95.
        # Of their 60 sessions 24 + 3 have no click, 45%; weather's 80% are 10.5 sessions too many.
        (*UK, "weather", 1, 30, 0.95, 0.8, 0.45, 10.5),
        (*UK, "jobs", 1, 30, 0.96, 0.1, 0.45, -10.5),
        (*US, "news", 1, 10, 0.4, 0.2, 0.2, 0.0),
        (*MODEL, "news", 1, 10, 0.3, 0.2, 0.2, 0.0),
    ],
    "grade_inversions": [
        (*UK, "maps", "m2", 2, "m1", 1, 10, 0.0, 0.4, 4),
        (*MODEL, "news", "n1", 2, "n2", 1, 10, 0.2, 0.6, 4),
    ],
    "indistinguishable_metrics": [(*UK, "UCTR", "DCG", "ERR", 0.2, 0.15, 0.05, -0.02, 0.12, 0.2, 5, 17.0)],
    "judges_and_clicks": [
        ("us", 2, "MeanRR", "ERR", "editor", "model", 0.5, 0.2, 0.3, 0.1, 0.5, 0.02, 8.0, 12),
        ("us", 2, "MeanRR", "DCG", "editor", "model", 0.4, 0.3, 0.1, 0.0, 0.2, 0.1, 30.0, 12),
    ],
    "judges_and_their_order": [
        ("us", 2, "editor", "model", 0.6, 0.4, 0.2, 0.1, 0.3, 0.02, "editor", 12, 90, 9, 8.0)
    ],
    "judges_apart": [("us", 2, "editor", "model", "news", "n2", 3, 1, 10, 2.0, 0.6)],
    "missing_values": [
        (*UK, "all", "all", "no variance of NDCG", 1, 8, 5, 300),
        (*UK, "frequency", "1", "one configuration", 2, 1, 1, 20),
    ],
    "monte_carlo_check": [
        (*UK, "MeanRR", "ERR", 0.5, 0.44, 0.02, 3.0, None, 2),
        (*UK, "MeanRR", "DCG", 0.3, 0.31, 0.02, -0.5, 0.35, 2),
    ],
    "opposite_changes": [
        # ERR .2 to .3, MeanRR .3 to .2; weight .1 * .1 / (1/20 + 1/10)
        (*UK, "maps", ["m1", "m2", "m3"], ["m2", "m1", "m3"], [1, 2, 0], [2, 1, 0], 20, 10, 0.1, -0.1, 1 / 15)
    ],
    "queries_with_many_configurations": [
        (*UK, "myspace", 3, 190, 100 / 190, 0.5, 0.9, 1 / 3, 0.8625),
        (*UK, "maps", 2, 30, 2 / 3, 0.2, 0.3, 0.2, 0.3),
        (*UK, "jobs", 1, 30, 1.0, 0.96, 0.96, 0.9, 0.9),
        (*UK, "weather", 1, 30, 1.0, 0.95, 0.95, 0.2, 0.2),
        (*UK, "cats", 1, 20, 1.0, 0.1, 0.1, 0.15, 0.15),
        (*US, "news", 1, 10, 1.0, 0.4, 0.4, 0.5, 0.5),
        (*MODEL, "news", 1, 10, 1.0, 0.3, 0.3, 0.5, 0.5),
    ],
    "worst_disagreements": [
        # ranks as parts of the 8 configurations, each at its middle: (place - 1/2) / 8, a tie at its mean
        (*UK, "weather", ["w1", "w2", "w3"], [4, 4, 3], 30, 0.95, 0.2, 6.5 / 8, 2 / 8, 4.5 / 8, 16.875),
        (*UK, "myspace", ["uk", "www", "fan"], [4, 3, 0], 100, 0.9, 0.8625, 5.5 / 8, 6.5 / 8, -1 / 8, 12.5),
        (*UK, "myspace", ["www", "fan", "uk"], [3, 0, 4], 50, 0.6, 5 / 6, 4.5 / 8, 5.5 / 8, -1 / 8, 6.25),
        (*UK, "myspace", ["fan", "www", "uk"], [0, 3, 4], 40, 0.5, 1 / 3, 3.5 / 8, 4.5 / 8, -1 / 8, 5.0),
        (*UK, "maps", ["m1", "m2", "m3"], [1, 2, 0], 20, 0.2, 0.3, 1.5 / 8, 3.5 / 8, -2 / 8, 5.0),
        (*UK, "maps", ["m2", "m1", "m3"], [2, 1, 0], 10, 0.3, 0.2, 2.5 / 8, 2 / 8, 0.5 / 8, 0.625),
    ],
}
