"""What readers rely on in the tables of a run: which columns, of which kind, with which values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

if TYPE_CHECKING:
    import pyarrow as pa

# Exact as a float, and in microseconds the year 2255.
MAX_WHOLE = 2**53
MAX_NUMBER = 1e18
_KIND_WORDS = {int: "whole numbers", float: "numbers", bool: "true or false", str: "text"}


@dataclass(frozen=True)
class Column:
    """A column that is known: of one kind, perhaps with gaps, and perhaps not there at all."""

    kind: type
    may_lack: bool = False
    is_needed: bool = True


_PHASES = ("source_offsets", "offset_log", "source_plan", "query_planning", "execution", "commit_log", "other")
_WHOLE, _NUMBER = Column(int), Column(float)
_EXPLORED = {
    **dict.fromkeys(("batch_id", "started_us", "emitted_us", "finished_us", "events", "state_rows"), _WHOLE),
    **dict.fromkeys(("first", "last", "state_bytes", "late_rows"), Column(int, is_needed=False)),
    **dict.fromkeys(("left", "output_rows", "watermark_us"), Column(int, may_lack=True, is_needed=False)),
    "duration_s": _NUMBER,
    "state_commit_s": Column(float, is_needed=False),
    **dict.fromkeys((f"{phase}_s" for phase in _PHASES), _NUMBER),
}
_KNOWN = {
    "batches": _EXPLORED
    | dict.fromkeys(
        ("backlog_events", "end_to_end_latency_mean_s", "end_to_end_latency_max_s"),
        Column(float, may_lack=True, is_needed=False),
    ),
    "explored": _EXPLORED,
    "latency": dict.fromkeys(("low_us", "high_us", "count"), _WHOLE),
    "resources": {"at_us": _WHOLE},
}
# The model of runs reads these; a whole task has more.
_NEEDED_OF_TASKS = (
    "batch_id", "stage_id", "stage_tasks", "partition", "launched_us", "finished_us", "is_ok", "cpu_s", "input_rows",
    "shuffle_read_rows", "shuffle_read_bytes", "shuffle_write_rows", "shuffle_write_bytes",
)  # fmt: skip


def _of_record(record: type[Any], needed: tuple[str, ...]) -> dict[str, Column]:
    """Return a column for each field of a record, by its type."""
    hints, found = get_type_hints(record), {}
    for name in (field.name for field in fields(record)):
        kinds = [kind for kind in get_args(hints[name]) or (hints[name],) if kind is not NoneType]
        found[name] = Column(kinds[0], NoneType in get_args(hints[name]), name in needed)
    return found


def columns_of(name: str) -> dict[str, Column]:
    """Return what is known of a table; nothing for a table that is not ours."""
    from streamgauge.measure.records import StageRecord, TaskRecord

    if name in ("tasks", "explored_tasks"):
        return _of_record(TaskRecord, _NEEDED_OF_TASKS)
    return _of_record(StageRecord, ("batch_id", "stage_id")) if name == "stages" else _KNOWN.get(name, {})


def problems_in_table(name: str, table: "pa.Table", wanted: Sequence[str] | None = None) -> list[str]:
    """Return what readers could not use in a table, all at once; `wanted` are the columns that were read of it."""
    names = table.column_names
    if len(set(names)) < len(names):
        return ["two columns have the same name"]
    # A table without rows lost its types where all of a column would be null.
    known = columns_of(name) if table.num_rows else {}
    asked = known if wanted is None else [column for column in wanted if column in known]
    missing = [column for column in asked if known[column].is_needed and column not in names]
    found = [f"columns are missing: {', '.join(missing)}"] if missing else []
    for column in names:
        found += [f'column "{column}" {problem}' for problem in _problems(table.column(column), known.get(column))]
    return found


def _problems(values: "pa.ChunkedArray", facts: Column | None) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_whole, is_float = pa.types.is_integer(values.type), pa.types.is_floating(values.type)
    if facts is not None and not _fits(values.type, facts):
        yield f"holds {values.type}, not {_KIND_WORDS[facts.kind]}"
        return
    if facts is not None and values.null_count and not facts.may_lack:
        yield "has gaps"
    if is_float and not pc.all(pc.is_finite(values), min_count=0).as_py():
        yield "has a number that is not finite"
    elif (is_whole or is_float) and len(values) > values.null_count:
        ends, limit = pc.min_max(values).as_py(), MAX_WHOLE if is_whole else MAX_NUMBER
        if ends["min"] < -limit or ends["max"] > limit:
            yield f"has the number {ends['min'] if ends['min'] < -limit else ends['max']}, which cannot be measured"


def _fits(found: "pa.DataType", facts: Column) -> bool:
    import pyarrow as pa

    if pa.types.is_null(found):
        return facts.may_lack
    if facts.kind is bool:
        return bool(pa.types.is_boolean(found))
    if facts.kind is str:
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    return bool(pa.types.is_integer(found) or (facts.kind is float and pa.types.is_floating(found)))
