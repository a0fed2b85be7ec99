"""Predictions in words: their settings, their intervals and what limits them."""

import math
from collections.abc import Callable, Sequence

from streamgauge.model import Estimate, Prediction, Settings
from streamgauge.predicting.predict import Predictions
from streamgauge.units import format_count, format_duration, format_rate

# From this many rates on, a curve says more than the table does.
MIN_CURVE = 4
INTERVALS = "intervals hold 90 % of what one new run would measure"

WORDS = {
    "rate_per_s": "rate",
    "trigger_s": "trigger",
    "shuffle_partitions": "shuffle partitions",
    "source_partitions": "source partitions",
    "max_rows_per_batch": "admission limit",
    "duration_s": "duration",
    "warmup_s": "warm-up",
}


# The numbers of a prediction in a table of several.
PREDICTED = ("latency", "90 %", "p95", "batch", "processed", "limit")


def setting_text(settings: Settings, name: str) -> str:
    """Write a setting as a person would.

    >>> setting_text(Settings(rate_per_s=200_000.0, cores=2, trigger_s=0.5), "trigger_s")
    '500 ms'
    """
    value = getattr(settings, name)
    if name.endswith("_per_s"):
        return format_rate(value)
    if name.endswith("_s"):
        return format_duration(value)
    if value is None:
        return "adapts" if name == "max_rows_per_batch" else "one per core"
    return format_count(value) if name == "max_rows_per_batch" else str(value)


def settings_text(settings: Settings) -> str:
    """Write the settings of a prediction in one line."""
    trigger = f"trigger {format_duration(settings.trigger_s)}" if settings.trigger_s else "no trigger interval"
    parts = [f"{format_rate(settings.rate_per_s)} {settings.arrivals}", trigger, f"{settings.cores} cores"]
    if settings.shuffle_partitions is not None:
        parts.append(f"{settings.shuffle_partitions} shuffle partitions")
    if settings.source_partitions is not None:
        parts.append(f"{settings.source_partitions} source partitions")
    if settings.max_rows_per_batch is not None:
        parts.append(f"at most {format_count(settings.max_rows_per_batch)} events per micro-batch")
    return ", ".join(parts)


def answer(prediction: Prediction) -> str:
    """Say in a few words whether the load is sustained."""
    if prediction.verdict.value == "unknown":
        return "unknown"
    return "stable" if prediction.stable else "not sustained"


def bottleneck_text(one: Prediction) -> str:
    """Name the bottleneck and its share."""
    part = "of the micro-batches" if one.bottleneck == "admission limit" else "of a micro-batch"
    return f"{one.bottleneck}, {one.bottleneck_share:.0%} {part}"


def interval_text(estimate: Estimate) -> str:
    """Write an interval of seconds so that it needs little room.

    >>> interval_text(Estimate(1.0, 0.9371, 1.2684))
    '0.937 to 1.27 s'
    """
    return f"{estimate.low:.3g} to {estimate.high:.3g} s" if math.isfinite(estimate.value) else "unknown"


def _value(estimate: Estimate, form: Callable[[float], str]) -> str:
    return form(estimate.value) if math.isfinite(estimate.value) else "unknown"


def names_of_varied(found: Predictions) -> tuple[str, ...]:
    """Name the settings in which predictions differ."""
    return tuple(WORDS.get(name, name) for name in found.varied)


def cells(one: Prediction, varied: Sequence[str]) -> tuple[str, ...]:
    """Return the settings in which a prediction differs from others, and the numbers of `PREDICTED`."""
    return (
        *(setting_text(one.settings, name) for name in varied),
        _value(one.latency_mean_s, format_duration),
        interval_text(one.latency_mean_s),
        _value(one.latency_p95_s, format_duration),
        _value(one.batch_duration_s, format_duration),
        _value(one.processed_rate_per_s, format_rate),
        _value(one.sustainable_rate_per_s, format_rate),
    )


def is_curve(found: Predictions) -> bool:
    """Return whether latency can be drawn against load: only the rate differs, and there are some of them."""
    return found.varied == ("rate_per_s",) and len(found.predictions) >= MIN_CURVE


def limit_of(predictions: Sequence[Prediction]) -> Estimate:
    """Return the sustainable rate of predictions that differ in their rate only."""
    return predictions[len(predictions) // 2].sustainable_rate_per_s
