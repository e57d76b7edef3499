"""The package and the plain-Python oracle, which share no code, agree on hundreds of messy logs.

Ids, masks, counts and grades are compared exactly, numbers to 1e-9; where the oracle has no value
the package must have none, and a reason for it.
"""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.clicks import CASCADE_EFFECTS
from clickassay.core.contracts.correlation import COMPARISONS, CORRELATIONS, DIFFERENCES, DRAWS, WITHIN
from clickassay.core.contracts.patterns import SHOWN
from clickassay.core.contracts.run import CONFIGURATIONS
from clickassay.core.settings import load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.patterns.table import FOLDER_TABLES
from support.logs.messy import write_log
from support.oracle.messy_logs import seeded_log
from support.oracle.oracle_run import oracle

LOGS, CHUNK = 320, 5
NO_MODELS = ("NONE",)
TOLERANCE = 1e-9
MOST_CHOICES = 2000
SAMPLE = ("market", "depth", "judge")


EACH_TIME = range(0, LOGS, 16 * CHUNK)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=() if first in EACH_TIME else pytest.mark.thorough)
        for first in range(0, LOGS, CHUNK)
    ],
)
def test_the_package_and_the_oracle_agree_on_messy_logs(first, tmp_path):
    for seed in range(first, first + CHUNK):
        try:
            difference = next(differences_of(seed, tmp_path / str(seed)), None)
        except Exception as error:
            error.add_note(f"seed {seed}: oracle.messy_logs.seeded_log({seed})")
            raise
        assert difference is None, f"seed {seed}: first difference: {difference}"


def differences_of(seed, folder):
    """Yield every difference of the package from the oracle on the log of a seed."""
    searches, clicks, judgments, queries, settings = seeded_log(seed)
    settings = settings | {"periods": ("day", "week", "day", "none")[seed % 4]}
    expected = oracle(searches, clicks, judgments, queries, settings)
    paths = write_log(folder, seed, searches=searches, clicks=clicks, judgments=judgments, queries=queries)
    options = load_settings(**settings, click_models=NO_MODELS)
    table = log_to_patterns(Sources(paths["searches"], paths["clicks"]), options)
    run = analyse(table, Sources(judgments=paths["judgments"], queries=paths.get("queries")), options)
    yield from pattern_table_differences(expected, table)
    yield from funnel_differences(expected, table, run)
    yield from statistics_differences(expected["statistics"], run["statistics"])
    yield from configuration_differences(expected["judged"], run["configurations"])
    yield from correlation_differences(expected, run["correlations"])
    yield from ranker_differences(expected["differences"], run["differences"], options.iterations)
    yield from draw_differences(expected["judged"], run, options.iterations)
    yield from within_differences(expected, run["within"])
    for name in ("comparisons", "difference_comparisons", "within_comparisons"):
        yield from comparison_differences(expected[name], run[name])
    yield from cascade_effect_differences(expected["cascade_effects"], run["cascade_effects"])
    yield from run_pattern_differences(run)
    yield from shown_differences("run", expected["run_shown"], run["shown"])
    judged = run["queries"].join(run["configurations"], on=["market", "query"], how="semi")
    yield from run_query_differences(expected, judged)


def keyed(frame, key, values):
    """Return the rows of a frame as a dict from key tuple to a dict of values."""
    found = {}
    for row in frame.iter_rows(named=True):
        name = tuple(row[column] for column in key)
        assert name not in found, f"{name} occurs twice"
        found[name] = {column: row[column] for column in values}
    return found


def compare(what, expected, found, columns=None):
    """Yield the differences of two dicts from key to dict of values, which must be all of the columns."""
    for name in sorted(expected.keys() | found.keys(), key=repr):
        if name not in found:
            yield f"{what} {name}: missing, expected {expected[name]}"
        elif name not in expected:
            yield f"{what} {name}: not expected, found {found[name]}"
        else:
            for column in expected[name] if columns is None else columns:
                value = expected[name][column]
                if not same(value, found[name][column]):
                    yield f"{what} {name}: {column} is {found[name][column]!r}, expected {value!r}"


def compare_table(what, expected, frame, contract):
    """Yield the differences of a table from dicts of all its values, by its key."""
    values = values_of(contract)
    yield from compare(what, expected, keyed(frame, contract.key, values), values)


def same(expected, found):
    """Tell whether two values are equal, floats to the tolerance; None equals only None."""
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(expected, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(expected) is type(found) and expected == found


def pattern_table_differences(expected, table):
    wanted = {
        "configurations": {
            (name,): {"market": market, "query": query, "results": list(results)}
            for name, (market, query, results) in expected["configurations"].items()
        },
        "patterns": {name: {"sessions": sessions} for name, sessions in expected["patterns"].items()},
        "queries": {name: {"user_buckets": buckets} for name, buckets in expected["queries"].items()},
    }
    for name, rows in wanted.items():
        yield from compare_table(name, rows, getattr(table, name), FOLDER_TABLES[name])
    yield from shown_differences(
        "log", expected["shown"], SHOWN.empty() if table.shown is None else table.shown
    )


def shown_differences(of, expected, frame):
    """Compare the days of the lists of a log or a run."""
    wanted = {name: {"sessions": sessions} for name, sessions in expected.items()}
    yield from compare_table(f"days of the {of}", wanted, frame, SHOWN)


def run_pattern_differences(run):
    """Compare the patterns of judged configurations, cut to each depth, with the sessions of these."""
    judged = run["configurations"].select("configuration_id", "depth", "n_sessions").unique()
    wanted = {(name,): {"sessions": sessions} for name, _, sessions in judged.iter_rows()}
    sums = run["patterns"].group_by("configuration_id").agg(pl.col("sessions").sum())
    found = keyed(sums, ("configuration_id",), ("sessions",))
    yield from compare("sessions of the run's patterns", wanted, found)
    masks = run["patterns"].join(judged, on="configuration_id")
    beyond = masks.filter(pl.col("click_mask") >= pl.lit(2, pl.Int64).pow(pl.col("depth")))
    if beyond.height:
        yield f"patterns have clicks below their depth: {beyond.row(0)}"


def run_query_differences(expected, frame):
    """Compare the users of the queries that have a judged configuration."""
    judged = {(name[0], row["query"]) for name, row in expected["judged"].items()}
    wanted = {name: {"users_at_least": expected["queries"][name].bit_count()} for name in judged}
    yield from compare("query of the run", wanted, keyed(frame, ("market", "query"), ("users_at_least",)))


def funnel_differences(expected, table, run):
    """Compare what the funnel of the run counts, and its part about the log with the pattern table."""
    wanted = {name: {"rows": rows} for name, rows in expected["funnel"].items()}
    counted = run["funnel"].filter(pl.col("rows") != 0)
    yield from compare_table("funnel of the run", wanted, counted, FOLDER_TABLES["funnel"])
    of_log = {
        name: rows
        for name, rows in wanted.items()
        if name[0] in ("searches", "lists", "clicks", "positions") or (name[0] == "sessions" and name[2] == 0)
    }
    depths = [0, *run["funnel"]["depth"].unique()]  # the stored table counts clicks at every depth
    of_table = table.funnel.filter(pl.col("depth").is_in(depths), pl.col("rows") != 0)
    yield from compare_table("funnel of the log", of_log, of_table, FOLDER_TABLES["funnel"])


def statistics_differences(expected, frame):
    """Compare the statistics; samples without a judged configuration may be absent."""
    columns = ("n_queries", "n_configurations", "n_sessions", "n_all_sessions", "coverage")
    found = keyed(frame, SAMPLE, columns)
    wanted = {name: row for name, row in expected.items() if row["n_configurations"] or name in found}
    yield from compare("statistics", wanted, found)


def configuration_differences(expected, frame):
    """Compare the judged configurations with all their metrics, and the order of the metrics."""
    metrics = frame.columns[len(CONFIGURATIONS.columns) :]
    values = ("query", "results", "grades", "n_sessions")
    wanted = {
        name: {**row, "results": list(row["results"]), "grades": list(row["grades"])}
        for name, row in expected.items()
    }
    for row in wanted.values():
        if metrics != [name for name in row if name not in values]:
            yield f"metrics of the configurations are {metrics}, expected those of {list(row)}"
            return
    found = keyed(frame, (*SAMPLE, "configuration_id"), (*values, *metrics))
    yield from compare("judged configuration", wanted, found)


def nearly_tied(entropies):
    """Tell whether two entropies differ by no more than rounding does, so that their order is open."""
    ranked = sorted(entropies.values())
    return any(0 < high - low < TOLERANCE for low, high in itertools.pairwise(ranked))


def certain(rows, unsure):
    """Leave out the terciles of click entropy of samples where their order is open."""
    return {name: row for name, row in rows.items() if name[3] != "click_entropy" or name[:3] not in unsure}


def values_of(contract):
    """Return the columns of a contract that are not its key."""
    return [column.name for column in contract.columns if column.name not in contract.key]


def correlation_differences(expected, frame):
    """Compare the correlations of every split; terciles of click entropy where their order is certain."""
    unsure = {name for name, entropies in expected["entropies"].items() if nearly_tied(entropies)}
    frame = of_samples(frame, expected["correlations"], "correlation")
    found = keyed(frame, CORRELATIONS.key, values_of(CORRELATIONS))
    wanted, found = (certain(rows, unsure) for rows in (expected["correlations"], found))
    yield from compare("correlation", wanted, found, values_of(CORRELATIONS))


def within_differences(expected, frame):
    """Compare the correlations within queries of every market, and of all markets together."""
    unsure = {name for name, entropies in expected["entropies"].items() if nearly_tied(entropies)}
    unsure |= {("all", *name[1:]) for name in unsure}
    frame = of_samples(frame, expected["within"], "correlation")
    found = keyed(frame, WITHIN.key, values_of(WITHIN))
    wanted, found = (certain(rows, unsure) for rows in (expected["within"], found))
    wanted = {
        name: with_open_ceiling(steep(row, found.get(name), "correlation"), found.get(name))
        for name, row in wanted.items()
    }
    yield from compare("within", wanted, found, values_of(WITHIN))


def ranker_differences(expected, frame, iterations):
    """Compare the closed form of Algorithm 3 and what follows from it, and what follows from its draws."""
    frame = of_samples(frame, expected, "exact")
    found = keyed(frame, DIFFERENCES.key, values_of(DIFFERENCES))
    wanted = {
        name: steep(row | drawn(row, found[name], iterations), found[name])
        for name, row in expected.items()
        if name in found
    }
    yield from compare("difference", expected | wanted, found, values_of(DIFFERENCES))


def drawn(row, found, iterations):
    """Return what must go with the correlation of the draws, which is there when the closed form is."""
    value = found["monte_carlo"]
    if value is None or row["exact"] is None:
        why = row["reason"] or "every draw of the two rankers gave the same difference"
        return {"monte_carlo": None, "monte_carlo_se": None, "reason": why}
    return {"monte_carlo": value, "monte_carlo_se": (1 - value**2) / math.sqrt(iterations)}


def draw_differences(judged, run, iterations):
    """Compare the draws of the rankers with all that can be drawn, and their correlations with the table."""
    frame = run["draws"]
    metrics = frame.columns[len(DRAWS.columns) :]
    if metrics != run["configurations"].columns[len(CONFIGURATIONS.columns) :]:
        yield f"metrics of the draws are {metrics}"
    drawn = {name: rows.sort("iteration") for name, rows in frame.partition_by(SAMPLE, as_dict=True).items()}
    for name in sorted({key[:3] for key in judged} | drawn.keys()):
        groups = groups_of([row for key, row in judged.items() if key[:3] == name], metrics)
        numbers = drawn[name]["iteration"].to_list() if name in drawn else []
        if numbers != (list(range(1, iterations + 1)) if groups else []):
            yield f"iterations of {name} are {numbers}, {len(groups)} queries take part"
        elif groups:
            yield from impossible_draws(name, groups, drawn[name].select(metrics).to_numpy())
            yield from drawn_correlation_differences(name, drawn[name], run["differences"])


def groups_of(rows, metrics):
    """Return the (configurations, metrics) values of each query that has two configurations or more."""
    by_query = {}
    for row in rows:
        by_query.setdefault(row["query"], []).append([row[name] for name in metrics])
    return [np.array(values) for values in by_query.values() if len(values) > 1]


def impossible_draws(name, groups, draws):
    """Yield a draw that no choice of two configurations of each query makes, all metrics together."""
    pairs = [[a - b for a, b in itertools.permutations(group, 2)] for group in groups]
    if math.prod(map(len, pairs)) > MOST_CHOICES:
        return
    possible = np.array([sum(choice) / len(groups) for choice in itertools.product(*pairs)])
    for draw in draws:
        if not np.isclose(possible, draw, rtol=0, atol=1e-9).all(axis=1).any():
            yield f"draw of {name}: {draw} is not the difference of any two rankers"


def drawn_correlation_differences(name, drawn, frame):
    """Compare the correlation of the draws of every two metrics with the table of differences."""
    for row in frame.filter(market=name[0], depth=name[1], judge=name[2]).iter_rows(named=True):
        if row["monte_carlo"] is not None:
            pair = drawn.select(row["click_metric"], row["editorial_metric"]).to_numpy()
            if not same(float(np.corrcoef(pair.T)[0, 1]), row["monte_carlo"]):
                yield f"draws of {name}: correlate {np.corrcoef(pair.T)[0, 1]}, expected {row['monte_carlo']}"


def cascade_effect_differences(expected, frame):
    """Compare the results whose clicks collapse under a better one."""
    yield from compare_table("collapse", expected, frame, CASCADE_EFFECTS)


def comparison_differences(expected, frame):
    """Compare the comparisons of offline metrics; queries needed are rounded up to whole numbers."""
    frame = of_samples(frame, expected, "difference")
    found = keyed(frame, COMPARISONS.key, values_of(COMPARISONS))
    wanted = {name: row | rounded_up(row, found.get(name)) for name, row in expected.items()}
    yield from compare("comparison", wanted, found, values_of(COMPARISONS))


def rounded_up(row, found):
    """Return the queries needed, 2 or more, as found if rounding could have made them so."""
    exact = row["queries_needed"]
    if exact is None:
        return {}
    value = None if found is None else found["queries_needed"]
    # a difference is right to 1e-15 or so: a small one is less right than its last digit
    slack = 1e-9 + 1e-14 / abs(row["difference"])
    lowest, highest = (max(2.0, math.ceil(exact * (1 + part))) for part in (-slack, slack))
    near = value is not None and value == max(2.0, math.ceil(value)) and lowest <= value <= highest
    return {"queries_needed": value if near else max(2.0, math.ceil(exact))}


def of_samples(frame, expected, value):
    """Leave out rows of samples without a judged configuration if they hold no value: both are right."""
    samples = [{"market": name[0], "depth": name[1], "judge": name[2]} for name in expected]
    schema = {name: frame.schema[name] for name in SAMPLE}
    known = pl.DataFrame(samples, schema=schema).unique()
    empty = frame.join(known, on=SAMPLE, how="anti").filter(pl.col(value).is_null())
    return frame.join(empty, on=frame.columns, how="anti", nulls_equal=True)


def with_open_ceiling(row, found):
    """Take over whether there is a ceiling where a correlation is as high but for rounding."""
    if found is None or "open_ceiling" not in row:
        return row
    return row | {"ceiling": None if found["ceiling"] is None else row["open_ceiling"]}


def steep(row, found, value="exact"):
    """Forgive the sign agreement near a correlation of one, where its slope has no bound."""
    if found is None or row["sign_agreement"] is None or abs(row[value]) < 1 - TOLERANCE:
        return row
    near = found["sign_agreement"] is not None and abs(row["sign_agreement"] - found["sign_agreement"]) < 1e-4
    return row | ({"sign_agreement": found["sign_agreement"]} if near else {})
