"""Everything that a user can choose for a run, checked and in SI units."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Unpack

from streamgauge.arrivals import Law, parse_law
from streamgauge.arrivals.admission import admission_target_s
from streamgauge.connectors.kafka.options import Format, refuse_open_secrets
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.secrets import refuse_open_conf, refuse_open_password
from streamgauge.settings.keywords import RunKeywords
from streamgauge.settings.table import SETTINGS, UNBATCHED, refuse_unknown, usual_rate

MASTER = re.compile(r"local(-cluster)?(\[[\d*, ]+\])?|yarn|(spark|k8s)://\S+")
MAX_TOTAL_EVENTS = 10**13
# An offline load may take this many times as long as the time its events span.
OFFLINE_LOADS = 10.0

_DEFAULTS = {name: setting.default for name, setting in SETTINGS.items() if setting.default is not None}


@dataclass(frozen=True)
class RunSettings:
    """One run's settings, as `settings.table` lists them. `None` means: decided when Spark has started.

    `events` is the event stream of a user's function; other workloads have their own.
    """

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
    timing: str = "commit"
    conf: Mapping[str, str] = field(default_factory=dict)
    load: str = "open"
    kafka: str | None = None
    topic: str | None = None
    record_format: Format = "json"
    kafka_options: Mapping[str, str] = field(default_factory=dict)
    external_load: bool = False
    redis: str | None = None
    # Runs of versions that did not store it did not explore.
    explore: bool = False
    events: str | None = None
    engine: str = "spark"

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
        return admission_target_s(self.trigger_s)

    def document(self) -> dict[str, Any]:
        """Return the settings as they are stored."""
        return asdict(self)


def _master(cores: int | None, master: str | None) -> str:
    if master is None:
        return f"local[{cores or os.cpu_count() or 1}]"
    if cores is not None:
        raise UsageError(
            "--cores and --master exclude each other",
            remedy="use --cores N alone for local[N], or --master alone",
        )
    if not MASTER.fullmatch(master):
        remedy = "use local[2], spark://host:7077, yarn or k8s://host:443"
        raise UsageError(f'"{master}" is not a master URL', where="--master", remedy=remedy)
    return master


def _refuse_idle_options(settings: RunSettings) -> None:
    """Refuse options of a broker where there is none, and loads that a broker cannot have."""
    is_source, is_used = settings.source == "kafka", "kafka" in (settings.source, settings.sink)
    idle = {
        "--kafka": settings.kafka is not None and not is_used,
        "--topic": settings.topic is not None and not is_used,
        "--kafka-option": bool(settings.kafka_options) and not is_used,
        "--record-format": settings.record_format != "json" and not is_source,
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


def parse_settings(**given: Unpack[RunKeywords]) -> RunSettings:
    """Read what people write; every mistake is a `UsageError` that names the option."""
    refuse_unknown("run", given, SETTINGS)
    asked = _DEFAULTS | {name: value for name, value in given.items() if value is not None}
    read = {name: setting.read(asked[name]) for name, setting in SETTINGS.items() if name in asked}
    is_unbatched = read["mode"] in UNBATCHED
    read.setdefault("rate", SETTINGS["rate"].read(usual_rate(read["load"], read["mode"])))
    read.setdefault("sink", "kafka" if is_unbatched else "noop")
    read.setdefault("timing", "record" if is_unbatched else "commit")
    read["master"] = _master(read.pop("cores", None), read.get("master"))
    read.pop("parameters", None)
    settings = RunSettings(**{SETTINGS[name].field: value for name, value in read.items()})
    _refuse_idle_options(settings)
    refuse_open_secrets(settings.kafka_options)
    refuse_open_conf(settings.conf)
    refuse_open_password(settings.redis)
    if settings.law.mean_rate_per_s(settings.load_s) * settings.load_s > MAX_TOTAL_EVENTS:
        raise UsageError("more than 10^13 events in one run", where="--rate", remedy="lower the rate or the duration")
    refuse_reserved(settings.conf)
    return settings


RESERVED = {
    "spark.master": "use --master or --cores",
    "spark.sql.shuffle.partitions": "use --shuffle-partitions",
    "spark.eventLog.enabled": "leave it out: stage and task metrics are read from the event log",
    "spark.eventLog.dir": "leave it out: the event log is kept with the run",
    "spark.eventLog.compress": "leave it out: the event log is read while it is written",
    "spark.eventLog.rolling.enabled": "leave it out: the event log is read while it is written",
    "spark.sql.session.timeZone": "leave it out: events and references are in UTC",
}


def refuse_reserved(conf: Mapping[str, str]) -> None:
    """Refuse Spark settings that a run depends on, with what to do instead."""
    for key in conf:
        if key in RESERVED:
            raise InvalidExperimentError(f"{key} cannot be set", where="--conf", remedy=RESERVED[key])
