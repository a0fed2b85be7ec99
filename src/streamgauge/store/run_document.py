"""What readers rely on in a run.json, as types: checked once, at the edge, and nowhere else.

Keys that are not named here may hold anything; a key that is named may be missing wherever a release left it out.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from streamgauge.summary import MEASURED_KEYS, Amount, Count, Partitions, Summary, VerdictWord
from streamgauge.units import MAX_SEED

# The year 2255, in microseconds: until then floats hold a microsecond.
_LAST_US = 2**53
_LONGEST_S = 1e9
_MOST_PROBLEMS = 10

Seconds = Annotated[float, Field(ge=0, le=_LONGEST_S)]
Seed = Annotated[int, Field(ge=-MAX_SEED, le=MAX_SEED)]
Instant = Annotated[int, Field(ge=0, le=_LAST_US)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class _Configuration(_Part):
    rate_per_s: Amount | None = None
    duration_s: Seconds | None = None
    warmup_s: Seconds | None = None
    drain_s: Seconds | None = None
    trigger_s: Seconds | None = None
    arrivals: str | None = None
    master: str | None = None
    shuffle_partitions: Partitions | None = None
    source_partitions: Partitions | None = None
    max_rows_per_batch: Count | None = None
    seed: Seed | None = None
    verify: bool | None = None
    explore: bool | None = None
    external_load: bool | None = None
    source: str | None = None
    sink: str | None = None
    mode: str | None = None
    timing: str | None = None
    record_format: str | None = None
    events: str | None = None
    engine: str | None = None
    load: str | None = None
    conf: dict[str, Any] | None = None
    kafka: str | None = None
    topic: str | None = None
    redis: str | None = None
    kafka_options: dict[str, Any] | None = None
    parameters: dict[str, Any] | None = None


class _Environment(_Part):
    packages: dict[str, Any] | None = None
    cores: Partitions | None = None
    memory_bytes: Amount | None = None


class _Maximum(_Part):
    rate_per_s: Amount | None
    run_id: str
    verdict: VerdictWord
    reasons: list[str] | None = None


class _Load(_Part):
    origin_us: Instant
    closed_us: Instant
    cores: Partitions | None = None
    output_mode: str | None = None
    maximum: _Maximum | None = None


class _Application(_Part):
    id: str | None = None
    name: str | None = None


class _Query(_Part):
    id: str | None = None
    name: str | None = None
    application: _Application | None = None
    notes: list[str] | None = None
    failure: str | None = None


class _Document(_Part):
    configuration: _Configuration | None = None
    environment: _Environment | None = None
    load: _Load | None = None
    query: _Query | None = None
    summary: Summary | None = None
    verdict: VerdictWord | None = None
    reasons: list[str] | None = None
    engine: str | None = None
    rehearsal: bool | None = None


def _sentence(detail: Any) -> str:
    path, reason = ".".join(map(str, detail["loc"])), detail["msg"]
    return f'"{path}": {reason[:1].lower()}{reason[1:]}'


def _missing(summary: Any) -> list[str]:
    """Return what the summary of a run that was measured lacks."""
    if not isinstance(summary, Mapping) or "batches" not in summary:
        return []
    return [f'"summary.{key}": field required' for key in MEASURED_KEYS if key not in summary]


def problems_in(document: Mapping[str, Any]) -> list[str]:
    """Return what readers could not use in a run.json, all at once; nothing for a document of ours."""
    # What a run has not reached yet is null, and was an empty object in places.
    given = {key: document[key] for key in _Document.model_fields if document.get(key) not in (None, {})}
    found = _missing(given.get("summary"))
    try:
        _Document.model_validate(given)
    except ValidationError as error:
        found += [_sentence(detail) for detail in error.errors(include_url=False, include_context=False)]
    more = len(found) - _MOST_PROBLEMS
    return [*found[:_MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
