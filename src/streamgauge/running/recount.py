"""A recount: the events that a topic holds, read without Spark, and the answer that follows from them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streamgauge.conclude.evidence import Evidence, Recount
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.reading import event_numbers, read_records, read_values, used_fields
from streamgauge.connectors.kafka.records import never_null
from streamgauge.connectors.kafka.topic import Topic
from streamgauge.events import Parameters
from streamgauge.running.verify import Differences, event_table, expected_answer, final_answer, find_differences
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa


FAR_FUTURE_US = 4_000_000_000_000_000
MAX_EMBEDDED_EVENTS = 5_000_000
Longs = npt.NDArray[np.int64]


def recount(
    broker: Broker,
    topic: Topic,
    ends: Mapping[int, int],
    workload: Workload,
    parameters: Parameters,
    read_sink: "Callable[[], pa.Table | None]",
    *,
    evidence: Evidence,
) -> Recount | None:
    """Compare the sink with what the records up to `ends` say; None where nothing can be compared."""
    if not _can_compare(workload, evidence) or (got := read_sink()) is None:
        return None
    events, numbers = _read_events(broker, topic, ends, workload, parameters)
    return _compare(workload, parameters, got, events, numbers, evidence)


def recount_embedded(
    workload: Workload,
    parameters: Parameters,
    read_sink: "Callable[[], pa.Table | None]",
    *,
    evidence: Evidence,
) -> Recount | None:
    """Compare the sink with the events of the embedded stream, made anew without Spark; None for too many of them."""
    is_whole = evidence.offered == evidence.schedule.total <= MAX_EMBEDDED_EVENTS
    if not is_whole or not _can_compare(workload, evidence) or (got := read_sink()) is None:
        return None
    events = event_table(
        workload, parameters, evidence.schedule, seed=evidence.settings.seed, load_us=evidence.origin_us
    )
    return _compare(workload, parameters, got, events, np.arange(evidence.offered), evidence)


def _can_compare(workload: Workload, evidence: Evidence) -> bool:
    """Return whether there is an answer, and no micro-batch that was aborted and may have written something."""
    is_drained = bool(evidence.batches) and evidence.batches[-1].last >= evidence.offered
    return workload.answer.is_known and workload.sink.each_batch is None and is_drained


def _compare(
    workload: Workload, parameters: Parameters, got: "pa.Table", events: "pa.Table", numbers: Longs, evidence: Evidence
) -> Recount:
    expected = expected_answer(workload, parameters, events, seed=evidence.settings.seed)
    connection = connect()
    connection.register("output", got)
    connection.register("whole", expected)
    connection.register("got", final_answer(connection, workload, parameters, FAR_FUTURE_US))
    names = ", ".join(connection.sql("FROM whole").columns)
    # A window that is closed early in a reader's eyes is no mistake: the last report of a query may be lost.
    is_final = _is_final(workload, parameters, evidence)
    early = f"SELECT {names} FROM whole WHERE NOT ({is_final}) INTERSECT ALL SELECT {names} FROM got"
    final = f"SELECT {names} FROM whole WHERE {is_final} UNION ALL ({early})"
    connection.register("expected", connection.sql(final).to_arrow_table())
    return judge(find_differences(connection, workload), numbers, offered=evidence.offered, events=events.num_rows)


def _read_events(
    broker: Broker, topic: Topic, ends: Mapping[int, int], workload: Workload, parameters: Parameters
) -> "tuple[pa.Table, Longs]":
    import pyarrow as pa

    fields = used_fields(workload.events, workload.answer.sql)
    needed = never_null(workload.events, parameters)
    tables, numbers = [], [np.empty(0, dtype=np.int64)]
    for keys, values in read_records(broker, topic.name, topic.base, ends):
        tables.append(read_values(workload.events, values, topic.format, fields, needed))
        numbers.append(event_numbers(keys))
    if not tables:
        tables.append(read_values(workload.events, [], topic.format, fields))
    return pa.concat_tables(tables), np.concatenate(numbers)


def _is_final(workload: Workload, parameters: Parameters, evidence: Evidence) -> str:
    """Return which rows must be there: in append mode only those of windows that the watermark has closed."""
    if evidence.output_mode != "append" or workload.window is None:
        return "TRUE"
    window = workload.window(parameters)
    watermark_us = max((b.watermark_us or 0 for b in evidence.batches), default=0)
    return f"epoch_us({window.column}) + {round(window.length_s * 1e6)} <= {watermark_us}"


def judge(found: Differences, numbers: Longs, *, offered: int, events: int) -> Recount:
    """Judge a recount: rows that differ are a wrong answer, events that are not in the topic were never sent."""
    known = np.unique(numbers[(numbers >= 0) & (numbers < offered)])
    lost, doubled = offered - len(known), int(np.count_nonzero(numbers < offered)) - len(known)
    reasons = []
    if found.rows_missing or found.rows_extra:
        reasons.append(
            f"wrong answer: {found.rows_missing} rows missing and {found.rows_extra} extra "
            f"of {found.rows_expected} expected by a recount of the topic"
        )
    if lost or doubled:
        reasons.append(f"the topic lacks {lost:,} of {offered:,} events and holds {doubled:,} more than once")
    if found.rows_expected == 0:
        reasons.append("the recount expects no rows at all, so nothing was compared")
    verdict = Verdict.UNKNOWN if reasons else Verdict.PASS
    if found.rows_missing or found.rows_extra:
        verdict = Verdict.FAIL
    return Recount(
        verdict=verdict,
        reasons=tuple(reasons),
        events=events,
        events_lost=lost,
        events_doubled=doubled,
        rows_expected=found.rows_expected,
        rows_got=found.rows_got,
        rows_missing=found.rows_missing,
        rows_extra=found.rows_extra,
        examples=found.examples,
    )
