# /// script
# [tool.marimo.display]
# theme = "light"
# ///
"""The page as a marimo app: widgets and layout only; its content comes from the modules of this folder.

A cell's last expression is what it draws. Cells are placed by their names, see page.css.
"""
# ruff: noqa: B018, D103 - a cell draws its last expression, and its name says what it is

import marimo

app = marimo.App(width="full", app_title="clickassay explore")

with app.setup:
    from collections.abc import Callable
    from typing import Any

    import marimo as mo

    from clickassay.core.errors import ClickassayError
    from clickassay.core.files.tables import as_csv, as_json
    from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
    from clickassay.core.text.escape import terminal
    from clickassay.metrics.clicks import CLICK_METRICS
    from clickassay.studies.explorer import charts, markup
    from clickassay.studies.explorer import panels as pieces
    from clickassay.studies.explorer import read as reading
    from clickassay.studies.explorer.classes import splits_of
    from clickassay.studies.questions import MOST_ROWS, questions

    Shown = Any  # what cells hand to each other: widgets, and what belongs to a choice
    TYPES = {"csv": "text/csv", "json": "application/json", "svg": "image/svg+xml", "png": "image/png"}


@app.function
def downloads(name: str, files: dict[str, tuple[str, Callable[[], bytes]]]) -> Shown:
    """Return a row of buttons, by the ending of the file: its label, and what makes the file."""
    buttons = [
        mo.download(make, filename=f"{name}.{ending}", mimetype=TYPES[ending], label=label)
        for ending, (label, make) in files.items()
    ]
    return mo.hstack(buttons, justify="start")


@app.cell
def opened() -> tuple[Shown, ...]:
    run = reading.run_of_request(mo.app_meta().request)
    return (run,)


@app.cell
def head(run: Shown) -> tuple[Shown, ...]:
    tabs = mo.ui.tabs({markup.tab(name): mo.Html("") for name in ("Configurations", "SQL")})
    _title = markup.heading(f"clickassay explore · {run.finished.folder.name}", 1)
    _hiding = markup.line(pieces.hiding_words(run), style="ca-small")
    mo.hstack([mo.Html(f"<div>{_title}{_hiding}{pieces.health_html(run)}</div>"), tabs], align="start")
    return (tabs,)


@app.cell
def shown_tab(tabs: Shown) -> None:
    _hidden = "configurations" if "SQL" in tabs.value else "sql"
    mo.Html(f'<style>[data-cell-name^="{_hidden}_"] {{ display: none; }}</style>')


@app.cell
def configurations_none(run: Shown) -> None:
    mo.stop(bool(run.keys))
    mo.Html(markup.line(pieces.NOTHING_JUDGED, style="ca-caution"))


@app.cell
def choices(run: Shown) -> tuple[Shown, ...]:
    mo.stop(not run.keys)

    def _offered(name: str) -> dict[str, Any]:
        values = sorted({getattr(key, name) for key in run.keys})
        return {terminal(str(value)): value for value in values}

    def _dropdown(name: str) -> mo.ui.dropdown:
        offered = _offered(name)
        first = next(text for text, value in offered.items() if value == getattr(run.keys[0], name))
        return mo.ui.dropdown(offered, value=first, label=name, allow_select_none=False)

    market, depth, judge = (_dropdown(name) for name in SAMPLE_COLUMNS)
    click = mo.ui.dropdown(CLICK_METRICS, value="MeanRR", label="click metric", allow_select_none=False)
    editorial = mo.ui.dropdown(
        run.editorial_names, value=run.editorial_names[0], label="editorial metric", allow_select_none=False
    )
    return click, depth, editorial, judge, market


@app.cell
def chosen_key(depth: Shown, judge: Shown, market: Shown, run: Shown) -> tuple[Shown, ...]:
    key = SampleKey(market.value, depth.value, judge.value)
    known = key in run.keys
    labels = reading.query_labels(run, key) if known else None
    splits = splits_of(run, key) if known else None
    return key, known, labels, splits


@app.cell
def classes(splits: Shown) -> tuple[Shown, ...]:
    _pairs = [(split.name, name) for split in (splits.splits if splits else ()) for name in split.classes]
    _named = {"all" if split == "all" else f"{split}: {name}": (split, name) for split, name in _pairs}
    queries = mo.ui.dropdown(
        _named or {"all": ("all", "all")}, value="all", label="queries", allow_select_none=False
    )
    return (queries,)


@app.cell
def configurations_controls(
    click: Shown,
    depth: Shown,
    editorial: Shown,
    judge: Shown,
    known: Shown,
    market: Shown,
    queries: Shown,
    splits: Shown,
) -> None:
    _said = pieces.splits_words(splits) if known else "The run has no such market, depth and judge together."
    mo.vstack(
        [
            mo.hstack([market, depth, judge, click, editorial, queries], justify="start", wrap=True, gap=1.2),
            mo.Html(markup.line(_said, style="ca-small")),
        ],
        gap=0.1,
    )


@app.cell
def rows_of_choice(
    click: Shown,
    editorial: Shown,
    key: Shown,
    known: Shown,
    labels: Shown,
    queries: Shown,
    run: Shown,
    splits: Shown,
) -> tuple[Shown, ...]:
    mo.stop(not known)
    split, class_ = queries.value
    rows = reading.points(
        run,
        key,
        click_metric=click.value,
        editorial_metric=editorial.value,
        members=splits.members(split, class_),
    )
    drawn = reading.with_labels(rows.head(charts.MOST_POINTS), labels)
    return class_, drawn, rows, split


@app.cell
def configurations_correlation(
    class_: Shown, click: Shown, editorial: Shown, key: Shown, rows: Shown, run: Shown, split: Shown
) -> None:
    _row = reading.correlation(
        run, key, split=split, class_=class_, click_metric=click.value, editorial_metric=editorial.value
    )
    mo.Html(pieces.correlation_html(_row, rows, click.value, editorial.value))


@app.cell
def search_box() -> tuple[Shown, ...]:
    searched = mo.ui.text(label="find", placeholder="query, digest or id", debounce=300)
    return (searched,)


@app.cell
def search_matches(kept: Shown, labels: Shown, rows: Shown, searched: Shown) -> tuple[Shown, ...]:
    _text = searched.value.strip()
    _found = reading.search(rows, labels, _text, 50) if _text else rows.head(0)
    _options = {
        terminal(pieces.match_words(row["query"], row["n_sessions"], row["configuration_id"])): row[
            "configuration_id"
        ]
        for row in _found.iter_rows(named=True)
    }
    _again = [words for words, found in _options.items() if found == kept["id"]]
    _value = next(iter([*_again, *_options]), None)
    if _text == kept["text"]:
        kept["found"] = _options.get(_value or "")  # the same search, drawn again: nobody chose anything
    kept["text"] = _text
    matches = mo.ui.dropdown(_options, value=_value, label="found", allow_select_none=not _options)
    return (matches,)


@app.cell
def configurations_search(matches: Shown, searched: Shown) -> None:
    _nothing = mo.Html(markup.line("Nothing found.", style="ca-small"))
    _shown = [searched, matches if matches.options else _nothing] if searched.value.strip() else [searched]
    mo.hstack(_shown, justify="start", wrap=True, gap=1.2)


@app.cell
def last_choice() -> tuple[Shown, ...]:
    # outlives a chart and a list of matches: another metric draws new ones, for the same configuration
    kept = {"id": "", "text": "", "found": None}
    return (kept,)


@app.cell
def chart_of_choice(
    click: Shown, drawn: Shown, editorial: Shown, kept: Shown, matches: Shown, rows: Shown
) -> tuple[Shown, ...]:
    chart = charts.scatter(
        drawn,
        rows,
        click_metric=click.value,
        editorial_metric=editorial.value,
        ring=kept["id"] if matches.value in (None, kept["found"]) else matches.value,
    )
    scatter = charts.without_menu(
        lambda: mo.ui.altair_chart(chart, chart_selection=False, legend_selection=False)
    )
    return chart, scatter


@app.cell
def configurations_chart(scatter: Shown) -> None:
    scatter


@app.cell
def configurations_downloads(
    chart: Shown, click: Shown, editorial: Shown, labels: Shown, rows: Shown
) -> None:
    def _points() -> bytes:
        return pieces.points_csv(reading.with_labels(rows, labels), click.value, editorial.value)

    _pictures = {"svg": ("SVG", lambda: charts.as_svg(chart)), "png": ("PNG", lambda: charts.as_png(chart))}
    _of_points = downloads("configurations", {"csv": ("CSV of all points", _points)})
    mo.hstack([_of_points, downloads("chart", _pictures)], justify="start")


@app.cell
def chosen_configuration(
    drawn: Shown,
    kept: Shown,
    key: Shown,
    labels: Shown,
    matches: Shown,
    rows: Shown,
    run: Shown,
    scatter: Shown,
) -> tuple[Shown, ...]:
    mo.stop(rows.is_empty())
    _kept = kept["id"] if kept["id"] in rows["configuration_id"] else drawn["configuration_id"][0]
    _found = matches.value if matches.value != kept["found"] else None
    kept["found"] = matches.value
    kept["id"] = charts.clicked(scatter.selections) or _found or _kept
    configuration = reading.configuration(run, key, kept["id"], labels)
    return (configuration,)


@app.cell
def configurations_details(
    click: Shown, configuration: Shown, editorial: Shown, key: Shown, run: Shown
) -> None:
    mo.vstack(
        [
            mo.Html(pieces.configuration_html(run, key, configuration, click.value, editorial.value)),
            downloads(
                "configuration",
                {
                    "json": ("JSON", lambda: pieces.configuration_json(configuration)),
                    "csv": ("CSV", lambda: pieces.configuration_csv(configuration)),
                },
            ),
        ]
    )


@app.cell
def sql_question() -> tuple[Shown, ...]:
    _ready = {f"{known.name}: {known.answers}": known.sql for known in questions()}
    question = mo.ui.dropdown(_ready, value=next(iter(_ready)), label="ready question", full_width=True)
    mo.vstack(
        [
            question,
            mo.Html(
                markup.line(
                    "run.duckdb is your own file and holds the raw texts: answers show them as they are.",
                    style="ca-small",
                )
            ),
        ]
    )
    return (question,)


@app.cell
def sql_editor(question: Shown) -> tuple[Shown, ...]:
    editor = mo.ui.text_area(
        value=question.value or "", rows=16, label="SQL", full_width=True, debounce=False
    )
    go = mo.ui.run_button(label="Run")
    mo.vstack([editor, go])
    return editor, go


@app.cell
def sql_asked(editor: Shown, go: Shown, run: Shown) -> tuple[Shown, ...]:
    mo.stop(not go.value)
    _questions = reading.questions_of_request(mo.app_meta().request)
    try:
        answer, refused = _questions.ask(run.finished.folder, editor.value), ""
    except ClickassayError as _error:
        answer, refused = None, str(_error)
    return answer, refused


@app.cell
def sql_answer(answer: Shown, refused: Shown) -> None:
    mo.stop(answer is None, mo.Html(f'<div role="alert">{markup.line(refused, style="ca-caution")}</div>'))
    _files = {
        "csv": ("CSV", lambda: as_csv(answer).encode()),
        "json": ("JSON", lambda: as_json(answer).encode()),
    }
    _cut = f"the first {MOST_ROWS:,} rows; clickassay query has all" if answer.height == MOST_ROWS else ""
    _said = _cut or f"{answer.height:,} rows"
    mo.vstack([mo.Html(markup.frame_table(answer, _said)), downloads("answer", _files)])


if __name__ == "__main__":
    app.run()
