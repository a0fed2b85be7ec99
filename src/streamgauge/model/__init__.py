"""The micro-batch model: what a query would do under other settings, from plain numbers, without Spark."""

from streamgauge.model.cost import TaskCost, contention
from streamgauge.model.fit import fit_model, fit_runs
from streamgauge.model.fitted import FittedModel, Ranges, RunPoint
from streamgauge.model.keys import explained_stages, with_keys
from streamgauge.model.prediction import Estimate, Prediction, predict, predict_all
from streamgauge.model.query import Noise, Query, Settings, Stage
from streamgauge.model.queue import Gate, QueueResult, simulate_queue
from streamgauge.model.rows import Keys, OutputCurve, distinct_keys, fold, partition_of, rehash, spark_hash
from streamgauge.model.sample import RunFacts, RunSample, make_sample, sample_of
from streamgauge.model.schedule import graham_bounds, makespan
from streamgauge.model.simulator import Simulation, simulate
from streamgauge.model.stability import Capacity, Line
from streamgauge.model.trigger import ArrivalCurve, next_start, trigger_starts

__all__ = [
    "ArrivalCurve",
    "Capacity",
    "Estimate",
    "FittedModel",
    "Gate",
    "Keys",
    "Line",
    "Noise",
    "OutputCurve",
    "Prediction",
    "Query",
    "QueueResult",
    "Ranges",
    "RunFacts",
    "RunPoint",
    "RunSample",
    "Settings",
    "Simulation",
    "Stage",
    "TaskCost",
    "contention",
    "distinct_keys",
    "explained_stages",
    "fit_model",
    "fit_runs",
    "fold",
    "graham_bounds",
    "make_sample",
    "makespan",
    "next_start",
    "partition_of",
    "predict",
    "predict_all",
    "rehash",
    "sample_of",
    "simulate",
    "simulate_queue",
    "spark_hash",
    "trigger_starts",
    "with_keys",
]
