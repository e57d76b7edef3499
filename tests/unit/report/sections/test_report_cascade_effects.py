"""The cascade effect: sentences and pictures of numbers written down here."""

import polars as pl

from clickassay.core.contracts import run as contracts
from clickassay.core.contracts.clicks import CASCADE_EFFECTS
from clickassay.report.sections.users import MAX_FOUND, NONE, POINT, cascade_effects_section
from clickassay.report.tables import Share
from support.reports.report_runs import run_of
from support.reports.report_svg import Picture
from support.reports.report_tables import digest_of, empty_tables, run_tables

EXAMPLE = {
    "market": "m1", "depth": 5, "judge": "editor", "rank": 1, "query": "maps", "url": "http://a.example/maps",
    "grade": 2, "position_alone": 1, "sessions_alone": 1234, "ctr_alone": 0.45, "average_ctr_alone": 0.3,
    "configuration_alone": "c1", "better_url": "http://b.example/", "better_grade": 4, "better_position": 1,
    "position_below": 2, "sessions_below": 987, "ctr_below": 0.0512, "average_ctr_below": 0.15,
    "configuration_below": "c2", "min_excess_ctr_ratio": 3.14159,
}  # fmt: skip


def section_of(examples, named, **settings):
    """The section of a run with these cascade_effects; users issued the `named` queries, and no others."""
    tables = dict(run_tables())
    every = dict.fromkeys(example["query"] for example in examples)
    rows = [
        {
            "market": "m1",
            "query": query,
            "users_at_least": 9 if query in named else 0,
            "query_group": None,
            "digest": digest_of("m1", query).removeprefix("query "),
        }
        for query in every
    ]
    tables["queries"] = contracts.RUN_QUERIES.canonical(pl.DataFrame(rows))
    tables["cascade_effects"] = CASCADE_EFFECTS.canonical(pl.DataFrame(examples))
    return cascade_effects_section(run_of(tables, **settings))


AT = "At market m1, top 5, judge editor, "


def ranked(*queries):
    """An example of each query."""
    return [EXAMPLE | {"rank": place, "query": query} for place, query in enumerate(queries, start=1)]


def test_the_clearest_example_is_read_drawn_and_tabled_with_its_averages():
    section = section_of([EXAMPLE], ["maps"])
    assert section.reading[0] == (
        "For the query maps, http://a.example/maps (good) is clicked in 45.0% of the sessions at position "
        "1, with nothing better above it, and in 5.1% at position 2, below http://b.example/ (perfect). "
        "The averages of the positions are 30.0% and 15.0%: relative to these, its clicks fall to at "
        "most 1/3.1."
    )
    assert section.reading[1] == POINT
    assert section.reading[2].startswith(f"{AT}1 query has such a result. A query is named only if")
    (figure,) = section.figures
    assert figure.title == "maps: http://a.example/maps"
    assert figure.alt == (
        "Click-through rate of http://a.example/maps: 45.0% at position 1, nothing better above (average "
        "30.0%), 5.1% at position 2, http://b.example/ above (average 15.0%)."
    )
    assert [mark.tip for mark in Picture(figure.drawing.svg).with_tip] == [
        "Result: http://a.example/maps\nShown: at position 1, nothing better above\nCTR: 45.0%\n"
        "Average of the position: 30.0%\nSessions: 1,234",
        "Result: http://a.example/maps\nShown: at position 2, http://b.example/ above\nCTR: 5.1%\n"
        "Average of the position: 15.0%\nSessions: 987",
    ]
    (table,) = section.folded
    assert [(row.group, row.name) for row in table.rows] == [("maps", "http://a.example/maps")] * 2
    assert [row.cells for row in table.rows] == [
        ("good", 1, "none", "", 1234, Share(0.45), Share(0.3)),
        ("good", 2, "http://b.example/", "perfect", 987, Share(0.0512), Share(0.15)),
    ]
    assert table.group_head == "Query"
    assert table.data.row(0, named=True) == EXAMPLE


def test_rare_queries_are_counted_but_neither_named_nor_drawn_and_the_file_has_digests_without_results():
    section = section_of(ranked("my own name", "maps", "me too"), ["maps"])
    assert [figure.title for figure in section.figures] == ["maps: http://a.example/maps"]
    assert section.reading[0].startswith("For the query maps, ")
    assert section.reading[2].startswith(
        f"{AT}3 queries have such a result, 2 of them too rare to be named. A query is named only if"
    )
    (table,) = section.folded
    assert {row.group for row in table.rows} == {"maps"}
    hidden = (digest_of("m1", "my own name"), "maps", digest_of("m1", "me too"))
    assert tuple(table.data["query"]) == hidden
    assert table.data["url"].to_list() == [None, EXAMPLE["url"], None]
    assert table.data["better_url"].to_list() == [None, EXAMPLE["better_url"], None]


def test_when_all_queries_are_rare_nothing_is_shown_but_that():
    section = section_of(ranked("my own name", "me too"), [])
    assert section.reading == (
        "2 examples of rare queries cannot be shown. A query is named only if at least 5 users issued it; "
        "all other queries count, but appear as digests.",
    )
    assert section.figures == section.folded == ()
    (table,) = section.tables
    assert table.rows == ()
    assert table.data.height == 2


def test_at_most_three_examples_are_drawn_the_clearest_first():
    queries = [f"q{place}" for place in range(5)]
    section = section_of(ranked(*queries), queries)
    assert [figure.title.split(":")[0] for figure in section.figures] == ["q0", "q1", "q2"]
    assert section.reading[2].startswith(f"{AT}5 queries have such a result; the first 3 are drawn. ")
    assert len(section.folded[0].rows) == 10


def test_a_full_list_of_queries_is_not_taken_for_all_of_them():
    queries = [f"q{place:02}" for place in range(MAX_FOUND)]
    text = section_of(ranked(*queries), queries).reading[2]
    assert text.startswith(
        "Examples come from the 20 queries with the clearest effect at market m1, top 5, judge editor; the "
        "first 3 are drawn. "
    )


def test_a_log_without_such_a_result_says_so():
    assert cascade_effects_section(run_of(empty_tables())).reading == (NONE,)


def test_where_the_headline_sample_has_none_that_may_be_named_another_sample_is_shown_with_its_name():
    deeper = EXAMPLE | {"depth": 10, "query": "maps"}
    section = section_of([EXAMPLE | {"query": "my own name"}, deeper], ["maps"])
    where = "market m1, top 10, judge editor"
    assert section.reading[2].startswith(f"At {where}, 1 query has such a result. ")
    assert section.folded[0].title.endswith(where)
    assert section.folded[0].data.height == 2  # the file holds all samples


def test_grades_without_a_label_are_shown_as_numbers():
    section = section_of([EXAMPLE], ["maps"], max_grade=3)
    assert "http://a.example/maps (grade 2) is clicked" in section.reading[0]


def test_long_queries_and_results_are_cut_in_words_and_whole_in_the_file():
    long = EXAMPLE | {"query": "q" * 300, "url": "http://a.example/" + "u" * 300}
    section = section_of([long], ["q" * 300])
    assert "q" * 81 not in section.reading[0]
    assert section.folded[0].data["query"].to_list() == ["q" * 300]
    assert section.folded[0].data["url"].to_list() == [long["url"]]
