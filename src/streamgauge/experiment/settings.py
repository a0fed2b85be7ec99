"""Everything that a user can choose for a run, checked and in SI units."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from streamgauge.arrivals import Law, parse_law
from streamgauge.arrivals.notation import MAX_SEED
from streamgauge.engine.session import refuse_reserved
from streamgauge.errors import UsageError, closest
from streamgauge.kafka.options import refuse_open_password, refuse_open_secrets
from streamgauge.kafka.records import check_format
from streamgauge.suite.settings import DEFAULT_RATES, LATENCIES, MAX_CORES, MAX_PARTITIONS, SINKS, SOURCES, usual_rate
from streamgauge.units import parse_count, parse_duration, parse_rate
from streamgauge.workloads.modes import MODES, UNBATCHED

# Under overload a micro-batch is held to about this long, or to this many triggers.
ADMIT_S = 3.0
ADMIT_TRIGGERS = 2.0
MASTER = re.compile(r"local(-cluster)?(\[[\d*, ]+\])?|yarn|(spark|k8s)://\S+")
MAX_TOTAL_EVENTS = 10**13
# An offline load may take this many times as long as the time its events span.
OFFLINE_LOADS = 10.0


@dataclass(frozen=True)
class RunSettings:
    """One run's settings. `None` means: decided when Spark has started and its cores are known."""

    rate_per_s: float
    duration_s: float
    arrivals: str = "constant"
    warmup_s: float = 10.0
    drain_s: float = 30.0
    trigger_s: float = 0.0
    master: str = "local[*]"
    shuffle_partitions: int | None = None
    source_partitions: int | None = None
    max_rows_per_batch: int | None = None
    seed: int = 1
    verify: bool = True
    source: str = "embedded"
    sink: str = "noop"
    mode: str = "micro-batch"
    latency: str = "commit"
    conf: Mapping[str, str] = field(default_factory=dict)
    load: str = "open"
    kafka: str | None = None
    topic: str | None = None
    format: str = "json"
    kafka_options: Mapping[str, str] = field(default_factory=dict)
    external_load: bool = False
    redis: str | None = None
    explore: bool = False

    @property
    def law(self) -> Law:
        """The arrival law."""
        return parse_law(self.arrivals, rate_per_s=self.rate_per_s, seed=self.seed)

    @property
    def load_s(self) -> float:
        """How long events are offered: warm-up and measurement."""
        return self.warmup_s + self.duration_s

    @property
    def is_offline(self) -> bool:
        """All events are there before the query starts."""
        return self.load == "offline"

    @property
    def deadline_s(self) -> float:
        """How long to wait, at most, until every event that exists is processed."""
        return max(self.drain_s, OFFLINE_LOADS * self.load_s) if self.is_offline else self.drain_s

    @property
    def admission_target_s(self) -> float:
        """How long a micro-batch may take, about, when more events wait than it can hold."""
        return max(ADMIT_S, ADMIT_TRIGGERS * self.trigger_s)

    def document(self) -> dict[str, Any]:
        """Return the settings as they are stored."""
        return asdict(self)


def _choice(value: str, known: Sequence[str], where: str) -> str:
    if value not in known:
        raise UsageError(f'"{value}" is not available', where=where, remedy=closest(value, known))
    return value


def _local_master(cores: int | None, master: str | None) -> str:
    if master is not None and cores is not None:
        raise UsageError(
            "--cores and --master exclude each other",
            remedy="use --cores N alone for local[N], or --master alone",
        )
    if master is not None:
        if not MASTER.fullmatch(master):
            remedy = "use local[2], spark://host:7077, yarn or k8s://host:443"
            raise UsageError(f'"{master}" is no master URL', where="--master", remedy=remedy)
        return master
    available = os.cpu_count() or 1
    chosen = available if cores is None else cores
    if not 1 <= chosen <= MAX_CORES:
        raise UsageError(f"{chosen} cores cannot be used", where="--cores", remedy=f"use 1 to {available}")
    return f"local[{chosen}]"


def _partitions(value: int | None, where: str) -> int | None:
    if value is not None and not 1 <= value <= MAX_PARTITIONS:
        raise UsageError(f"{value} partitions cannot be made", where=where, remedy=f"use 1 to {MAX_PARTITIONS}")
    return value


def _refuse_idle_options(settings: RunSettings) -> None:
    """Refuse options of a broker where there is none, and loads that a broker cannot have."""
    is_source, is_used = settings.source == "kafka", "kafka" in (settings.source, settings.sink)
    idle = {
        "--kafka": settings.kafka is not None and not is_used,
        "--topic": settings.topic is not None and not is_used,
        "--kafka-option": bool(settings.kafka_options) and not is_used,
        "--format": settings.format != "json" and not is_source,
        "--external-load": settings.external_load and not is_source,
        "--redis": settings.redis is not None and settings.sink != "redis",
    }
    for option, is_idle in idle.items():
        if is_idle:
            needed = "--sink redis" if option == "--redis" else "--source kafka"
            raise UsageError("nothing in this run uses it", where=option, remedy=f"add {needed}, or leave it out")
    if is_source and settings.load != "open":
        what = f"a topic is filled as time goes on, so its load cannot be {settings.load}"
        raise UsageError(what, where="--load", remedy="leave --load out, or use --source embedded")


def parse_seed(seed: int) -> int:
    """Refuse a seed that does not fit in the 64 bits that every draw hashes."""
    if not -MAX_SEED <= seed <= MAX_SEED:
        raise UsageError(f"seed {seed} is out of range", where="--seed", remedy=f"use {-MAX_SEED} to {MAX_SEED}")
    return seed


def parse_settings(
    *,
    load: str = "open",
    rate: str | float | None = None,
    duration: str | float = "30s",
    arrivals: str = "constant",
    warmup: str | float = "10s",
    drain: str | float = "30s",
    trigger: str | float = "0s",
    cores: int | None = None,
    master: str | None = None,
    shuffle_partitions: int | None = None,
    source_partitions: int | None = None,
    max_rows_per_batch: str | int | None = None,
    seed: int = 1,
    verify: bool = True,
    source: str = "embedded",
    sink: str | None = None,
    mode: str = "micro-batch",
    latency: str | None = None,
    conf: Mapping[str, str] | None = None,
    kafka: str | None = None,
    topic: str | None = None,
    format: str = "json",  # noqa: A002
    kafka_options: Mapping[str, str] | None = None,
    external_load: bool = False,
    redis: str | None = None,
    explore: bool = True,
) -> RunSettings:
    """Read what people write; every mistake is a `UsageError` that names the option."""
    limit = None if max_rows_per_batch is None else parse_count(max_rows_per_batch, where="--max-rows-per-batch")
    chosen_load = _choice(load, tuple(DEFAULT_RATES), "--load")
    is_unbatched = _choice(mode, MODES, "--mode") in UNBATCHED
    settings = RunSettings(
        rate_per_s=parse_rate(usual_rate(chosen_load, mode) if rate is None else rate),
        duration_s=parse_duration(duration, minimum_s=1.0),
        arrivals=arrivals,
        warmup_s=parse_duration(warmup, where="--warmup"),
        drain_s=parse_duration(drain, where="--drain"),
        trigger_s=parse_duration(trigger, where="--trigger"),
        master=_local_master(cores, master),
        shuffle_partitions=_partitions(shuffle_partitions, "--shuffle-partitions"),
        source_partitions=_partitions(source_partitions, "--source-partitions"),
        max_rows_per_batch=limit,
        seed=parse_seed(seed),
        verify=verify,
        source=_choice(source, SOURCES, "--source"),
        sink=_choice(sink or ("kafka" if is_unbatched else "noop"), SINKS, "--sink"),
        mode=mode,
        latency=_choice(latency or ("record" if is_unbatched else "commit"), LATENCIES, "--latency"),
        conf=dict(conf or {}),
        load=chosen_load,
        kafka=kafka,
        topic=topic,
        format=check_format(format),
        kafka_options=dict(kafka_options or {}),
        external_load=external_load,
        redis=redis,
        explore=explore,
    )
    _refuse_idle_options(settings)
    refuse_open_secrets(settings.kafka_options)
    refuse_open_password(settings.redis)
    if settings.law.mean_rate_per_s(settings.load_s) * settings.load_s > MAX_TOTAL_EVENTS:
        raise UsageError("more than 10^13 events in one run", where="--rate", remedy="lower the rate or the duration")
    refuse_reserved(settings.conf)
    return settings
