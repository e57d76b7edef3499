"""Conventions: each quantity, how tools define it, and how that is computed.

The conventions are those of trec_eval 9 and 10.0-rc3, gdeval, ir_measures 0.4.3, pytrec_eval-terrier 0.5.11,
ranx 0.3.21, cwl_eval 1.0.12, trectools 0.0.50, rankkit 0.1.0, scikit-learn 1.9, and of the sources of
Elasticsearch, OpenSearch and its Search Relevance Workbench, Quepid and RRE as of 2025.

First come formulas of other tools that the grammar of measures refuses, as they are not the measure of that
name; of Q ranked lists they return (Q,) values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.metrics.editorial import discount, discounted, expected_reciprocal_rank, ndcg
from clickassay.metrics.lists import Lists, measure_values
from clickassay.metrics.names import parse_measure, spell_gains
from clickassay.metrics.ranked import precision

Grades = NDArray[np.int64]


@dataclass(frozen=True)
class AuditScale:
    """The cut, the scale and the thresholds that all conventions of an audit share."""

    depth: int  # The cut k.
    max_grade: int  # Top grade of the scale.
    relevant_grade: int  # Lowest grade that counts as relevant.
    persistence: float  # p of RBP.


def shown_grades(lists: Lists, depth: int) -> Grades:
    """Return the (Q, depth) grades of the first results, 0 where there is no grade or no result."""
    grades = np.zeros((len(lists.queries), depth), dtype=np.int64)
    for block in lists.blocks(depth, exact=False):
        grades[block.rows, : block.grades.shape[1]] = np.maximum(block.grades, 0)
    return grades


def err_of_larger_scale(lists: Lists, scale: AuditScale) -> Floats:
    """ERR on a scale with one grade more than the judges used; 0..1."""
    return _err(shown_grades(lists, scale.depth), scale.max_grade + 1)


def err_of_smaller_scale(lists: Lists, scale: AuditScale) -> Floats:
    """ERR on a scale that lacks the top grade, which then satisfies with probability > 1; may leave 0..1."""
    return _err(shown_grades(lists, scale.depth), scale.max_grade - 1)


def err_of_seen_scale(lists: Lists, scale: AuditScale) -> Floats:
    """ERR on the scale that ends at the best grade among the judgments of the query; 0..1."""
    return _err(shown_grades(lists, scale.depth), _best_judged(lists)[:, None])


def _best_judged(lists: Lists) -> Grades:
    """Return the (Q,) best grades among the judgments of the queries, 0 without a judgment."""
    there = lists.pool > 0
    return np.where(there.any(axis=1), lists.max_grade - there[:, ::-1].argmax(axis=1), 0)


def _err(grades: Grades, top: int | Grades) -> Floats:
    return expected_reciprocal_rank((np.exp2(grades) - 1) / np.exp2(top))


def rbp_of_raw_grades(lists: Lists, scale: AuditScale) -> Floats:
    """RBP with grades for gains, (1 - p) sum of g p^(i - 1); 0..top grade."""
    return _rbp(shown_grades(lists, scale.depth), scale)


def rbp_of_relevant_grades(lists: Lists, scale: AuditScale) -> Floats:
    """Return `rbp_of_raw_grades` with gain 0 for grades below the relevant ones; 0..top grade."""
    grades = shown_grades(lists, scale.depth)
    return _rbp(np.where(grades >= scale.relevant_grade, grades, 0), scale)


def rbp_of_best_judged(lists: Lists, scale: AuditScale) -> Floats:
    """RBP with p 0.9 and gain g / best grade among the judgments of the query; 0..1, 0 where that is 0.

    m_rbp.c of trec_eval 10 subtracts the least gain first, which is 0 if any result has grade 0; it starts
    both searches from variables that are not set.
    """
    best = np.maximum(_best_judged(lists), 1)[:, None]
    return _rbp(shown_grades(lists, scale.depth) / best, replace(scale, persistence=0.9))


def _rbp(gains: Grades | Floats, scale: AuditScale) -> Floats:
    total = np.zeros(len(gains))
    for column in gains.T[::-1]:
        total = column + scale.persistence * total
    return (1 - scale.persistence) * total


def scaled_dcg(lists: Lists, scale: AuditScale) -> Floats:
    """SDCG = DCG of g / top grade, over the DCG of k results of the top grade; 0..1."""
    discounts = sum(1 / discount("log2", rank) for rank in range(1, scale.depth + 1))
    return discounted(shown_grades(lists, scale.depth), "log2") / (scale.max_grade * discounts)


def natural_dcg(lists: Lists, scale: AuditScale) -> Floats:
    """DCG with gains 2^g - 1 and discounts ln(i + 1): DCG / ln 2."""
    value: Floats = discounted(shown_grades(lists, scale.depth), "exp-log2") / np.log(2)
    return value


def two_decimals(lists: Lists, scale: AuditScale) -> Floats:
    """Return nDCG with gains 2^g - 1, each query's value rounded to two decimals, halves up; 0..1."""
    exact = ndcg(shown_grades(lists, scale.depth), lists.pool, scale.depth, dcg="exp-log2")
    return np.floor(100 * exact + 0.5) / 100


def ndcg_to_the_hits(lists: Lists, scale: AuditScale) -> Floats:
    """Return nDCG with gains 2^g - 1, the ideal list cut where the list ends, at k at most; 0..1."""
    grades, hits = shown_grades(lists, scale.depth), np.minimum(lists.returned, scale.depth)
    values = np.zeros(len(hits))
    for number in np.unique(hits):
        rows = hits == number
        values[rows] = ndcg(grades[rows, :number], lists.pool[rows], int(number), dcg="exp-log2")
    return values


def precision_of_hits(lists: Lists, scale: AuditScale) -> Floats:
    """P = relevant results / results of the list to the cut, 0 for an empty list; 0..1."""
    hits = np.minimum(lists.returned, scale.depth)
    return precision(shown_grades(lists, scale.depth), hits, rel=scale.relevant_grade)


# ---- the table -------------------------------------------------------------------------------------


Function = Callable[[Lists, AuditScale], Floats]


@dataclass(frozen=True)
class Convention:
    """A definition of a quantity that some tools use."""

    quantity: str  # The name under which all of them report it.
    # Name of the measure that is computed, in the grammar of measures; with `function` a label for it. In the
    # declared table braces stand for values of an `AuditScale`, also in `choice` and `tools`.
    measure: str
    choice: str  # How this definition differs from the others, in words.
    tools: str  # The tools that report it.
    function: Function | None = None  # Computes it where the grammar of measures has no name for it.
    needs_pool: bool = False  # Whether its value depends on judged results that the list does not show.
    # Whether it treats results without a grade differently from results of grade 0.
    needs_unjudged: bool = False
    own: tuple[str, ...] = ()  # Values of the setting `pool` under which a run computes the quantity so.
    column: str = ""  # The column of the run's configurations that then has it.

    def fill_in(self, scale: AuditScale) -> "Convention":
        """Return the convention with the values of a scale in place of the braces."""
        grades, top = range(scale.max_grade + 1), scale.max_grade
        values = {
            "k": scale.depth,
            "rel": scale.relevant_grade,
            "top": top,
            "p": scale.persistence,
            "more": top + 1,
            "less": top - 1,
            "half": (top + 1) // 2,
            "shares": _numbers([grade / top for grade in grades]),
            "exponential": _numbers([(2**grade - 1) / (2**top - 1) for grade in grades]),
            "cut": _numbers([grade if grade >= scale.relevant_grade else 0 for grade in grades]),
        }
        name, choice, tools = (text.format(**values) for text in (self.measure, self.choice, self.tools))
        return replace(
            self,
            measure=name if self.function is not None else str(spell_gains(parse_measure(name))),
            choice=choice,
            tools=tools,
        )

    def values(self, lists: Lists, scale: AuditScale) -> Floats:
        """Return the (Q,) values of the lists; the convention must come from `fill_in`."""
        if self.function is not None:
            return self.function(lists, scale)
        # the name has every parameter: of the settings only the top of the scale has an effect
        settings = Settings(max_grade=scale.max_grade, relevant_grade=1, success_grade=0)
        return measure_values(parse_measure(self.measure), lists, settings)


def _numbers(values: list[float]) -> str:
    return " ".join(repr(value) for value in values)


BOTH = ("judged", "shown")

CONVENTIONS = (
    Convention(
        "nDCG", "nDCG(dcg='exp-log2')@{k}", "gain 2^g - 1, ideal ranking of the k best judged results",
        "gdeval, ir_measures with dcg='exp-log2', rankkit, ranx ndcg_burges, trectools with trec_eval=False, "
        "Quepid ndcg_cut",
        needs_pool=True, own=("judged",), column="NDCG",
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2')@{k} to the hits", "the same, ideal ranking no longer than the ranking",
        "Elasticsearch, OpenSearch", ndcg_to_the_hits, needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2')@{k}, two decimals", "the same, each query rounded to two decimals",
        "OpenSearch Search Relevance Workbench", two_decimals, needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='log2')@{k}", "gain g, ideal ranking of the k best judged results",
        "trec_eval ndcg_cut, pytrec_eval, ir_measures, ranx, trectools, rankkit with linear gain",
        needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='log2',ideal='uncut')@{k}", "gain g, ideal ranking of all judged results",
        "trec_eval ndcg, ir_measures nDCG and ranx ndcg without @k, for a ranking that ends here",
        needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2',ideal='uncut')@{k}", "gain 2^g - 1, ideal ranking of all judged "
                                                          "results",
        "Quepid ndcg@10", needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='jk-log2')@{k}", "gain g, divided by log2(i) from position 2 on",
        "textbooks; ndcg_p in the repository of trec_eval, but in no release", needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='log2',judged_only=True)@{k}", "gain g, unjudged results removed",
        "trec_eval -J, ir_measures with judged_only=True", needs_pool=True, needs_unjudged=True,
    ),
    Convention(
        "nDCG", "nDCG(gains='{cut}')@{k}", "gain g, grades below the relevant ones count 0",
        "ranx ndcg with -l{rel}", needs_pool=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2',ideal='shown')@{k}", "gain 2^g - 1, ideal ranking of the results shown",
        "older Quepid, ad-hoc code", own=("shown",), column="NDCG",
    ),
    Convention(
        "nDCG", "nDCG(dcg='log2',ideal='shown')@{k}", "gain g, ideal ranking of the results shown",
        "scikit-learn ndcg_score when it is given the results shown",
    ),
    Convention(
        "nDCG", "SDCG@{k}", "gain g / g_max, ideal ranking of k top grades, whether they exist or not",
        "cwl_eval SDCG", scaled_dcg,
    ),
    Convention(
        "DCG", "DCG(dcg='exp-log2')@{k}", "gain 2^g - 1, divided by log2(i + 1)",
        "Elasticsearch, OpenSearch, Quepid, ranx dcg_burges, rankkit", own=BOTH, column="DCG",
    ),
    Convention(
        "DCG", "DCG(dcg='log2')@{k}", "gain g, divided by log2(i + 1)", "trec_eval, scikit-learn, ranx dcg"
    ),
    Convention(
        "DCG", "DCG@{k} with ln", "gain 2^g - 1, divided by ln(i + 1)", "gdeval, as a step to nDCG",
        natural_dcg,
    ),
    Convention(
        "ERR", "ERR(max_rel={top})@{k}",
        "R(g) = (2^g - 1) / 2^g_max, unjudged results keep their position",
        "Elasticsearch, Quepid and rankkit given the scale; gdeval and ir_measures, where it ends at 4",
        own=BOTH, column="ERR",
    ),
    Convention(
        "ERR", "ERR(max_rel={top},judged_only=True)@{k}", "unjudged results removed",
        "any tool given only the judged results", needs_unjudged=True,
    ),
    Convention(
        "ERR", "ERR(max_rel={top},unjudged={half})@{k}", "half credit for unjudged results", "RRE",
        needs_unjudged=True,
    ),
    Convention(
        "ERR", "ERR@{k} on 0..{more}", "a scale with one grade too many",
        "Elasticsearch, Quepid or gdeval given the wrong scale", err_of_larger_scale,
    ),
    Convention(
        "ERR", "ERR@{k} on 0..{less}",
        "a scale with one grade too few: the top grade satisfies with a probability above 1",
        "Quepid given the wrong scale", err_of_smaller_scale,
    ),
    Convention(
        "ERR", "ERR@{k} on the seen scale", "g_max is the best grade among the query's judgments",
        "rankkit without a given scale, query by query", err_of_seen_scale, needs_pool=True,
    ),
    Convention(
        "AP", "AP(rel={rel})@{k}", "divided by all relevant judged results",
        "trec_eval -l{rel}, ir_measures with rel={rel}, pytrec_eval, ranx with -l{rel}", needs_pool=True,
        own=("judged",),
        column="AP",
    ),
    Convention(
        "AP", "AP(rel={rel},over='retrieved')@{k}", "divided by the relevant results shown",
        "cwl_eval AP, ad-hoc code",
        own=("shown",), column="AP",
    ),
    Convention(
        "AP", "AP(rel={rel},over='cut')@{k}", "divided by the relevant judged results, at most k",
        "some learning-to-rank libraries", needs_pool=True,
    ),
    Convention(
        "AP", "AP(rel={rel},judged_only=True)@{k}", "unjudged results removed",
        "trec_eval -J, ir_measures with judged_only=True", needs_pool=True, needs_unjudged=True,
    ),
    Convention(
        "AP", "AP(rel=1)@{k}", "grade 1 is relevant, divided by all relevant judged results",
        "trec_eval, ir_measures, pytrec_eval and ranx by default; rankkit, trectools, Quepid",
        needs_pool=True,
    ),
    Convention(
        "AP", "AP(rel=1,over='cut')@{k}", "grade 1 is relevant, divided by at most k",
        "some learning-to-rank libraries", needs_pool=True,
    ),
    Convention(
        "RR", "RR(rel={rel})@{k}", "grade {rel} is relevant",
        "trec_eval -l{rel}, ir_measures with rel={rel}, ranx with -l{rel}", own=BOTH, column="RR",
    ),
    Convention(
        "RR", "RR(rel=1)@{k}", "grade 1 is relevant",
        "trec_eval, ir_measures, pytrec_eval, ranx and Elasticsearch by default; rankkit, trectools, Quepid",
    ),
    Convention(
        "RR", "RR(rel={rel},judged_only=True)@{k}", "unjudged results removed",
        "trec_eval -J and ir_measures with judged_only=True, both without a cut", needs_unjudged=True,
    ),
    Convention(
        "RBP", "RBP(p={p},max_rel={top})@{k}", "gain (2^g - 1) / 2^g_max, as in ERR", "clickassay",
        own=BOTH, column="RBP",
    ),
    Convention(
        "RBP", "RBP(p={p},gains='{exponential}')@{k}", "gain (2^g - 1) / (2^g_max - 1)",
        "cwl_eval given such gains",
    ),
    Convention(
        "RBP", "RBP(p={p},gains='{shares}')@{k}", "gain g / g_max",
        "cwl_eval given such gains",
    ),
    Convention(
        "RBP", "RBP(p={p},rel={rel})@{k}", "gain 1 from the relevant grade on",
        "ir_measures without a cut, cwl_eval"
    ),
    Convention("RBP", "RBP(p={p},rel=1)@{k}", "gain 1 from grade 1 on", "trectools"),
    Convention(
        "RBP", "RBP(p={p})@{k} of grades", "gain g, not divided: not bounded by 1",
        "ranx, trectools with grades", rbp_of_raw_grades,
    ),
    Convention(
        "RBP", "RBP(p={p})@{k} of grades from {rel}", "gain g from the relevant grade on, not divided",
        "ranx with -l{rel}", rbp_of_relevant_grades,
    ),
    Convention(
        "RBP", "RBP(p=0.9)@{k} of the best judged", "gain g / best judged grade of the query, and p = 0.9",
        "trec_eval 10 rbp by default, as its source means it", rbp_of_best_judged,
        needs_pool=True,
    ),
    Convention(
        "P", "P(rel={rel})@{k}", "divided by k",
        "trec_eval -l{rel}, ir_measures with rel={rel}, pytrec_eval, ranx with -l{rel}", own=BOTH,
    ),
    Convention(
        "P", "P(rel=1)@{k}", "grade 1 is relevant",
        "trec_eval, ir_measures, pytrec_eval, ranx and Elasticsearch by default; rankkit, trectools, Quepid",
    ),
    Convention(
        "P", "P(rel={rel})@{k} of the hits", "divided by the results shown, at most k",
        "OpenSearch Search Relevance Workbench, with its own threshold", precision_of_hits,
    ),
    Convention(
        "P", "P(rel={rel},judged_only=True)@{k}", "unjudged results removed",
        "trec_eval -J, ir_measures with judged_only=True", needs_unjudged=True,
    ),
)  # fmt: skip
"""Every convention, quantity by quantity."""

INCOMPLETE_JUDGMENTS = (
    Convention(
        "infAP", "infAP(rel={rel})@{k}", "AP expected from a sample of judgments",
        "trec_eval and ir_measures, both without a cut",
        needs_pool=True, needs_unjudged=True,
    ),
    Convention(
        "Bpref", "Bpref(rel={rel})@{k}", "relevant results before judged irrelevant ones",
        "trec_eval and ir_measures, both without a cut", needs_pool=True, needs_unjudged=True,
    ),
    Convention(
        "Judged", "Judged@{k}", "share of the results that have a grade", "ir_measures", needs_unjudged=True
    ),
)  # fmt: skip
"""Measures designed for incomplete judgments: worth a look where conventions differ on unjudged results."""


def conventions(scale: AuditScale, declared: tuple[Convention, ...] = CONVENTIONS) -> tuple[Convention, ...]:
    """Return the conventions on a scale; equal ones, e.g. where grade 1 is relevant, are merged."""
    by_name: dict[str, Convention] = {}
    for one in (each.fill_in(scale) for each in declared):
        first = by_name.get(one.measure)
        by_name[one.measure] = one if first is None else replace(first, tools=f"{first.tools}; {one.tools}")
    return tuple(by_name.values())
