"""Questions about runs: functions for Python, of which the commands are made (and `api.rankings`).

A parameter is explained once, where it stands: its option, its keyword and its place in the docstring follow.
What answers a question is imported when it is asked, so that `--help` is quick.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from clickassay.api.given import (
    HasRun,
    Names,
    Place,
    Table,
    Told,
    named_run,
    run_or_folder,
    several,
    source_of,
)
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.core.errors import SettingsError
from clickassay.core.help import Help

if TYPE_CHECKING:
    from clickassay.api.studies.audit import AuditResult
    from clickassay.api.studies.check import CheckResult
    from clickassay.api.studies.click_models import ClickModelsResult
    from clickassay.api.studies.diff import DiffResult
    from clickassay.api.studies.experiments import ExperimentsResult
    from clickassay.api.studies.learn import LearnResult
    from clickassay.api.studies.power import PowerOfTest, PowerResult

RunGiven = Annotated[
    HasRun | Place, Help("A run folder.", also="Or the result of `run`.", metavar="RUN", typed=Path)
]
ClickMetric = Annotated[str, Help("Click metric to predict.", metavar="NAME")]
Market = Annotated[str | None, Help("Market.", "the report's")]
Depth = Annotated[int | None, Help("Top K results.", "the report's", metavar="K")]
Judge = Annotated[str | None, Help("Judge.", "the report's")]
Column = Annotated[Names, Help("Names of columns, as ``past_tests.difference=clicks``.", is_option=False)]
Bar = Annotated[Told, Help("As `run` takes it.", is_option=False)]

_MOST_FOLDS = 1000
_REPEAT = "; repeat for several."


@for_python
def power(
    run: RunGiven,
    *,
    difference: Annotated[
        float | None,
        Help(
            "Difference of correlations to detect; of tests, a share of the mean.",
            "the run's; of tests, its effect margin",
            "From 0.0001 to 2.",
        ),
    ] = None,
    power: Annotated[float, Help("Power: the probability of detecting it, 0.5 to 0.999.")] = 0.8,
    alpha: Annotated[
        float, Help("Alpha: the accepted probability of a false alarm.", also="Above 0 and below 0.5.")
    ] = 0.05,
    comparisons: Annotated[
        int | None,
        Help(
            "Number of comparisons: each is tested at alpha / comparisons (Bonferroni).",
            "all metrics against the metric in use if it is in the pair, else all pairs; of tests 1",
            least=1,
        ),
    ] = None,
    market: Market = None,
    depth: Depth = None,
    judge: Judge = None,
    pair: Annotated[
        str | tuple[str, str] | None,
        Help("Two offline metrics with a comma.", "ERR,DCG", also="Or a pair of them.", typed=str),
    ] = None,
    click_metric: ClickMetric = "MeanRR",
    question: Annotated[
        Literal["rankings", "queries", "tests"] | None,
        Help(
            "rankings: correlations within queries, all markets combined unless --market names one; "
            "queries: over all queries; tests: users and judged queries of an A/B test that is planned.",
            "the question of the run's decision",
        ),
    ] = None,
    changed: Annotated[
        float, Help("Of tests: share of the queries whose ranking changes, above 0, at most 1.")
    ] = 1.0,
) -> "PowerResult | PowerOfTest":
    """Compute how many judged queries and sessions it takes to detect a difference; the run is the pilot.

    Raises
    ------
    SettingsError, ReportError
        If a number is out of range, or the run lacks a metric.

    Examples
    --------
    >>> found = ca.power(run, pair="ERR,DCG", difference=0.05)
    >>> found.required["queries"].to_list()[1] > 0
    True
    """
    from clickassay.api.studies.power import (
        PowerOfTest,
        PowerResult,
        analysed,
        analysed_for_test,
        check_test,
        pair_of,
    )
    from clickassay.core.records import SampleChoice

    if question == "tests":
        if pair is not None:
            raise SettingsError("--pair compares metrics; a test is planned for each metric of the run")
        check_test(power, alpha, comparisons)
        key, planned = analysed_for_test(
            run_or_folder(run), SampleChoice(market, depth, judge), click_metric=click_metric,
            change=difference, changed=changed, power=power, alpha=alpha / (comparisons or 1),
        )  # fmt: skip
        return PowerOfTest(key, planned, named_run(run))
    if changed != 1:
        raise SettingsError("--changed is for tests; add --question tests")
    key, analysis = analysed(
        run_or_folder(run), pair_of("ERR,DCG" if pair is None else pair), SampleChoice(market, depth, judge),
        click_metric=click_metric, difference=difference, power=power, alpha=alpha, comparisons=comparisons,
        question=question,
    )  # fmt: skip
    return PowerResult(key, analysis, named_run(run))


@for_python
def learn(
    run: RunGiven,
    *,
    objective: Annotated[
        Literal["correlation", "rankers"], Help("Weighted correlation, or two rankers (Algorithm 3).")
    ] = "correlation",
    utilities: Annotated[bool, Help("Learn the utility of each position as well.")] = False,
    gamma: Annotated[
        bool, Help("Learn gamma, the probability that users go on: utilities are its powers.")
    ] = False,
    cv_folds: Annotated[
        int, Help("Number of folds of queries for cross-validation.", metavar="N", least=2, most=_MOST_FOLDS)
    ] = 20,
    market: Market = None,
    depth: Depth = None,
    judge: Judge = None,
    seed: Annotated[int, Help("Seed of the folds.", is_option=False)] = 0,
    click_metric: ClickMetric = "MeanRR",
    progress: Bar = True,
) -> "LearnResult":
    """Learn the probability of satisfaction of each grade with which ERR predicts clicks best.

    Raises
    ------
    LearningError
        If there are too few queries, or clicks do not vary.
    ReportError, SettingsError
        If the folder is not a run, or an option has another value than those above.

    Examples
    --------
    >>> learned = ca.learn(run, progress=False)
    >>> learned.values.columns[:3]
    ['what', 'place', 'value']
    """
    from clickassay.api.studies.learn import LearnResult
    from clickassay.core.records import SampleChoice
    from clickassay.studies.gain_learning.on_run import learn_from_run, learned_tables
    from clickassay.studies.gain_learning.validation import LearnOptions

    if utilities and gamma:
        raise SettingsError("give --utilities or --gamma, not both")
    if not 2 <= cv_folds <= _MOST_FOLDS:
        raise SettingsError(f"--cv-folds {cv_folds}: expected 2 to {_MOST_FOLDS}")
    options = LearnOptions(
        click_metric, objective, "free" if utilities else "gamma" if gamma else "fixed", cv_folds, seed
    )
    place, choice = run_or_folder(run), SampleChoice(market, depth, judge)
    with progress_of(progress) as told:
        sample, study, fixed = learn_from_run(place, options, wanted=choice, progress=told)
    tables = learned_tables(sample, study, fixed, options)
    return LearnResult(sample, study, tables, options, named_run(run))


@for_python
def check(
    run: RunGiven,
    rules: Annotated[
        str | Sequence[str] | Path | None,
        Help(
            'One or several, as ``"coverage >= 0.8"`` and ``"not worse than reports/last"`` '
            "(docs/reference/check.md), or the path of a TOML file with ``rules = […]``.",
            '``health != "finding"`` and ``queries >= 50``',
            is_option=False,
        ),
    ] = None,
    *,
    strict: Annotated[
        bool, Help("Exit code 1 also if a rule is inconclusive.", also="Then `passed` is False.")
    ] = False,
    market: Market = None,
    depth: Depth = None,
    judge: Judge = None,
    past_tests: Annotated[
        Table,
        Help(
            "Past A/B tests, for rules on tests.",
            "those of the run's log",
            also="As `experiments` takes them.",
            is_option=False,
        ),
    ] = None,
    column: Column = (),
) -> "CheckResult":
    """Check a run against rules.

    A rule about a correlation, a difference or a mean is broken only if its whole 95% CI breaks it.
    Market, depth and judge apply to rules that do not name them.

    Raises
    ------
    SettingsError, ReportError
        If a rule cannot be parsed, or names something that the run lacks.

    Examples
    --------
    >>> found = ca.check(run, ["queries >= 50", 'health != "finding"'])
    >>> found.passed
    True
    """
    from clickassay.api.studies.check import CheckResult
    from clickassay.core.records import SampleChoice
    from clickassay.findings.run import run_at
    from clickassay.studies.runs_compared.gate.check import DEFAULT_RULES, check_run
    from clickassay.studies.runs_compared.gate.grammar import Limit, parse_rules, read_rules_file
    from clickassay.studies.runs_compared.gate.quantities import TESTS

    texts = read_rules_file(rules) if isinstance(rules, Path) else several(rules)
    if rules is None:
        texts = DEFAULT_RULES
    if not texts:
        raise SettingsError("rules is empty; give a rule, or omit rules for the default")
    parsed, place = parse_rules(tuple(texts)), run_or_folder(run)
    if any(isinstance(one, Limit) and one.quantity == TESTS for one in parsed):
        place = run_at(place)
        of_log = None if place.tables["experiments"].is_empty() else run
        given = of_log if past_tests is None else past_tests
        if given is not None:
            place = replace(place, past_tests=experiments(given, column=column).order)
    outcomes = check_run(place, parsed, SampleChoice(market, depth, judge))
    return CheckResult(outcomes, strict=strict, name=named_run(run))


@for_python
def diff(
    before: Annotated[HasRun | Place, Help("The earlier run, by its result or its folder.", is_option=False)],
    now: Annotated[HasRun | Place, Help("The later run, likewise.", is_option=False)],
    *,
    metric: Annotated[
        Names,
        Help(
            "Only this offline metric",
            also="or several.",
            again=_REPEAT,
            names=("--metric", "-m"),
            metavar="NAME",
        ),
    ] = (),
    click_metric: Annotated[
        Names, Help("Only this click metric", also="or several.", again=_REPEAT, metavar="NAME")
    ] = (),
    depth: Annotated[
        int | Sequence[int],
        Help("Only the top K results", also="or several depths.", again=_REPEAT, metavar="K"),
    ] = (),
    market: Annotated[
        Names, Help("Only this market", also="or several.", again=_REPEAT, metavar="NAME")
    ] = (),
    judge: Annotated[Names, Help("Only this judge", also="or several.", again=_REPEAT, metavar="NAME")] = (),
    splits: Annotated[bool, Help("Also compare classes of queries.")] = False,
    fail_above: Annotated[
        float | None,
        Help(
            "Exit code 1 if a correlation changed by more than this, or is missing from B.",
            also="`DiffResult.is_finding` says so; above 0, at most 2.",
        ),
    ] = None,
    beyond_noise: Annotated[bool, Help("With --fail-above: significant changes only.")] = False,
) -> "DiffResult":
    """Compare two runs, each by its result or its folder.

    Raises
    ------
    ReportError
        If a folder is not a run, or is broken.
    SettingsError
        If neither run has what is asked for.

    Examples
    --------
    >>> found = ca.diff("reports/june", run, metric="ERR")
    >>> found.numbers["editorial_metric"].drop_nulls().unique().to_list()
    ['ERR']
    """  # fmt: skip
    from clickassay.api.studies.diff import DiffResult
    from clickassay.studies.runs_compared.compare import compare_runs
    from clickassay.studies.runs_compared.numbers import DiffOptions, Watch, check_watch

    if fail_above is not None and not 0 < fail_above <= 2:
        raise SettingsError(f"--fail-above {fail_above}: expected a number above 0, at most 2, e.g. 0.05")
    if beyond_noise and fail_above is None:
        raise SettingsError("--beyond-noise requires --fail-above; add e.g. --fail-above 0.05")
    only = DiffOptions(
        several(metric), several(click_metric), several(depth), several(market), several(judge), splits
    )
    comparison = compare_runs(run_or_folder(before), run_or_folder(now), only)
    watch = None if fail_above is None else Watch(fail_above, beyond_noise)
    if watch is not None:
        check_watch(comparison.numbers, watch, only)
    return DiffResult(comparison, watch)


@for_python
def audit(
    run: RunGiven,
    judgments: Annotated[
        Table,
        Help(
            "The judgments of the run: some conventions need results outside every ranking.",
            also="As `run` takes them.",
        ),
    ] = None,
    *,
    market: Market = None,
    depth: Depth = None,
    judge: Judge = None,
    click_metric: ClickMetric = "MeanRR",
    value: Annotated[
        str | None,
        Help(
            "Show only conventions that give this value, rounded likewise.", also='For instance ``"0.46"``.'
        ),
    ] = None,
    progress: Bar = True,
) -> "AuditResult":
    """Explain why tools report different numbers for one metric, and whether a conclusion changes.

    Raises
    ------
    ReportError, InputError, SettingsError
        If the folder is not a run, the judgments differ from those of the run, or a name is unknown.

    Examples
    --------
    >>> audited = ca.audit(run, progress=False)
    >>> audited.conventions.height > 20
    True
    """
    from clickassay.api.studies.audit import AuditResult
    from clickassay.core.records import SampleChoice
    from clickassay.core.text.words import did_you_mean
    from clickassay.metrics.clicks import CLICK_METRICS
    from clickassay.studies.audit import audit_run

    if click_metric not in CLICK_METRICS:
        known = did_you_mean(click_metric, CLICK_METRICS)
        raise SettingsError(f"unknown click metric {click_metric!r}; {known}")
    place, judged, choice = run_or_folder(run), source_of(judgments), SampleChoice(market, depth, judge)
    with progress_of(progress) as told:
        audited = audit_run(place, judgments=judged, wanted=choice, progress=told)
    return AuditResult(audited, click_metric, value, named_run(run))


@for_python
def experiments(
    tests: Annotated[
        Table,
        Help(
            "Past A/B tests, a row each: columns experiment, difference (of what users did), its error, and "
            "the difference of each offline metric.",
            also="Path, SQL or frame, as `run` takes its tables; or a run whose log has A/B tests.",
            is_option=False,
        ),
    ],
    *more: Annotated[Table, Help("Further sheets and runs, which are joined.", is_option=False)],
    metric: Annotated[
        Names,
        Help(
            "Column of an offline metric",
            "all other columns of numbers",
            also="or several.",
            again=_REPEAT,
            names=("--metric", "-m"),
            metavar="NAME",
        ),
    ] = (),
    current: Annotated[str | None, Help("Metric in use.", "the first", is_option=False)] = None,
    margin: Annotated[
        float, Help("Points of pairs in order below which metrics count as equal.", metavar="POINTS")
    ] = 5.0,
    level: Annotated[float, Help("Confidence level of columns ci_low and ci_high.")] = 0.95,
    column: Column = (),
    progress: Bar = True,
) -> "ExperimentsResult":
    """Learn from past A/B tests whether an offline metric tells better changes from worse.

    All differences are treatment minus control. Tests of a run count if their data checks passed.

    Raises
    ------
    InputError, SettingsError
        If a column is missing, a value cannot be read, a test occurs twice, a name is unknown, or no test of
        a run counts.

    Examples
    --------
    >>> found = ca.experiments("past_tests.csv", current="NDCG")
    >>> found.answer
    'NDCG tells better tests from worse'
    """
    from clickassay.api.studies.experiments import ExperimentsResult, run_given, tests_in
    from clickassay.core.settings.project import pairs_of
    from clickassay.studies.experiments.sheet import joined_sheets, read_sheet
    from clickassay.studies.experiments.words import compared

    if not 0 <= margin <= 100:
        raise SettingsError(f"--margin {margin:g}: expected points of pairs in order, 0 to 100, e.g. 5")
    given = (tests, *more)
    if any(one is None for one in given):
        raise SettingsError("past tests are missing: give a file, SQL, a frame or a run")
    columns = pairs_of(column) if isinstance(column, Mapping) else several(column)
    sheets = []
    with progress_of(progress) as told:
        for one in given:
            if (run := run_given(one)) is not None:
                found = tests_in(run)
                sheets.append(found.sheet(several(metric)))
                current = current or (found.metric if found.metric in sheets[-1].tests.metrics else None)
            elif (source := source_of(one)) is not None:
                names = several(metric)
                sheets.append(read_sheet(source, metrics=names, level=level, column=columns, progress=told))
    return ExperimentsResult(compared(joined_sheets(sheets), current, margin / 100))


@for_python
def compare_click_models(
    source: Annotated[
        Place, Help("A run folder (judged rankings), a pattern table or a store.", metavar="RUN", typed=Path)
    ],
    *,
    hold_out: Annotated[
        Literal["lists", "sessions"] | None,
        Help("Hold out rankings of each query (lists), or sessions.", "lists, if the log has enough"),
    ] = None,
    held_out: Annotated[
        float,
        Help("Share held out: of a query's rankings; of users, or with fewer than three folds of sessions."),
    ] = 0.25,
    click_models: Annotated[
        Names, Help("Names with commas, e.g. PBM,DBN.", "all", also="Or several.", metavar="NAMES", typed=str)
    ] = (),
    click_metric: Annotated[str, Help("Click metric by which a model is chosen.", metavar="NAME")] = "MeanRR",
    market: Annotated[str | None, Help("Only this market.", "all")] = None,
    depth: Annotated[int | None, Help("Use the top k of the rankings.", "all", metavar="K")] = None,
    pseudo_count: Annotated[
        float, Help("Clicks, and skips, added to the counts of each parameter (smoothing).")
    ] = 1.0,
    seed: Annotated[int, Help("Seed of what is held out.", is_option=False)] = 0,
    progress: Bar = True,
) -> "ClickModelsResult":
    """Tell which click model a log supports, how well models predict clicks, and what users examine.

    Raises
    ------
    ClickModelError
        If nothing was clicked, or there is no such market or depth.
    PatternError, SettingsError
        If the folder is none of these, or a name or a number is not as said above.

    Examples
    --------
    >>> found = ca.compare_click_models("reports/june", hold_out="sessions", progress=False)
    >>> found.tables["click_models"].height
    10
    """
    from clickassay.api.studies.click_models import ClickModelsResult
    from clickassay.click_models.catalogue import check_pseudo_count
    from clickassay.click_models.catalogue import click_models as named
    from clickassay.core.contracts.columns import EVERY
    from clickassay.core.text.words import did_you_mean
    from clickassay.correlation.held_out import PREDICTED
    from clickassay.jobs.click_models import can_hold_out_lists, compare_models, read_clicks

    if not 0 < held_out < 1:
        raise SettingsError(f"--held-out {held_out}: expected a number between 0 and 1, e.g. 0.25")
    check_pseudo_count(pseudo_count)
    if click_metric not in PREDICTED:
        raise SettingsError(f"--click-metric {click_metric!r}: {did_you_mean(click_metric, PREDICTED)}")
    kinds = named(click_models.split(",") if isinstance(click_models, str) else click_models)
    with progress_of(progress) as told:
        read = read_clicks(Path(source), market=market, depth=depth)
        if hold_out is None:
            hold_out = "lists" if can_hold_out_lists(read) else "sessions"
        tried, tables = compare_models(
            read, kinds, pseudo_count=pseudo_count, held_out=held_out, seed=seed, market=market or EVERY,
            on_lists=click_metric if hold_out == "lists" else None, progress=told,
        )  # fmt: skip
    info = {"hold_out": hold_out, "held_out": held_out, "pseudo_count": pseudo_count, "seed": seed,
            "depth": read.depth, "market": market, "models": [kind.name for kind in kinds]}  # fmt: skip
    return ClickModelsResult(tried, tables, click_metric, info)
