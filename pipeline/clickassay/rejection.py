"""When too many rows of an input are unusable, the input is probably misread: stop and say so."""

from collections.abc import Mapping

from clickassay.errors import InputError

_TIME_HINT = (
    " Times must be timestamps or milliseconds since 1970, from 1990 to 2100; "
    "are these seconds or microseconds?"
)


def check_rejected(source: str, reasons: Mapping[str, int], read: int, limit: float) -> None:
    """Stop when more than the part `limit` of the rows read is unusable.

    Raises
    ------
    InputError
        Naming the reasons with their counts, most frequent first.
    """
    rejected = sum(reasons.values())
    if rejected <= limit * read:
        return
    ordered = sorted((item for item in reasons.items() if item[1]), key=lambda item: (-item[1], item[0]))
    found = ", ".join(f"{rows:,} with {reason}" for reason, rows in ordered)
    hint = _TIME_HINT if reasons.get("time out of range") else ""
    raise InputError(
        f"{source}: {rejected:,} of {read:,} rows are unusable ({found}), more than the {limit:.2%} that "
        f"--max-rejected allows; is the input read as it is meant?{hint}"
    )
