"""Peer: the whole job in pandas and SciPy, as one would write it in a day.

python benchmarks/peers/pandas_scipy.py LOG OUT

It makes the tables statistics, correlations, differences and comparisons of `clickassay run`, at both depths
and for every query class; it makes no funnel, no SQL tables and no report.
"""

import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

IDLE = pd.Timedelta(minutes=60)
DEPTHS = (5, 10)
RESAMPLES = ITERATIONS = 1000
MAX_GRADE, GOOD, RELEVANT, PERSISTENCE = 4, 2, 3, 0.8
FEW_SESSIONS = 1000  # configurations that speak for those with one session
CLICK_METRICS = ["UCTR", "MaxRR", "MeanRR", "MinRR", "PLC", "SS", "QCTR"]
EDITORIAL_METRICS = ["DCG", "NDCG", "AP", "RR", "ERR", "RBP", "AP(rel=2)", "RR(rel=2)"]
EDITORIAL_METRICS += ["MeanGrade", "MeanGrade@1", "P@1"]
VARIANCES = [f"variance of {name}" for name in CLICK_METRICS]
METRICS = CLICK_METRICS + EDITORIAL_METRICS


def main(log: Path, out: Path) -> None:
    """Read a log, its judgments and query attributes, write the tables as Parquet."""
    searches = read_searches(log / "searches.parquet")
    clicks = timely_clicks(pd.read_parquet(log / "clicks.parquet"), searches)
    searches = add_sessions(searches, clicks)
    sessions = searches[searches["search_id"] == searches["session_id"]]
    clicks = placed_clicks(clicks, searches, sessions)
    judgments = pd.read_parquet(log / "judgments.parquet")
    judgments["query"] = normalised(judgments["query"])
    queries = pd.read_parquet(log / "queries.parquet")
    navigational = dict(zip(normalised(queries["query"]), queries["navigational"], strict=True))
    rng = np.random.default_rng(0)
    tables: dict[str, list[pd.DataFrame]] = {}
    for depth in DEPTHS:
        configurations = judged_configurations(sessions, clicks, judgments, depth)
        every = sessions["market"].value_counts()
        for market, part in configurations.groupby("market"):
            found = measured_tables(part, int(every[market]), navigational, rng)
            for name, table in found.items():
                tables.setdefault(name, []).append(table.assign(market=market, depth=depth))
    out.mkdir(parents=True, exist_ok=True)
    for name, parts in tables.items():
        pd.concat(parts).astype({"depth": "int32"}).to_parquet(out / f"{name}.parquet", index=False)


# ---- logs to sessions --------------------------------------------------------------------------


def normalised(queries: pd.Series) -> pd.Series:
    """Collapse and trim white space, lower case."""
    return queries.str.replace(r"\s+", " ", regex=True).str.strip().str.lower()


def read_searches(file: Path) -> pd.DataFrame:
    """Read the searches, normalise queries, drop delivery repeats."""
    searches = pd.read_parquet(file)
    if "market" not in searches:
        searches["market"] = "all"
    searches["query"] = normalised(searches["query"])
    return searches.drop_duplicates(["search_id", "user_id", "timestamp"])


def timely_clicks(clicks: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """Keep the clicks within an hour of their search."""
    times = searches[["search_id", "timestamp"]].rename(columns={"timestamp": "searched"})
    clicks = clicks.merge(times, on="search_id")
    return clicks[(clicks["timestamp"] - clicks["searched"]).abs() <= IDLE]


def add_sessions(searches: pd.DataFrame, clicks: pd.DataFrame) -> pd.DataFrame:
    """Give every search its session: one user, query and visit; it goes by the id of its first search."""
    last_click = searches["search_id"].map(clicks.groupby("search_id")["timestamp"].max())
    searches["active"] = searches["timestamp"].where(
        last_click.isna() | (last_click < searches["timestamp"]), last_click
    )
    searches = searches.sort_values(["user_id", "timestamp", "search_id"])
    searches["active"] = searches.groupby("user_id")["active"].cummax()
    active_before = searches.groupby("user_id")["active"].shift()
    searches["visit"] = (searches["timestamp"] - active_before > IDLE).groupby(searches["user_id"]).cumsum()
    session = ["user_id", "visit", "market", "query"]
    searches["session_id"] = searches.groupby(session)["search_id"].transform("first")
    return searches


def placed_clicks(clicks: pd.DataFrame, searches: pd.DataFrame, sessions: pd.DataFrame) -> pd.DataFrame:
    """Give every URL clicked in a session its first place in the session's list; drop those not in it."""
    clicks = clicks.merge(searches[["search_id", "session_id"]], on="search_id")
    clicks = clicks.drop_duplicates(["session_id", "url"])
    clicks = clicks.merge(sessions[["session_id", "results"]], on="session_id")
    clicks["position"] = [
        next((place for place, shown in enumerate(results, start=1) if shown == url), 0)
        for results, url in zip(clicks["results"], clicks["url"], strict=True)
    ]
    return clicks.loc[clicks["position"] > 0, ["session_id", "position"]]


# ---- sessions to metrics -----------------------------------------------------------------------


def judged_configurations(
    sessions: pd.DataFrame, clicks: pd.DataFrame, judgments: pd.DataFrame, depth: int
) -> pd.DataFrame:
    """Return one row per fully judged configuration: its sessions, click metrics and editorial metrics."""
    sessions = sessions[sessions["results"].str.len() >= depth]
    top = sessions["results"].str[:depth]
    sessions = sessions[["session_id", "market", "query"]].assign(top=top, shown=top.map("\t".join))
    configuration = ["market", "query", "shown"]
    lists = sessions.drop_duplicates(configuration).copy()
    grade_of = judgments.set_index(["query", "url"])["grade"].to_dict()
    lists["grades"] = [
        [grade_of.get((query, url)) for url in results]
        for query, results in zip(lists["query"], lists["top"], strict=True)
    ]
    lists = lists[[None not in grades for grades in lists["grades"]]]
    pools = judgments.groupby("query")["grade"].apply(list)
    editorial = lists.apply(lambda row: editorial_metrics(row["grades"], pools[row["query"]]), axis=1)
    lists = pd.concat([lists[[*configuration, "grades"]], editorial], axis=1)
    sessions = sessions.drop(columns="top").merge(lists[[*configuration, "grades"]], on=configuration)
    sessions = pd.concat([sessions, click_metrics(sessions, clicks, depth)], axis=1)
    by_configuration = sessions.groupby(configuration)
    measured = by_configuration[CLICK_METRICS].mean()
    measured[VARIANCES] = by_configuration[CLICK_METRICS].var()
    measured["n_sessions"] = by_configuration.size()
    return lists.drop(columns="grades").merge(measured.reset_index(), on=configuration)


def click_metrics(sessions: pd.DataFrame, clicks: pd.DataFrame, depth: int) -> pd.DataFrame:
    """Compute the click metrics of each session, 0 without a click."""
    clicks = clicks[clicks["position"] <= depth].merge(sessions[["session_id", "grades"]], on="session_id")
    clicks["reciprocal"] = 1 / clicks["position"]
    clicks["good"] = [
        grades[position - 1] >= GOOD
        for grades, position in zip(clicks["grades"], clicks["position"], strict=True)
    ]
    by_session = clicks.groupby("session_id")
    count, last = by_session.size(), by_session["position"].max()
    found = pd.DataFrame(
        {
            "UCTR": 1.0,
            "MaxRR": 1 / by_session["position"].min(),
            "MeanRR": by_session["reciprocal"].mean(),
            "MinRR": 1 / last,
            "PLC": count / last,
            "SS": by_session["good"].any().astype(float),
            "QCTR": count,
        }
    )
    return found.reindex(sessions["session_id"]).fillna(0).set_index(sessions.index)


def editorial_metrics(grades: list[int], pool: list[int]) -> pd.Series:
    """Compute the editorial metrics of one list; `pool` has all grades of the query."""
    ideal = dcg(sorted(pool, reverse=True)[: len(grades)])
    values = {
        "DCG": dcg(grades),
        "NDCG": dcg(grades) / ideal if ideal else 0.0,
        "AP": average_precision(grades, pool, RELEVANT),
        "RR": reciprocal_rank(grades, RELEVANT),
        "ERR": expected_reciprocal_rank(grades),
        "RBP": (1 - PERSISTENCE) * sum(gain(grade) * PERSISTENCE**i for i, grade in enumerate(grades)),
        "AP(rel=2)": average_precision(grades, pool, RELEVANT - 1),
        "RR(rel=2)": reciprocal_rank(grades, RELEVANT - 1),
        "MeanGrade": float(np.mean(grades)),
        "MeanGrade@1": float(grades[0]),
        "P@1": float(grades[0] >= RELEVANT),
    }
    return pd.Series(values)


def gain(grade: int) -> float:
    """R(g) = (2^g - 1) / 2^g_max."""
    return float((2**grade - 1) / 2**MAX_GRADE)


def dcg(grades: list[int]) -> float:
    """DCG = sum of (2^gi - 1) / log2(i + 1)."""
    return float(sum((2**grade - 1) / np.log2(i + 1) for i, grade in enumerate(grades, start=1)))


def reciprocal_rank(grades: list[int], relevant: int) -> float:
    """RR = 1 / (rank of the first relevant)."""
    return next((1 / i for i, grade in enumerate(grades, start=1) if grade >= relevant), 0.0)


def average_precision(grades: list[int], pool: list[int], relevant: int) -> float:
    """AP = (sum of the precision at each relevant rank) / R."""
    ranks = [i for i, grade in enumerate(grades, start=1) if grade >= relevant]
    total = sum(grade >= relevant for grade in pool)
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / total if total else 0.0


def expected_reciprocal_rank(grades: list[int]) -> float:
    """ERR = sum of (1/r) R(gr) prod_{i<r} (1 - R(gi))."""
    value, goes_on = 0.0, 1.0
    for rank, grade in enumerate(grades, start=1):
        value += goes_on * gain(grade) / rank
        goes_on *= 1 - gain(grade)
    return value


# ---- metrics to correlations -------------------------------------------------------------------


def measured_tables(
    part: pd.DataFrame, all_sessions: int, navigational: dict[str, bool], rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """Return the tables of one market and depth."""
    found = [
        class_correlations(part[labels == label], rng, split, label)
        for split, labels in query_classes(part, navigational).items()
        for label in labels.unique()
    ]
    _, overall, draws = found[0]
    return {
        "statistics": statistics(part, all_sessions),
        "correlations": pd.concat([table for table, _, _ in found]),
        "differences": differences(part, rng),
        "comparisons": comparisons(overall, draws),
    }


def statistics(configurations: pd.DataFrame, all_sessions: int) -> pd.DataFrame:
    """Count queries, configurations and sessions."""
    sessions = configurations["n_sessions"].sum()
    row = {
        "n_queries": configurations["query"].nunique(),
        "n_configurations": len(configurations),
        "n_sessions": sessions,
        "n_all_sessions": all_sessions,
        "coverage": sessions / all_sessions,
    }
    return pd.DataFrame([row])


def query_classes(configurations: pd.DataFrame, navigational: dict[str, bool]) -> dict[str, pd.Series]:
    """Label every configuration with the class of its query, in each split; the first is the whole."""
    query = configurations["query"]
    words = query.str.split().str.len()
    sessions = configurations.groupby("query")["n_sessions"].sum().sort_values(kind="stable")
    tenth = pd.Series(1 + 10 * np.arange(len(sessions)) // len(sessions), sessions.index)
    sought = query.map(navigational).map({True: "true", False: "false"}).fillna("unknown")
    return {
        "all": pd.Series("all", query.index),
        "length": words.astype(str).where(words < 4, "4+"),
        "frequency": query.map(tenth).astype(str),
        "navigational": sought,
    }


def class_correlations(
    configurations: pd.DataFrame, rng: np.random.Generator, split: str, label: str
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Weighted Pearson correlation of every pair, with the 95% interval of a bootstrap over queries."""
    values, weights = configurations[METRICS].to_numpy(), configurations["n_sessions"].to_numpy()
    query, queries = pd.factorize(configurations["query"])
    found = weighted_correlation(values, weights)
    draws = np.array(
        [
            weighted_correlation(values, weights * times_drawn(len(queries), rng)[query])
            for _ in range(RESAMPLES)
        ]
    )
    table = pairs(correlation=found, **interval(draws)).assign(
        n_queries=len(queries), n_configurations=len(configurations), n_sessions=weights.sum()
    )
    return table.assign(**{"split": split, "class": label}), found, draws


def weighted_correlation(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Correlations of the click metrics (rows) with the editorial metrics (columns)."""
    return of_covariance(np.cov(values, rowvar=False, aweights=weights))


def of_covariance(covariance: np.ndarray) -> np.ndarray:
    """Turn the covariances of all metrics into correlations, clicks by editorial."""
    with np.errstate(invalid="ignore", divide="ignore"):  # nan where a metric does not vary
        spread = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(spread, spread)
    return correlation[: len(CLICK_METRICS), len(CLICK_METRICS) :]


def comparisons(found: np.ndarray, draws: np.ndarray) -> pd.DataFrame:
    """Compare every two editorial metrics by their correlation with each click metric."""
    rows = []
    metric_pairs = list(combinations(range(len(EDITORIAL_METRICS)), 2))
    compared = [click for click, name in enumerate(CLICK_METRICS) if name != "SS"]  # it depends on the grades
    for click, (a, b) in product(compared, metric_pairs):
        drawn = draws[:, click, a] - draws[:, click, b]
        fewer = min((drawn <= 0).sum(), (drawn >= 0).sum())
        rows.append(
            {
                "click_metric": CLICK_METRICS[click],
                "metric_a": EDITORIAL_METRICS[a],
                "metric_b": EDITORIAL_METRICS[b],
                "difference": found[click, a] - found[click, b],
                **interval(drawn),
                "p_value": min(1, 2 * (1 + fewer) / (RESAMPLES + 1)),
            }
        )
    return pd.DataFrame(rows)


def differences(configurations: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Algorithm 3 and its closed form, the pooled correlation within queries with its interval."""
    sizes = configurations.groupby("query")["query"].transform("size")
    several = configurations[sizes >= 2].sort_values("query")
    by_query = several.groupby("query")
    query, sizes = by_query.ngroup().to_numpy(), by_query.size().to_numpy()
    centred = (several[METRICS] - by_query[METRICS].transform("mean")).to_numpy()
    within = centred / np.sqrt(sizes - 1)[query, None]

    def resample() -> np.ndarray:
        drawn = times_drawn(len(sizes), rng)[query]
        return of_covariance((within * drawn[:, None]).T @ within)

    covariance = within.T @ within
    exact = of_covariance(covariance)
    monte_carlo = algorithm_3(several[METRICS].to_numpy(), sizes, rng)
    clicks = range(len(CLICK_METRICS))
    covariance[clicks, clicks] -= sampling_noise(configurations, several)
    return pairs(
        monte_carlo=monte_carlo,
        monte_carlo_se=(1 - monte_carlo**2) / np.sqrt(ITERATIONS),
        exact=exact,
        noise_corrected=of_covariance(covariance),
        sign_agreement=0.5 + np.arcsin(exact) / np.pi,
        **interval(np.array([resample() for _ in range(RESAMPLES)])),
    ).assign(n_queries=len(sizes), n_configurations=len(several))


def sampling_noise(configurations: pd.DataFrame, several: pd.DataFrame) -> np.ndarray:
    """Variance that sampling sessions adds: s^2 / n, averaged over a query's configurations, summed.

    A configuration with one session has no s^2 and takes the mean of those with the fewest sessions.
    """
    repeated = configurations[configurations["n_sessions"] >= 2]
    limit = repeated["n_sessions"].nsmallest(FEW_SESSIONS).max()
    pooled = repeated.loc[repeated["n_sessions"] <= limit, VARIANCES].mean()
    shares = several[VARIANCES].fillna(pooled).div(several["n_sessions"], axis=0)
    return shares.groupby(several["query"]).mean().sum().to_numpy()


def algorithm_3(values: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw two virtual rankers again and again, correlate the differences of their means."""
    starts = np.cumsum(sizes) - sizes
    deltas = np.empty((ITERATIONS, values.shape[1]))
    for iteration in range(ITERATIONS):
        a = rng.integers(sizes)
        b = rng.integers(sizes - 1)
        b += b >= a  # another configuration than that of A
        deltas[iteration] = (values[starts + a] - values[starts + b]).mean(axis=0)
    clicks, editorial = np.split(deltas.T, [len(CLICK_METRICS)])
    return np.array([[stats.pearsonr(y, x).statistic for x in editorial] for y in clicks])


def times_drawn(queries: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `queries` queries with replacement; return how often each was drawn."""
    return np.bincount(rng.integers(queries, size=queries), minlength=queries)


def interval(resamples: np.ndarray) -> dict[str, np.ndarray]:
    """Return the ends of the 95% percentile interval."""
    low, high = np.nanpercentile(resamples, [2.5, 97.5], axis=0)
    return {"ci_low": low, "ci_high": high}


def pairs(**columns: np.ndarray) -> pd.DataFrame:
    """One row per click metric and editorial metric."""
    index = pd.MultiIndex.from_product(
        [CLICK_METRICS, EDITORIAL_METRICS], names=["click_metric", "editorial_metric"]
    )
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index).reset_index()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
