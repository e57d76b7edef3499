"""Judgments of the healthy log of `sick`, and what can be wrong with them, with what must be said."""

import polars as pl

from tests.support.logs.sick import QUERIES, unchanged


def healthy_judgments():
    """Return a judgment of every result of the log, with all grades from 0 to 4."""
    rows = [
        (f"query {query}", f"https://shop.example/{query}/{place}", (query + place) % 5)
        for query in range(QUERIES)
        for place in range(1, 11)
    ]
    return pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row")


PLACE = pl.col("url").str.extract(r"(\d+)$").cast(pl.Int64)
NUMBER = pl.col("query").str.extract(r"(\d+)$").cast(pl.Int64)
ALL = pl.lit(True)
URL, QUERY = pl.col("url"), pl.col("query")


def with_urls(value, rows=ALL):
    """Return a change of the URLs of some judgments."""
    return lambda frame: frame.with_columns(url=pl.when(rows).then(value).otherwise(URL))


def with_queries(value, rows=ALL):
    """Return a change of the queries of some judgments."""
    return lambda frame: frame.with_columns(query=pl.when(rows).then(value).otherwise(QUERY))


def with_grades(value):
    return lambda frame: frame.with_columns(grade=value)


def more_queries(number):
    """Return a change that adds judged queries that nobody asks."""

    def change(frame):
        rows = [(f"unknown {row}", "x", row % 5) for row in range(number)]
        return pl.concat([frame, pl.DataFrame(rows, schema=frame.schema, orient="row")])

    return change


def more_results(times):
    """Return a change that adds judged results that no list shows."""

    def change(frame):
        others = [frame.with_columns(url=pl.lit(f"deep:{n}:") + URL + f"x{n}") for n in range(times)]
        return pl.concat([frame, *others])

    return change


def some_queries(most):
    """Return a change that keeps the judgments of the first queries."""
    return lambda frame: frame.filter(most > NUMBER)


def two_spellings(frame):
    """Half of the searches for query 7 are for straße, the others for strasse."""
    number = pl.int_range(pl.len())
    word = pl.when(number % 2 == 0).then(pl.lit("straße")).otherwise(pl.lit("strasse"))
    return frame.with_columns(
        query=pl.when(pl.col("query") == "query 7").then(word).otherwise(pl.col("query"))
    )


def lists_of(form):
    """Return a change of the results of searches."""
    return lambda frame: frame.with_columns(pl.col("results").list.eval(form))


ITEM = pl.element()
CASE = lists_of(ITEM.str.replace("/(\\d+)$", "/Item-$1"))

# name: (change of searches, change of judgments, {check: status}, words that must be said)
SICK_JUDGMENTS = {
    "URLs in another case": (
        CASE, with_urls(URL.str.replace("/(\\d+)$", "/item-$1")),
        {"no_judged_results": "finding"},
        ("Rankings of their queries show none of 1,000 judged results", "for the "
         "query “query 0” “https://shop.example/0/item-1” is judged, and "
         "“https://shop.example/0/Item-1” is shown: they differ in case"),
    ),
    "http and https": (
        unchanged, with_urls(URL.str.replace("https", "http")), {"no_judged_results": "finding"},
        ("“http://shop.example/0/1” is judged, and “https://shop.example/0/1” is shown: they differ in the "
         "scheme, www. or the final slash",),
    ),
    "ids with a prefix": (
        unchanged, with_urls(URL.str.replace("https://shop.example/", "SKU-"), NUMBER < 99),
        {"urls_alike": "finding", "unjudged_results": "caution"},
        ("“SKU-0/1” is judged, and “https://shop.example/0/1” is shown: they differ in their beginning",),
    ),
    "5% of the URLs in another form": (
        unchanged, with_urls(URL.str.replace("https", "http"), (NUMBER * 10 + PLACE) % 20 == 0),
        {"urls_alike": "caution"}, ("have a judgment only under a different spelling",),
    ),
    "other results": (
        unchanged, with_urls("other:" + PLACE.cast(pl.String) + "x"),
        {"no_judged_results": "finding", "near_duplicate_queries": "caution"},  # all queries have the same
        ("“other:10x” is judged, and “https://shop.example/0/1” is shown.",),
    ),
    "queries with other signs": (
        unchanged, with_queries(QUERY.str.replace(" ", "-"), NUMBER < 99),
        {"unseen_queries": "caution", "queries_alike": "finding", "unjudged_queries": "caution"},
        ("99 of 100 judged queries are in the log only with a different spelling",
         "“query-0” is judged, but the log contains “query 0”: they differ in the characters between words"),
    ),
    "3 queries with other signs": (
        unchanged, with_queries(QUERY.str.replace(" ", "+"), NUMBER < 3),
        {"queries_alike": "caution"},
        ("3 of 100 judged queries are in the log only with a different spelling",),
    ),
    "queries of another log": (
        unchanged, with_queries("other " + QUERY), {"no_judged_queries": "finding"},
        ("The log contains none of 100 judged queries",
         "“other query 0” is judged; the log contains queries such as “query "),
    ),
    "two spellings of a word": (
        two_spellings, unchanged, {"queries_that_fold": "caution"},
        ("2 queries of 101 would merge", "“strasse” and “straße” are two queries"),
    ),
    "ids of pandas": (
        lists_of(ITEM.str.extract(r"/(\d+/\d+)$").str.replace("/", "0")),
        with_urls(pl.format("{}0{}{}", NUMBER, PLACE, pl.lit(".0").repeat_by(NUMBER < 50).list.join(""))),
        {"urls_alike": "finding"}, ("differ in leading zeros or a final .0",),
    ),
    "one grade": (unchanged, with_grades(4), {"one_grade": "finding"}, ("Every judgment has the grade 4",)),
    "the highest grade is not used": (
        unchanged, with_grades(pl.col("grade").clip(0, 2)), {"top_grade_unused": "caution"},
        ("The grades seen are 0, 1 and 2; the scale goes up to 4", "set --max-grade 2"),
    ),
    "the lowest grade is not used": (
        unchanged, with_grades(pl.col("grade").clip(1, 4)), {"bottom_grade_unused": "caution"},
        ("The grades seen are 1, 2, 3 and 4; the scale begins at 0", "set --scale 1,2,3,4, or",
         "--grade-map 1=0,2=1,3=2,4=3"),
    ),
    "deep pools": (
        unchanged, more_results(120), {"unshown_results": "caution"}, ("99.2% of the judged results",),
    ),
}  # fmt: skip

WELL_JUDGED = {
    "healthy": (unchanged, unchanged),
    "0.9% of the URLs in another form": (
        unchanged, with_urls(URL.str.replace("https", "http"), (NUMBER < 9) & (PLACE == 1)),
    ),
    "94% of the results unjudged or of queries without judgments": (
        unchanged, lambda frame: frame.filter((PLACE == 1) | ((PLACE == 2) & (NUMBER < 30))),
    ),
    "a query with other signs": (unchanged, with_queries(QUERY.str.replace(" ", "+"), NUMBER < 1)),
    "800 judged queries that nobody asks": (unchanged, more_queries(800)),
    "98% of the judged results in no list": (unchanged, more_results(49)),
    "3 judged queries": (unchanged, some_queries(3)),
    "two grades": (unchanged, with_grades(pl.when(NUMBER == 0).then(4).otherwise(0))),
}  # fmt: skip
