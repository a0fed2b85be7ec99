"""The summary of a run as types: what `run --json` prints and `run.json` keeps.

Readers of a run directory check summaries by these types, and nothing else has to. A key that an older release left
out, or that only some runs have, may be missing; keys that are not named may hold anything.
"""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Gt, Le
from typing_extensions import TypedDict

# Far beyond anything that is measured, and exact where numbers become floats.
_MOST = 10**18

Number = Annotated[float, Ge(-_MOST), Le(_MOST)]
Amount = Annotated[float, Ge(0), Le(_MOST)]
Count = Annotated[int, Ge(0), Le(_MOST)]
Partitions = Annotated[int, Ge(1), Le(1_000_000)]
VerdictWord = Literal["pass", "fail", "unknown"]


class FindingText(TypedDict):
    """The answer to one question behind the verdict."""

    question: str
    verdict: VerdictWord
    reason: str


class LatencyNumbers(TypedDict):
    """A kind of latency in seconds; what the sample does not support is None."""

    count: NotRequired[Count | None]
    mean: Number | None
    p50: Number | None
    p90: Number | None
    p95: Number | None
    p99: Number | None
    max: Number | None


class DistributionNumbers(TypedDict):
    """Seconds of micro-batches."""

    mean: Number | None
    p50: NotRequired[Number | None]
    p95: Number | None
    max: Number | None


class BacklogNumbers(TypedDict):
    """Events that wait, and how their number grows."""

    mean: Number | None
    max: Number | None
    slope_per_s: Number | None
    slope_low_per_s: NotRequired[Number | None]
    slope_high_per_s: NotRequired[Number | None]


class SpreadNumbers(TypedDict):
    """Standard deviations over means."""

    throughput: Number | None
    latency: Number | None


class EpisodeNumbers(TypedDict):
    """A time in which the query was behind."""

    start_s: Number
    end_s: Number
    peak_backlog: NotRequired[Number]
    batches: NotRequired[Count]
    is_open: NotRequired[bool]


class PressureNumbers(TypedDict):
    """Whether and when the query was behind its load."""

    state: str | None
    reason: str
    episodes: NotRequired[list[EpisodeNumbers] | None]
    total_s: NotRequired[Number | None]
    longest_s: NotRequired[Number | None]
    share: NotRequired[Number | None]
    overruns: NotRequired[Count | None]
    spread: NotRequired[SpreadNumbers]
    spread_in_episodes: NotRequired[SpreadNumbers]
    spread_between_episodes: NotRequired[SpreadNumbers]


class SteadyNumbers(TypedDict):
    """The measured time, in seconds of the load, and whether latencies were level in it."""

    from_s: Number
    until_s: Number
    cut_batches: NotRequired[Count | None]
    settled: NotRequired[bool | None]
    reason: NotRequired[str | None]
    change: NotRequired[Number | None]


class StateNumbers(TypedDict):
    """What is kept between micro-batches."""

    rows_max: Amount | None
    bytes_max: Amount | None
    late_rows: NotRequired[Count | None]


class SkewNumbers(TypedDict):
    """The slowest task of a stage by the mean of its tasks."""

    median: Number
    max: Number


class StageNumbers(TypedDict, total=False):
    """The tasks of the measured micro-batches."""

    tasks: Count | None
    failed_tasks: Count | None
    missing_tasks: Count | None
    run_s: Number | None
    cpu_s: Number | None
    gc_s: Number | None
    shuffle_bytes: Amount | None
    spilled_bytes: Amount | None
    cpu_s_per_event: Number | None
    skew: SkewNumbers | None
    executors: Count | None


class ResourceNumbers(TypedDict, total=False):
    """What the processes of a run used, by role, and what the clock did."""

    cores_used: dict[str, Number] | None
    peak_memory_bytes: dict[str, Amount] | None
    stolen_share: Number | None
    slowdown: Annotated[float, Gt(0), Le(_MOST)] | None
    clock_jump_s: Number | None
    clock_drift_s: Number | None


class MachineNumbers(TypedDict, total=False):
    """What others took of the machine; None is what this system does not show."""

    contended: bool
    level: Number
    reasons: list[str]
    cores: Count | None
    foreign_cores: Number | None
    waited_share: Number | None
    slowdown: Number | None
    stolen_share: Number | None
    quota_cores: Number | None
    throttled_share: Number | None
    cpu_some_share: Number | None
    io_some_share: Number | None
    io_full_share: Number | None
    memory_some_share: Number | None
    memory_full_share: Number | None
    frequency_hz: Number | None
    not_visible: list[str]


class CoreNumbers(TypedDict):
    """The cores that Spark used, and what each of them processed."""

    used: Number
    events_per_s_per_core: Number | None
    core_seconds: Number


class GeneratorNumbers(TypedDict):
    """What it costs to generate the events, and which columns these have."""

    core_s_per_event: Number
    columns: list[str]
    share_of_cores: NotRequired[Number | None]


class AnswerNumbers(TypedDict):
    """The answer of the query against the reference."""

    verdict: VerdictWord
    rows_expected: Count
    rows_got: NotRequired[Count]
    rows_missing: Count
    rows_extra: Count
    events: Count


class RecountNumbers(AnswerNumbers):
    """The content of a sink against an answer that is computed anew from the topic."""

    events_lost: NotRequired[Count]
    events_doubled: NotRequired[Count]


class DeliveryNumbers(TypedDict):
    """How well a load generator kept to the law of the load."""

    sent: Count
    late: NotRequired[Count]
    failed: NotRequired[Count]
    late_share: NotRequired[Number | None]
    max_late_s: Number
    mean_late_s: NotRequired[Number | None]


class ConvergenceStep(TypedDict):
    """How far k-means was from the true centres after that many points."""

    events: Amount
    mean_distance: Number


class Summary(TypedDict, total=False):
    """Everything that a run says about itself; one that ended before its load has only the first lines."""

    schema_version: int
    run_id: str
    run_dir: str
    workload: str
    verdict: VerdictWord
    reasons: list[str]
    findings: list[FindingText]
    warnings: list[str]
    load: str | None
    mode: str | None
    latency_until: str | None
    offered_rate_per_s: Number | None
    ingested_rate_per_s: Number | None
    processed_rate_per_s: Number | None
    offline_rate_per_s: Number | None
    capacity_per_s: Number | None
    offline_run_id: str | None
    end_to_end_latency_s: LatencyNumbers
    window_latency_s: LatencyNumbers | None
    yahoo_latency_s: LatencyNumbers | None
    source_to_sink_latency_s: LatencyNumbers | None
    backlog_events: BacklogNumbers
    back_pressure: PressureNumbers | None
    batches: Count | None
    batch_duration_s: DistributionNumbers
    batch_interval_s: DistributionNumbers
    phases_s: dict[str, Number]
    non_functional_share: Number | None
    events: Count | None
    events_processed: Count
    events_unprocessed: int | None
    steady_state: SteadyNumbers
    state: StateNumbers
    stages: StageNumbers | None
    resources: ResourceNumbers | None
    machine: MachineNumbers | None
    core_use: CoreNumbers | None
    generator: GeneratorNumbers | None
    answer: AnswerNumbers | None
    executors: list[dict[str, Any]]
    clocks: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    fault: dict[str, Any]
    # Whether an engine that is not real ran it: no evidence.
    rehearsal: bool
    convergence: list[ConvergenceStep] | None
    cores: Partitions | None
    output_mode: str | None
    # Runs with a broker or another server.
    topic: str
    result_topic: str
    results: Count
    delivery: DeliveryNumbers | None
    recount: RecountNumbers | None
    records: Count
    malformed_records: Count
    partitions_apart_s: Number | None
    # Why numbers are null, by their key.
    unknown: dict[str, str]


# What a run that was measured has: one with the key `batches`.
MEASURED_KEYS = (
    *("offered_rate_per_s", "ingested_rate_per_s", "processed_rate_per_s", "end_to_end_latency_s", "backlog_events"),
    *("batch_duration_s", "phases_s", "non_functional_share", "events", "events_processed", "events_unprocessed"),
    *("steady_state", "state", "generator", "resources"),
)


def is_measured(summary: Summary) -> bool:
    """Return whether a run was measured, and did not end before."""
    return "batches" in summary
