"""Spark: its session, the embedded source, the life of a query, its progress and its event log."""

from typing import Any


def __getattr__(name: str) -> Any:
    # Imported when asked for: Python workers import this package too, with little of what the driver has.
    if name == "ENGINE":
        from streamgauge.engine.spark.engine import SparkEngine

        return SparkEngine.with_options
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
