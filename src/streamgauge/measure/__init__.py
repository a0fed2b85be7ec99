"""What a run's numbers mean: plain functions on numbers, without Spark and without a clock."""

from streamgauge.measure.accounting import Accounting, account, check_batches
from streamgauge.measure.backlog import BacklogTrend, judge_backlog
from streamgauge.measure.batch import PHASES, Batch, batch_from_progress, batches_from_progress
from streamgauge.measure.histogram import EDGES_US, RELATIVE_ERROR, Histogram
from streamgauge.measure.latency import batch_latency, negative_events
from streamgauge.measure.rates import ingested_rate, offered_rate, processed_rate
from streamgauge.measure.steady import SteadyState, find_steady_state
from streamgauge.measure.trend import Slope, slope_interval, theil_sen
from streamgauge.measure.windows import window_latency

__all__ = [
    "Accounting",
    "BacklogTrend",
    "Batch",
    "EDGES_US",
    "Histogram",
    "PHASES",
    "RELATIVE_ERROR",
    "Slope",
    "SteadyState",
    "account",
    "batch_from_progress",
    "batch_latency",
    "batches_from_progress",
    "check_batches",
    "find_steady_state",
    "ingested_rate",
    "judge_backlog",
    "negative_events",
    "offered_rate",
    "processed_rate",
    "slope_interval",
    "theil_sen",
    "window_latency",
]
