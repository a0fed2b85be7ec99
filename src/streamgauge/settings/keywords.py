"""The keywords of Python functions that take settings; `scripts/settings` writes this file from the table."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict


class GenerateKeywords(TypedDict, total=False):
    """Settings of `generate`."""

    rate: str | float | None
    cores: int | None
    source_partitions: int | None
    parameters: Mapping[str, Any] | None
    seed: int | None


class VerifyKeywords(TypedDict, total=False):
    """Settings of `verify`."""

    rate: str | float | None
    cores: int | None
    master: str | None
    parameters: Mapping[str, Any] | None
    conf: Mapping[str, str] | None
    engine: str | None
    seed: int | None


class LoadKeywords(TypedDict, total=False):
    """Settings of `load`."""

    rate: str | float | None
    arrivals: str | None
    duration: str | float | None
    parameters: Mapping[str, Any] | None
    events: str | None
    kafka: str | None
    topic: str | None
    record_format: Literal["json", "binary"] | None
    kafka_options: Mapping[str, str] | None
    seed: int | None


class MeasuringKeywords(TypedDict, total=False):
    """Settings of all commands that run a workload."""

    rate: str | float | None
    duration: str | float | None
    drain: str | float | None
    trigger: str | float | None
    source_partitions: int | None
    max_rows_per_batch: str | int | None
    parameters: Mapping[str, Any] | None
    conf: Mapping[str, str] | None
    kafka: str | None
    topic: str | None
    record_format: Literal["json", "binary"] | None
    kafka_options: Mapping[str, str] | None
    external_load: bool | None
    redis: str | None
    seed: int | None


class FaultKeywords(MeasuringKeywords, total=False):
    """Settings of `fault`."""

    arrivals: str | None
    cores: int | None
    master: str | None
    shuffle_partitions: int | None
    engine: str | None


class CalibrateKeywords(MeasuringKeywords, total=False):
    """Settings of `calibrate`."""

    warmup: str | float | None
    cores: int | None
    shuffle_partitions: int | None
    events: str | None
    source: Literal["embedded", "kafka"] | None
    sink: Literal["noop", "kafka", "redis"] | None
    mode: Literal["micro-batch", "micro-batch-async", "real-time", "continuous"] | None
    timing: Literal["commit", "record"] | None
    verify: bool | None


class ScaleKeywords(MeasuringKeywords, total=False):
    """Settings of `scale`."""

    warmup: str | float | None
    master: str | None
    events: str | None
    source: Literal["embedded", "kafka"] | None
    sink: Literal["noop", "kafka", "redis"] | None
    mode: Literal["micro-batch", "micro-batch-async", "real-time", "continuous"] | None
    timing: Literal["commit", "record"] | None
    engine: str | None
    verify: bool | None


class SurgeKeywords(CalibrateKeywords, total=False):
    """Settings of `surge`."""

    master: str | None
    engine: str | None


class SustainKeywords(SurgeKeywords, total=False):
    """Settings of `sustain`."""


class RunKeywords(SurgeKeywords, total=False):
    """Settings of `run`."""

    load: Literal["open", "offline", "online"] | None
    arrivals: str | None
    explore: bool | None


KEYWORDS: dict[str, type[Any]] = {
    "calibrate": CalibrateKeywords,
    "fault": FaultKeywords,
    "run": RunKeywords,
    "scale": ScaleKeywords,
    "surge": SurgeKeywords,
    "sustain": SustainKeywords,
    "load": LoadKeywords,
    "generate": GenerateKeywords,
    "verify": VerifyKeywords,
}
