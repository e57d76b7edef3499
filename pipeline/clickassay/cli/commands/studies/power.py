"""`clickassay power`: how much has to be judged and clicked to detect a difference."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import show, write_json
from clickassay.cli.options import CLICK_METRIC, JSON, RUN, SampleOptions

if TYPE_CHECKING:
    from clickassay.api.studies.power import PowerTest


@dataclass(frozen=True)
class TestOptions:
    """The test that is to detect a difference."""

    difference: Annotated[
        float | None, typer.Option(help="Difference of correlations to detect. [default: the run's]")
    ] = None
    power: Annotated[float, typer.Option(help="Power: the chance to detect it, 0.5 to 0.999.")] = 0.8
    alpha: Annotated[float, typer.Option(help="Alpha: the chance of a false alarm that is accepted.")] = 0.05
    comparisons: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Comparisons of which this is one: each is tested at alpha / comparisons (Bonferroni). "
            "[default: all others against the metric in use if the pair has it, else all pairs]",
        ),
    ] = None

    @property
    def of_study(self) -> "PowerTest":
        """The same for the study."""
        from clickassay.api.studies.power import PowerTest

        return PowerTest(self.difference, self.power, self.alpha, self.comparisons)


def power(
    run_folder: RUN,
    test: TestOptions,
    sample: SampleOptions,
    pair: Annotated[str, typer.Option(help="Two editorial metrics with a comma.")] = "ERR,DCG",
    click_metric: CLICK_METRIC = "MeanRR",
    question: Annotated[
        Literal["rankings", "queries"] | None,
        typer.Option(
            help="rankings: correlations within queries, of all markets together unless --market names one; "
            "queries: over all queries. [default: the question of the run's decision]"
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Compute how many judged queries and sessions it takes to detect a difference.

    The run serves as the pilot of this power analysis.

    Examples
    --------
        clickassay power reports/june --pair ERR,DCG --difference 0.05

        clickassay power reports/june --pair ERR,NDCG --click-metric UCTR --power 0.9 --comparisons 15
    """
    from clickassay.api.studies.power import PowerResult, pair_of

    names, name = (click_metric, *pair_of(pair)), str(run_folder)
    found = PowerResult.of(run_folder, names, test.of_study, sample.choice, question, name=name)
    write_json(found.facts) if json else show(found.parts())
