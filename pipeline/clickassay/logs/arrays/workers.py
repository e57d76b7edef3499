"""Threads that share the work of a log; NumPy, Polars and PyArrow let others run while they work."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from types import TracebackType
from typing import Self, TypeVar

_WAITING = 1.5
"""Items for each thread that are taken up before the first of them is done: each holds rows."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Threads for pieces of work that need nothing from each other."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool, self._ahead = ThreadPoolExecutor(self.threads), ThreadPoolExecutor(1)
        self._ended = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ended.set()
        for pool in (self._ahead, self._pool):
            pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results of all items, in their order."""
        return list(self.each(work, items))

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results of items in their order; few items are taken up before they are worked on."""
        waiting: list[Future[Result]] = []
        for item in items:
            if self._ended.is_set():
                return
            waiting.append(self._pool.submit(work, item))
            if len(waiting) > _WAITING * self.threads:
                yield waiting.pop(0).result()
        for result in waiting:
            yield result.result()

    def ahead(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Yield the results of items in their order; the next one is made while one is used."""
        following = [self._ahead.submit(work, item) for item in items[:1]]
        for place in range(len(items)):
            made = [following.pop().result()]
            following += [self._ahead.submit(work, item) for item in items[place + 1 : place + 2]]
            yield made.pop()  # not held here any longer
