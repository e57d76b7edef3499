"""From Python: a log of simulated users, with the truth next to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickassay.api.given import Place, Told
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.core.files.output import place_to_write
from clickassay.inputs.simulate.simulation import simulate as write_world
from clickassay.inputs.simulate.tests import PlanOfTests


@for_python
def simulate(  # noqa: PLR0913 - one for each choice
    out: Place,
    n_searches: int,
    *,
    world: str = "web",
    n_queries: int | None = None,
    seed: int = 0,
    gains: Sequence[float] | None = None,
    actions: bool = False,
    experiments: int = 0,
    interleaved: int = 0,
    tests: str = "related",
    progress: Told = True,
) -> "SimulatedLog":
    """Write a log of simulated users into a new folder. Same seed, same bytes.

    Parameters
    ----------
    out
        The folder to make.
    n_searches, n_queries
        Number of searches, 1 to 10^11, and of distinct queries; None = grows with the searches.
    world
        User model: web, cascade, rbp, dcg, rr or null.
    seed
        0 to 2^63 - 1.
    gains
        World cascade: probability that grades 0 to 4 satisfy; None = the paper's.
    actions
        Also simulate carts and purchases, with revenue as an outcome.
    experiments, interleaved
        Number of A/B tests, and of interleaved tests, that users take part in, one each.
    tests
        How what users like relates to the grades: related, unrelated, or gated (unrelated, but only rankings
        that the grades like are tested).
    progress
        As in `run`.

    Raises
    ------
    SimulationError
        If the world or kind of tests is unknown, or a number is out of range.
    OutputError
        If `out` exists, or cannot be written.

    Examples
    --------
    >>> log = ca.simulate("cascade", 2000, world="cascade", n_queries=60, progress=False)
    >>> ca.run(log.searches, log.clicks, log.judgments, progress=False).statistics.height > 0
    True
    """
    chances = None if gains is None else tuple(gains)
    with progress_of(progress) as told:
        folder = write_world(
            world,
            n_searches=n_searches,
            n_queries=n_queries,
            seed=seed,
            gains=chances,
            actions=actions,
            tests=PlanOfTests(experiments, interleaved, tests),
            out=place_to_write(out),
            progress=told,
        )
    return SimulatedLog(folder)


@dataclass(frozen=True)
class SimulatedLog:
    """The files of a simulated log, which `run` takes."""

    folder: Path

    @property
    def searches(self) -> Path:
        """Searches in order of time."""
        return self.folder / "searches.parquet"

    @property
    def clicks(self) -> Path:
        """Clicks in order of time."""
        return self.folder / "clicks.parquet"

    @property
    def judgments(self) -> Path:
        """Judgments."""
        return self.folder / "judgments.parquet"

    @property
    def queries(self) -> Path:
        """Attributes of queries."""
        return self.folder / "queries.parquet"

    @property
    def outcomes(self) -> Path:
        """Revenue of purchases, where `actions` were asked for."""
        return self.folder / "outcomes.parquet"

    @property
    def assignments(self) -> Path:
        """Users by arm, where there are A/B tests."""
        return self.folder / "assignments.parquet"

    @property
    def tests(self) -> Path:
        """The true differences of the tests."""
        return self.folder / "truth_tests.csv"

    @property
    def truth(self) -> Path:
        """The planted user model."""
        return self.folder / "truth.json"

    def __repr__(self) -> str:
        return f"Simulated log: {self.folder}"
