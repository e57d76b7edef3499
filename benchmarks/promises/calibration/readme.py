"""The page of results, written from the tables of all questions that there are."""

from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template
from typing import Any

import polars as pl

from benchmarks.promises.calibration.coverage import STATISTICS

Row = dict[str, Any]
Cell = Callable[[Row], str]

PAGE = Path(__file__).with_name("page.md.template")
NOT_MADE = "Not made yet.\n"


def write_readme(folder: Path) -> None:
    """Write README.md of the tables in `folder`."""
    files = {name: folder / f"{name}.csv" for name in QUESTIONS}
    tables = {name: pl.read_csv(file) for name, file in files.items() if file.exists()}
    lines = ["| promise | found |", "|---|---|", *(VERDICTS[name](table) for name, table in tables.items())]
    texts = dict.fromkeys(QUESTIONS, NOT_MADE) | {name: TABLES[name](table) for name, table in tables.items()}
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(texts, verdicts="\n".join(lines))
    (folder / "README.md").write_text(page.rstrip("\n") + "\n", encoding="utf-8")


# ---- verdicts ----------------------------------------------------------------------------------


def _trusted(table: pl.DataFrame) -> pl.DataFrame:
    """Return the worlds that promises are about: 500 queries or more, weights as in real logs."""
    return table.filter(pl.col("queries") >= 500, pl.col("weights").str.starts_with("lognormal"))


def _coverage_verdict(table: pl.DataFrame) -> str:
    held = _trusted(table)["coverage"]
    below, above = (held < 0.93).sum(), (held > 0.97).sum()
    return (
        "| 95% CIs cover the true value 93-97% of the time at 500 and 5000 queries "
        f"| {_span(held)}%; of {len(held)} kinds of worlds and statistics, below 93: {below}, "
        f"above 97 (wider than need be): {above} |"
    )


def _methods_verdict(table: pl.DataFrame) -> str:
    means = _trusted(table).group_by("method", maintain_order=True).agg(pl.col("coverage").mean())
    found = "; ".join(f"{name} {percent(mean)}" for name, mean in means.iter_rows())
    return f"| they are as reliable as the best bootstrap | mean coverage: {found}% |"


def _alarms_verdict(table: pl.DataFrame) -> str:
    rows = _trusted(table)
    return (
        "| equally good metrics differ significantly 4-6% of the time at 5%, any of ten in at most 5% "
        f"| {_span(rows['alarms'])}%; {_span(rows['family'])}% |"
    )


def _recovery_verdict(table: pl.DataFrame) -> str:
    planted, null = table.filter(pl.col("world") != "null"), table.filter(world="null")
    claims, right = ((planted[name] * planted["runs"]).sum() for name in ("claims", "right"))
    return (
        "| at least 95% of the runs that claim a best metric name the planted one, at most 5% another "
        f"| {right:.0f} of {claims:.0f} claims in {planted['runs'].sum():,} runs; a wrong one in "
        f"{_span(planted['wrong'])}% of the runs of a world; in the null world {_span(null['wrong'])}% |"
    )


def _judges_verdict(table: pl.DataFrame) -> str:
    equal, unequal = (
        table.filter(pl.col("judges").str.starts_with("equal") == kind) for kind in (True, False)
    )
    return (
        "| clicks support one of two judges who err equally often about 5% of the time, and of two others "
        f"the one who errs less | {_span(equal['decided'])}%; {_span(unequal['first'])}% where they err in "
        "8% and 25% of their grades |"
    )


def _users_verdict(table: pl.DataFrame) -> str:
    found = "; ".join(
        f"{name}, {folds} folds: {_span(table.filter(numbers=name, folds=folds)['alarms'])}%"
        for name in ("means of click metrics", "weighted correlations")
        for folds in (2, 16)
    )
    return f"| between halves of the users, `diff` has p < 0.05 about 5% of the time, with habits | {found} |"


def _rankers_verdict(table: pl.DataFrame) -> str:
    return (
        "| 95% of the runs of Algorithm 3 lie within 1.96 stated errors of the closed form "
        f"| {_span(table['within'])}% on {table.height} samples |"
    )


def _cost_verdict(table: pl.DataFrame) -> str:
    return f"| both depths of the paper's size cost 5 CPU seconds | {table['cpu_seconds'].sum():.1f} s |"


def _tails_verdict(table: pl.DataFrame) -> str:
    without = table.filter(pl.col("labelled") < 0.5)["coverage_unlabelled"]
    marked = table.filter(pl.col("labelled") >= 0.5)["coverage_labelled"]
    return (
        "| where heavy tails make intervals too short they have a caution; others cover 93-97% "
        f"| {_span(without)}% where most have none, {_span(marked)}% of those with a caution elsewhere |"
    )


def _power_verdict(table: pl.DataFrame) -> str:
    return (
        "| the range that `power` gives for a log 2, 4 or 16 times as long holds what the same queries need "
        f"there in 95% of cases | in {percent(table['in_range_same'].mean())}% on average, by kind of log "
        f"{_span(table['in_range_same'])}%; what other queries need in {_span(table['in_range_others'])}% |"
    )


def _learn_verdict(table: pl.DataFrame) -> str:
    null = table.filter(world="clicks ignore grades")
    return (
        "| `learn` finds a gain on held-out queries in at most 2.5% of logs whose clicks ignore grades "
        f"| in {_span(null['gain_claimed'])}%; gains of {_signed(null['gain'].min())} to "
        f"{_signed(null['gain'].max())} on average |"
    )


VERDICTS: dict[str, Callable[[pl.DataFrame], str]] = {
    "coverage": _coverage_verdict,
    "tails": _tails_verdict,
    "methods": _methods_verdict,
    "alarms": _alarms_verdict,
    "recovery": _recovery_verdict,
    "judges": _judges_verdict,
    "users": _users_verdict,
    "power": _power_verdict,
    "learn": _learn_verdict,
    "rankers": _rankers_verdict,
    "cost": _cost_verdict,
}


def _span(shares: pl.Series) -> str:
    """Write the lowest and the highest share."""
    ordered = [percent(share) for share in sorted(shares)]
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]}-{ordered[-1]}"


# ---- tables ------------------------------------------------------------------------------------


def percent(share: float | None) -> str:
    """Write a share in percent with one decimal; a dash for none."""
    return "-" if share is None else f"{100 * share:.1f}"


def markdown(rows: Sequence[Row], columns: dict[str, Cell]) -> str:
    """Return a Markdown table, one row per row of the frame."""
    lines = [" | ".join(columns), "|".join("---" for _ in columns)]
    lines += [" | ".join(cell(row) for cell in columns.values()) for row in rows]
    return "".join(f"| {line} |\n" if "---" not in line else f"|{line}|\n" for line in lines)


def _text(name: str) -> Cell:
    return lambda row: str(row[name])


def _count(name: str) -> Cell:
    return lambda row: f"{row[name]:,}"


def _share(name: str) -> Cell:
    return lambda row: percent(row[name])


def _with_error(name: str, error: str) -> Cell:
    return lambda row: f"{percent(row[name])} ± {percent(row[error])}"


def _number(name: str, digits: int) -> Cell:
    return lambda row: f"{row[name]:.{digits}f}"


WORLD: dict[str, Cell] = {
    "weights": _text("weights"),
    "configurations": _text("configurations"),
    "queries": _text("queries"),
}


def _marked(row: Row) -> str:
    text = f"{percent(row['coverage'])} ± {percent(row['coverage_se'])}"
    inside = row["coverage"] is not None and 0.93 <= row["coverage"] <= 0.97
    return text if inside else f"**{text}**"


def _coverage_tables(table: pl.DataFrame) -> str:
    columns = WORLD | {
        "worlds": _count("worlds"),
        "truth": _number("truth", 3),
        "coverage": _marked,
        "too high": _share("too_high"),
        "too low": _share("too_low"),
        "mean width": _number("mean_width", 3),
        "labelled": _share("labelled"),
        "unlabelled": _share("coverage_unlabelled"),
    }
    return "\n".join(
        f"### {name[0].upper()}{name[1:]}\n\n{markdown(table.filter(statistic=name).to_dicts(), columns)}"
        for name in STATISTICS
    )


def _tails_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "statistic": _text("statistic"),
        "weights": _text("weights"),
        "queries": _text("queries"),
        "worlds": _count("worlds"),
        "coverage": _with_error("coverage", "coverage_se"),
        "with a caution": _share("labelled"),
        "coverage of these": _share("coverage_labelled"),
        "coverage of the others": _share("coverage_unlabelled"),
    }
    return markdown(table.sort("statistic", maintain_order=True).to_dicts(), columns)


def _methods_table(table: pl.DataFrame) -> str:
    methods = list(dict.fromkeys(table["method"]))
    rows = _trusted(table).group_by("statistic", "method", maintain_order=True).agg(
        mean=pl.col("coverage").mean(), least=pl.col("coverage").min(), width=pl.col("median_width").mean()
    )  # fmt: skip
    found = {(row["statistic"], row["method"]): row for row in rows.iter_rows(named=True)}
    lines = [{"statistic": name} for name in dict.fromkeys(rows["statistic"])]

    def cell(method: str) -> Cell:
        def write(row: Row) -> str:
            of = found[row["statistic"], method]
            return f"{percent(of['mean'])} ({percent(of['least'])})"

        return write

    return markdown(lines, {"statistic": _text("statistic"), **{method: cell(method) for method in methods}})


def _alarms_table(table: pl.DataFrame) -> str:
    columns = WORLD | {
        "worlds": _count("worlds"),
        "one pair": _with_error("alarms", "alarms_se"),
        "labelled": _share("labelled"),
        "one pair, unlabelled": _share("alarms_unlabelled"),
        "family": _with_error("family", "family_se"),
        "family, unadjusted": _share("family_unadjusted"),
    }
    return markdown(table.to_dicts(), columns)


def _recovery_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "world": _text("world"),
        "searches": _count("searches"),
        "queries": _count("queries"),
        "click metric": _text("click_metric"),
        "planted": lambda row: row["planted"] or "-",
        "runs": _count("runs"),
        "planted correlates best": _share("first"),
        "claims": _share("claims"),
        "claims right": _share("right_of_claims"),
        "wrong": _share("wrong"),
    }
    return markdown(table.to_dicts(), columns)


def _judges_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "world": _text("world"),
        "judges": _text("judges"),
        "trials": _count("trials"),
        "pairs": _number("pairs", 0),
        "clicks support one": _with_error("decided", "decided_se"),
        "the first": _share("first"),
    }
    return markdown(table.to_dicts(), columns)


def _users_table(table: pl.DataFrame) -> str:
    found = {(row["searches"], row["numbers"], row["folds"]): row["alarms"] for row in table.to_dicts()}
    rows = table.unique(["searches", "numbers"], keep="first", maintain_order=True).to_dicts()
    heads = {1: "users not looked at", 2: "2 folds", 16: "16 folds"}

    def cell(folds: int) -> Cell:
        return lambda row: percent(found[row["searches"], row["numbers"], folds])

    columns: dict[str, Cell] = {
        "searches per user": _text("searches"),
        "numbers": _text("numbers"),
        "logs": _count("logs"),
        **{head: cell(folds) for folds, head in heads.items()},
    }
    return markdown(rows, columns)


def _power_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "world": _text("world"),
        "queries": _count("queries"),
        "times as long": _text("factor"),
        "sessions a query": _number("sessions_per_query", 0),
        "logs": _count("logs"),
        "due to sessions": _share("noise"),
        "needed, promised": _share("needed_promised"),
        "found": _share("needed_found"),
        "growth promised": _number("growth_promised", 2),
        "growth found": _number("growth_found", 2),
        "in the range": _share("in_range_same"),
        "at most": _share("at_most_same"),
        "other queries": _share("in_range_others"),
    }
    return markdown(table.to_dicts(), columns)


def _learn_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "world": _text("world"),
        "queries": _text("queries"),
        "objective": _text("objective"),
        "positions": _text("positions"),
        "logs": _count("logs"),
        "apparent gain": lambda row: _signed(row["apparent"]),
        "gain": lambda row: f"{_signed(row['gain'])} ± {row['gain_se']:.3f}",
        "the log tells": _share("tells"),
        "a gain": _share("gain_claimed"),
        "a loss": _share("loss_claimed"),
    }
    return markdown(table.to_dicts(), columns)


def _signed(number: float) -> str:
    """Write a number with its sign and three decimals."""
    return f"{round(number, 3) + 0.0:+.3f}".replace("-", "\N{MINUS SIGN}")


def _rankers_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "configurations": _text("configurations"),
        "queries": _text("n_queries"),
        "runs": _count("runs"),
        "closed form": _number("exact", 4),
        "mean of the runs less it": _number("bias", 4),
        "spread of the runs": _number("spread", 4),
        "stated error": _number("error", 4),
        "within": _with_error("within", "within_se"),
    }
    return markdown(table.to_dicts(), columns)


def _cost_table(table: pl.DataFrame) -> str:
    columns: dict[str, Cell] = {
        "depth": _text("depth"),
        "table": _text("table"),
        "rows": _count("rows"),
        "CPU s": _number("cpu_seconds", 2),
    }
    return markdown(table.to_dicts(), columns)


TABLES: dict[str, Callable[[pl.DataFrame], str]] = {
    "coverage": _coverage_tables,
    "tails": _tails_table,
    "methods": _methods_table,
    "alarms": _alarms_table,
    "recovery": _recovery_table,
    "judges": _judges_table,
    "users": _users_table,
    "power": _power_table,
    "learn": _learn_table,
    "rankers": _rankers_table,
    "cost": _cost_table,
}

QUESTIONS = tuple(TABLES)
"""What the command can be asked for, in the order of the page."""
