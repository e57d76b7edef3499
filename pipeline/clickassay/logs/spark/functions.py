"""Functions of Spark's SQL by their usual name, `F`: an extra, which is imported when one is asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import functions as F  # noqa: N812
else:

    class _Functions:
        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a function of the module
            from pyspark.sql import functions  # noqa: PLC0415

            return getattr(functions, name)

    F = _Functions()

__all__ = ["F"]
