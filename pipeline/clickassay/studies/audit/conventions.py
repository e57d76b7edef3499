"""The declared table of conventions: one quantity, what tools take it for, and how that is computed.

The conventions are those of trec_eval 9 and 10.0-rc3, gdeval, ir_measures 0.4.3, pytrec_eval-terrier 0.5.11,
ranx 0.3.21, cwl_eval 1.0.12, trectools 0.0.50, rankkit 0.1.0, scikit-learn 1.9, and of the sources of
Elasticsearch, OpenSearch and its Search Relevance Workbench, Quepid and RRE as of 2025.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.metrics.names import parse_measure
from clickassay.studies.audit import tool_formulas as elsewhere
from clickassay.studies.audit.tool_formulas import Reading
from clickassay.studies.evaluation.lists import Lists
from clickassay.studies.evaluation.values import measure_values

Function = Callable[[Lists, Reading], Floats]


@dataclass(frozen=True)
class Convention:
    """What some tools take a quantity for.

    Attributes
    ----------
    quantity
        The name under which all of them report it.
    measure
        The name of what is computed, in the grammar of measures; with `function` a label for it. In the
        declared table braces stand for what a `Reading` fills in, also in `choice` and `tools`.
    choice
        What is chosen, in words.
    tools
        Who reports it so.
    function
        Computes what no measure's name says.
    beyond
        Whether it asks for judged results that the list does not show.
    holes
        Whether it treats results without a grade in another way than as grade 0.
    own
        The settings `pool` of a run under which it is what the run computes.
    column
        The column of the run that then has it.
    """

    quantity: str
    measure: str
    choice: str
    tools: str
    function: Function | None = None
    beyond: bool = False
    holes: bool = False
    own: tuple[str, ...] = ()
    column: str = ""

    def filled(self, reading: Reading) -> "Convention":
        """Return the same for these lists, with everything filled in."""
        values = _fillers(reading)
        name, choice, tools = (text.format(**values) for text in (self.measure, self.choice, self.tools))
        return replace(
            self,
            measure=name if self.function is not None else str(parse_measure(name)),
            choice=choice,
            tools=tools,
        )

    def values(self, lists: Lists, reading: Reading) -> Floats:
        """Return the (Q,) values of the lists; of a convention that is filled in."""
        if self.function is not None:
            return self.function(lists, reading)
        # the name says every parameter: no setting but the top of the scale is asked
        settings = Settings(max_grade=reading.top, relevant_grade=1, success_grade=0)
        return measure_values(parse_measure(self.measure), lists, settings)


def _fillers(reading: Reading) -> dict[str, object]:
    grades = range(reading.top + 1)
    return {
        "k": reading.depth,
        "rel": reading.relevant,
        "top": reading.top,
        "p": reading.persistence,
        "more": reading.top + 1,
        "less": reading.top - 1,
        "half": (reading.top + 1) // 2,
        "shares": _numbers([grade / reading.top for grade in grades]),
        "exponential": _numbers([(2**grade - 1) / (2**reading.top - 1) for grade in grades]),
        "cut": _numbers([grade if grade >= reading.relevant else 0 for grade in grades]),
    }


def _numbers(values: list[float]) -> str:
    return " ".join(repr(value) for value in values)


BOTH = ("judged", "shown")

CONVENTIONS = (
    Convention(
        "nDCG", "nDCG(dcg='exp-log2')@{k}", "gain 2^g - 1, ideal list of the k best judged results",
        "gdeval, ir_measures with dcg='exp-log2', rankkit, ranx ndcg_burges, trectools with trec_eval=False, "
        "Quepid ndcg_cut",
        beyond=True, own=("judged",), column="NDCG",
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2')@{k} to the hits", "the same, ideal list no longer than the list",
        "Elasticsearch, OpenSearch", elsewhere.ndcg_to_the_hits, beyond=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2')@{k}, two decimals", "the same, each query rounded to two decimals",
        "OpenSearch Search Relevance Workbench", elsewhere.two_decimals, beyond=True,
    ),
    Convention(
        "nDCG", "nDCG@{k}", "gain g, ideal list of the k best judged results",
        "trec_eval ndcg_cut, pytrec_eval, ir_measures, ranx, trectools, rankkit with linear gain",
        beyond=True,
    ),
    Convention(
        "nDCG", "nDCG(ideal='uncut')@{k}", "gain g, ideal list of all judged results",
        "trec_eval ndcg, ir_measures nDCG and ranx ndcg without @k, of a list that ends here", beyond=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2',ideal='uncut')@{k}", "gain 2^g - 1, ideal list of all judged results",
        "Quepid ndcg@10", beyond=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='jk-log2')@{k}", "gain g, divided by log2(i) from the second place on",
        "trec_eval ndcg_p", beyond=True,
    ),
    Convention(
        "nDCG", "nDCG(judged_only=True)@{k}", "gain g, results without a grade left out",
        "trec_eval -J, ir_measures with judged_only=True", beyond=True, holes=True,
    ),
    Convention(
        "nDCG", "nDCG(gains='{cut}')@{k}", "gain g, grades below the relevant ones worth nothing",
        "ranx ndcg with -l{rel}", beyond=True,
    ),
    Convention(
        "nDCG", "nDCG(dcg='exp-log2',ideal='shown')@{k}", "gain 2^g - 1, ideal list of the results shown",
        "older Quepid, ad-hoc code", own=("shown",), column="NDCG",
    ),
    Convention(
        "nDCG", "nDCG(ideal='shown')@{k}", "gain g, ideal list of the results shown",
        "scikit-learn ndcg_score when it is given the results shown",
    ),
    Convention(
        "nDCG", "SDCG@{k}", "gain g / g_max, ideal list of k top grades, whether they exist or not",
        "cwl_eval SDCG", elsewhere.scaled_dcg,
    ),
    Convention(
        "DCG", "DCG(dcg='exp-log2')@{k}", "gain 2^g - 1, divided by log2(i + 1)",
        "Elasticsearch, OpenSearch, Quepid, ranx dcg_burges, rankkit", own=BOTH, column="DCG",
    ),
    Convention(
        "DCG", "DCG(dcg='log2')@{k}", "gain g, divided by log2(i + 1)", "trec_eval, scikit-learn, ranx dcg"
    ),
    Convention(
        "DCG", "DCG@{k} with ln", "gain 2^g - 1, divided by ln(i + 1)", "gdeval, on the way to nDCG",
        elsewhere.natural_dcg,
    ),
    Convention(
        "ERR", "ERR(max_rel={top})@{k}",
        "R(g) = (2^g - 1) / 2^g_max, results without a grade keep their place",
        "Elasticsearch, Quepid and rankkit when told the scale; gdeval and ir_measures, where it ends at 4",
        own=BOTH, column="ERR",
    ),
    Convention(
        "ERR", "ERR(max_rel={top},judged_only=True)@{k}", "results without a grade left out",
        "ir_measures with judged_only=True", holes=True,
    ),
    Convention(
        "ERR", "ERR(max_rel={top},unjudged={half})@{k}", "half credit for results without a grade", "RRE",
        holes=True,
    ),
    Convention(
        "ERR", "ERR@{k} on 0..{more}", "a scale with a grade too many",
        "Elasticsearch, Quepid or gdeval told the wrong scale", elsewhere.err_of_larger_scale,
    ),
    Convention(
        "ERR", "ERR@{k} on 0..{less}",
        "a scale with a grade too few: the top grade satisfies with a chance above 1",
        "Quepid told the wrong scale", elsewhere.err_of_smaller_scale,
    ),
    Convention(
        "ERR", "ERR@{k} on the seen scale", "g_max is the best grade among the query's judgments",
        "rankkit not told the scale, query by query", elsewhere.err_of_seen_scale, beyond=True,
    ),
    Convention(
        "AP", "AP(rel={rel})@{k}", "divided by all relevant judged results",
        "trec_eval -l{rel}, ir_measures, pytrec_eval, ranx, rankkit", beyond=True, own=("judged",),
        column="AP",
    ),
    Convention(
        "AP", "AP(rel={rel},over='retrieved')@{k}", "divided by the relevant results shown",
        "cwl_eval AP, ad-hoc code",
        own=("shown",), column="AP",
    ),
    Convention(
        "AP", "AP(rel={rel},over='cut')@{k}", "divided by the relevant judged results, at most k",
        "some learning-to-rank libraries", beyond=True,
    ),
    Convention(
        "AP", "AP(rel={rel},judged_only=True)@{k}", "results without a grade left out",
        "trec_eval -J, ir_measures with judged_only=True", beyond=True, holes=True,
    ),
    Convention(
        "AP", "AP(rel=1)@{k}", "grade 1 is relevant, divided by all relevant judged results",
        "trec_eval, ir_measures, pytrec_eval and ranx unless told; trectools, Quepid", beyond=True,
    ),
    Convention(
        "AP", "AP(rel=1,over='cut')@{k}", "grade 1 is relevant, divided by at most k",
        "some learning-to-rank libraries", beyond=True,
    ),
    Convention(
        "RR", "RR(rel={rel})@{k}", "grade {rel} is relevant",
        "trec_eval -l{rel}, ir_measures, ranx with -l{rel}", own=BOTH, column="RR",
    ),
    Convention(
        "RR", "RR(rel=1)@{k}", "grade 1 is relevant",
        "trec_eval, ir_measures, pytrec_eval, ranx and Elasticsearch unless told; trectools, Quepid",
    ),
    Convention(
        "RR", "RR(rel={rel},judged_only=True)@{k}", "results without a grade left out",
        "trec_eval -J, ir_measures with judged_only=True", holes=True,
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
        "cwl_eval given such gains; what trec_eval rbp means to compute",
    ),
    Convention(
        "RBP", "RBP(p={p},rel={rel})@{k}", "gain 1 from the relevant grade on", "ir_measures, cwl_eval"
    ),
    Convention("RBP", "RBP(p={p},rel=1)@{k}", "gain 1 from grade 1 on", "trectools"),
    Convention(
        "RBP", "RBP(p={p})@{k} of grades", "gain g, not divided: not bounded by 1",
        "ranx, trectools with grades", elsewhere.rbp_of_raw_grades,
    ),
    Convention(
        "RBP", "RBP(p={p})@{k} of grades from {rel}", "gain g from the relevant grade on, not divided",
        "ranx with -l{rel}", elsewhere.rbp_of_relevant_grades,
    ),
    Convention(
        "RBP", "RBP(p=0.9,gains='{shares}')@{k}", "gain g / g_max, and p = 0.9", "trec_eval rbp unless told p"
    ),
    Convention(
        "P", "P(rel={rel})@{k}", "divided by k",
        "trec_eval -l{rel}, ir_measures, pytrec_eval, ranx with -l{rel}, rankkit", own=BOTH,
    ),
    Convention(
        "P", "P(rel=1)@{k}", "grade 1 is relevant",
        "trec_eval, ir_measures, pytrec_eval, ranx and Elasticsearch unless told; trectools, Quepid",
    ),
    Convention(
        "P", "P(rel={rel})@{k} of the hits", "divided by the results shown, at most k",
        "OpenSearch Search Relevance Workbench, of its own threshold", elsewhere.precision_of_hits,
    ),
    Convention(
        "P", "P(rel={rel},judged_only=True)@{k}", "results without a grade left out",
        "trec_eval -J, ir_measures with judged_only=True", holes=True,
    ),
)  # fmt: skip
"""Every convention, those of a quantity together."""

BESIDE = (
    Convention(
        "infAP", "infAP(rel={rel})@{k}", "AP expected from a sample of judgments", "trec_eval, ir_measures",
        beyond=True, holes=True,
    ),
    Convention(
        "Bpref", "Bpref(rel={rel})@{k}", "relevant results before judged irrelevant ones",
        "trec_eval, ir_measures", beyond=True, holes=True,
    ),
    Convention(
        "Judged", "Judged@{k}", "share of the results that have a grade", "ir_measures", holes=True
    ),
)  # fmt: skip
"""Measures made for lists with results without a grade: what to look at when conventions differ there."""


def conventions(reading: Reading, declared: tuple[Convention, ...] = CONVENTIONS) -> tuple[Convention, ...]:
    """Return the conventions for these lists; those that coincide, as where grade 1 is relevant, are one."""
    found: dict[str, Convention] = {}
    for one in (each.filled(reading) for each in declared):
        first = found.get(one.measure)
        found[one.measure] = one if first is None else replace(first, tools=f"{first.tools}; {one.tools}")
    return tuple(found.values())
