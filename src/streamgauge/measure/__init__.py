"""What a run's numbers mean: plain functions on numbers, without Spark and without a clock."""

from streamgauge.measure.accounting import Accounting, account, check_batches
from streamgauge.measure.backlog import BacklogTrend, judge_backlog
from streamgauge.measure.batch import (
    PHASES,
    Batch,
    batch_from_progress,
    batches_from_progress,
    counted_batch,
    observed_batches,
    tells_backlog,
)
from streamgauge.measure.capacity import Capacity, fit_capacity, level_capacity, probability_inside, scatter
from streamgauge.measure.emissions import Emissions, all_processed
from streamgauge.measure.following import LoadSigns, judge_following
from streamgauge.measure.histogram import EDGES_US, RELATIVE_ERROR, Histogram
from streamgauge.measure.latency import batch_latency, negative_events
from streamgauge.measure.observed_load import infer_trigger_s, observed_schedule
from streamgauge.measure.pressure import Pressure, PressureState, find_pressure
from streamgauge.measure.rates import ingested_rate, is_level, offered_rate, processed_rate
from streamgauge.measure.recovery import Recovery, find_recovery, recovery_of_batches
from streamgauge.measure.scaling import Scalability, efficiency, fit_universal_scalability, speed_up
from streamgauge.measure.steady import SteadyState, find_steady_state
from streamgauge.measure.trend import Slope, slope_interval, theil_sen
from streamgauge.measure.windows import window_latency

__all__ = [
    "Accounting",
    "BacklogTrend",
    "Batch",
    "Capacity",
    "EDGES_US",
    "Emissions",
    "Histogram",
    "LoadSigns",
    "PHASES",
    "Pressure",
    "PressureState",
    "RELATIVE_ERROR",
    "Recovery",
    "Scalability",
    "Slope",
    "SteadyState",
    "account",
    "all_processed",
    "batch_from_progress",
    "batch_latency",
    "batches_from_progress",
    "check_batches",
    "counted_batch",
    "efficiency",
    "find_pressure",
    "find_recovery",
    "find_steady_state",
    "fit_capacity",
    "fit_universal_scalability",
    "infer_trigger_s",
    "ingested_rate",
    "is_level",
    "judge_backlog",
    "judge_following",
    "level_capacity",
    "negative_events",
    "observed_batches",
    "observed_schedule",
    "offered_rate",
    "probability_inside",
    "processed_rate",
    "recovery_of_batches",
    "scatter",
    "slope_interval",
    "speed_up",
    "tells_backlog",
    "theil_sen",
    "window_latency",
]
