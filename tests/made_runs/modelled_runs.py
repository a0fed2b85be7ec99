"""Runs of made-up queries, stored as if they had been measured."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from made_runs.stored_runs import store_summary
from model.made_up import CHANCE, run_of, three_stages
from model.plain_simulator import ORIGIN_US as LOAD_US
from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.metrics import DISTRIBUTION, PERCENTILES
from streamgauge.model import QueryModel
from streamgauge.model.query import QUIET_SLOWDOWN
from streamgauge.running.lifecycle import Run
from streamgauge.store import RunWriter
from streamgauge.units import parse_duration, parse_rate

ORIGIN_US = 1_700_000_000_000_000


@dataclass
class ModelledRun:
    """Stands in for `run`: simulates a query whose parameters are known, and stores what a run would have stored."""

    query: QueryModel = field(default_factory=three_stages)
    seed: int = 1
    offline_s: float = 12.0
    calls: list[dict[str, Any]] = field(default_factory=list)
    # By how much something else slowed the runs; behind the last, nothing did.
    slowdowns: tuple[float, ...] = ()
    clock: ManualClock = field(default_factory=lambda: ManualClock(wall_offset_s=ORIGIN_US / 1e6))

    def __call__(self, *, workload: str, runs: Path, **arguments: Any) -> Run:
        arguments.pop("monitor", None)
        self.calls.append({"workload": workload, **arguments})
        self.seed += 1
        if arguments.get("load") == "offline":
            return self.offline(Path(runs), workload)
        return self.store(Path(runs), workload, **arguments)

    @property
    def slowdown(self) -> float:
        """By how much something else slowed the latest run."""
        return dict(enumerate(self.slowdowns, 1)).get(len(self.calls), QUIET_SLOWDOWN)

    def store(
        self, runs: Path, workload: str = "made-up", *, status: str = "finished", with_tasks: bool = True,
        parameters: dict[str, Any] | None = None, **arguments: Any,
    ) -> Run:  # fmt: skip
        """Store one run; arguments as those of `run`, in SI units."""
        rate = parse_rate(arguments.get("rate", 100_000.0))
        duration_s, warmup_s = (parse_duration(arguments.get(n, d)) for n, d in (("duration", 15.0), ("warmup", 3.0)))
        cores, partitions = int(arguments.get("cores") or 2), arguments.get("shuffle_partitions")
        trigger_s = parse_duration(arguments.get("trigger", 0.0))
        run = run_of(
            self.query, self.seed, chance=CHANCE, rate_per_s=rate, duration_s=duration_s, warmup_s=warmup_s,
            cores=cores, trigger_s=trigger_s, shuffle_partitions=partitions, machine_cores=2,
        )  # fmt: skip
        configuration = {
            "rate_per_s": rate, "duration_s": duration_s, "warmup_s": warmup_s, "trigger_s": trigger_s,
            "arrivals": "constant", "shuffle_partitions": partitions, "source_partitions": None,
            "max_rows_per_batch": None, "load": "open", "parameters": parameters or {},
        }  # fmt: skip
        load = {"cores": cores, "origin_us": LOAD_US, "closed_us": run.until_us, "output_mode": "update"}
        self.clock.sleep(1.0)
        document = {"configuration": configuration, "environment": {"cores": 2}, "load": load}
        writer = RunWriter.create(runs, workload=workload, document=document, clock=self.clock)
        writer.write_schedule(Constant(rate).schedule(warmup_s + duration_s))
        writer.write_table("batches", pa.table(run.batches))
        if with_tasks:
            writer.write_table("tasks", pa.table(run.tasks))
        summary = {
            "verdict": "pass", "reasons": [], "processed_rate_per_s": rate,
            "end_to_end_latency_s": dict.fromkeys(PERCENTILES) | {
                "mean": run.mean_latency_s, "p95": run.latency_quantile_s(0.95)
            },
            "batch_duration_s": dict.fromkeys(DISTRIBUTION) | {"mean": run.mean_duration_s},
            "resources": {"slowdown": self.slowdown},
        }  # fmt: skip
        writer.finish(status, summary=summary, verdict="pass", reasons=[])
        return Run(writer.run_id, writer.path, summary)

    def offline(self, runs: Path, workload: str, rate_per_s: float = 440_000.0) -> Run:
        """Store a run that had all events at once, without tables."""
        self.clock.sleep(1.0)
        measured = {"from_s": 2.0, "until_s": 2.0 + self.offline_s}
        summary = {"verdict": "pass", "reasons": [], "processed_rate_per_s": rate_per_s, "steady_state": measured,
                   "resources": {"slowdown": self.slowdown}}  # fmt: skip
        stored = store_summary(runs, summary, workload=workload, clock=self.clock)
        return Run(stored.run_id, stored.path, summary)
