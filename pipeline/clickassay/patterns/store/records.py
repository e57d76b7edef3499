"""The forms of the records of a store, store.json and batch.json: the parts that are read later."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from clickassay.core.settings import LOG_SETTINGS, NAMED_SETTINGS, Settings

Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class StoreRecord(BaseModel):
    """The content of store.json; its settings are compared with the settings that are asked for."""

    format: int
    forgotten_before: Count
    stored_depth: Count
    only_judged: bool
    judged_queries: str | None


class RecordedFile(BaseModel):
    """A file of the log that a batch has read; older stores name its digest otherwise."""

    name: str
    path: str
    bytes: Count
    digest: str | None = None
    sha256: str | None = None

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        """Refuse a file without a digest."""
        if self.digest is None and self.sha256 is None:
            raise ValueError("no digest")
        return self


class RecordedFiles(BaseModel):
    """The files of both halves of the log."""

    searches: list[RecordedFile]
    clicks: list[RecordedFile]


class CountedRows(BaseModel):
    """A row of the funnel up to a batch."""

    source: str
    step: str
    reason: str
    rows: Count


class BatchRecord(BaseModel):
    """The content of batch.json."""

    run: Annotated[int, Field(ge=1)]
    start_ms: int | None
    watermark_ms: int
    ids: list[int] | None = Field(min_length=2, max_length=2)
    ends_run: bool
    files: RecordedFiles
    counted: list[CountedRows]
    settings: dict[str, Any]
    versions: dict[str, Any]
    digests: dict[str, str]

    @field_validator("settings")
    @classmethod
    def _name_the_log(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Refuse settings that lack one of the log, which a report on the store repeats, or are none."""
        missing = [name for name in NAMED_SETTINGS if name not in settings]
        if missing:
            raise ValueError(f"no {missing[0]}")
        Settings(**{name: settings[name] for name in LOG_SETTINGS if name in settings})
        return settings
