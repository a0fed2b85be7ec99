"""A second simulator, written as one reads the model: one micro-batch, one task at a time, no arrays.

It makes the tables that a run directory would hold, so that a fit can be held against parameters that are known.
"""

import heapq
import math
import random
from dataclasses import dataclass, field

import numpy as np

from streamgauge.model import QueryModel, RunFacts, Settings
from streamgauge.model.sample import BATCH_COLUMNS, PHASE_COLUMNS, TASK_COLUMNS

ORIGIN_US = 1_794_800_000_000_000
BEFORE_EXECUTION = ("source_offsets", "offset_log", "source_plan", "query_planning")


@dataclass(frozen=True)
class Chance:
    """How micro-batches vary: all tasks together, slowly; each task by itself; each phase of the driver."""

    batch_cv: float = 0.0
    persistence: float = 0.0
    task_cv: float = 0.0
    phase_cv: float = 0.0
    cpu_cv: float = 0.0


@dataclass
class PlainRun:
    """Micro-batches and tasks as columns, and the latency of some events of each micro-batch."""

    facts: RunFacts
    from_us: int
    until_us: int
    batches: dict[str, list] = field(default_factory=lambda: {name: [] for name in (*BATCH_COLUMNS, "first", "last")})
    tasks: dict[str, list] = field(default_factory=lambda: {name: [] for name in TASK_COLUMNS})
    latencies: list[tuple[float, float]] = field(default_factory=list)

    def columns(self):
        return (
            {
                name: np.array(values, dtype=float if name == "watermark_us" else None)
                for name, values in self.batches.items()
            },
            {name: np.array(values) for name, values in self.tasks.items()},
        )

    def is_measured(self):
        """Tell which micro-batches were emitted under the load after the warm-up."""
        emitted_us = np.array(self.batches["emitted_us"])
        return (emitted_us >= self.from_us) & (emitted_us <= self.until_us)

    @property
    def mean_latency_s(self):
        return sum(value * weight for value, weight in self.latencies) / sum(weight for _, weight in self.latencies)

    def latency_quantile_s(self, quantile):
        left = quantile * sum(weight for _, weight in self.latencies)
        for value, weight in sorted(self.latencies):
            left -= weight
            if left <= 0:
                return value
        raise AssertionError

    @property
    def mean_duration_s(self):
        return float(np.array(self.batches["duration_s"])[self.is_measured()].mean())


def lognormal(rng, cv):
    sigma = math.sqrt(math.log1p(cv * cv))
    return math.exp(rng.gauss(-sigma * sigma / 2, sigma))


class PlainSimulator:
    """Runs one query under a constant load; times are seconds from the start of the load."""

    def __init__(self, query: QueryModel, settings: Settings, chance: Chance, seed: int, workload="made-up"):
        self.query, self.settings, self.chance = query, settings, chance
        self.rng = random.Random(seed)
        self.level = 0.0
        self.run_id = f"run-{seed}"
        self.facts = RunFacts(
            run_id=self.run_id,
            workload=workload,
            cores=settings.cores,
            processors=settings.machine_cores or max(query.processors, settings.cores),
            trigger_s=settings.trigger_s,
            source_partitions=settings.tasks("source"),
            shuffle_partitions=settings.tasks("shuffle"),
        )
        from_us, until_us = (ORIGIN_US + round(seconds * 1e6) for seconds in (settings.warmup_s, settings.load_s))
        self.result = PlainRun(self.facts, from_us, until_us)
        self.stage_id = 0

    def batch_factor(self):
        """The slowness of the time, which changes slowly."""
        rho, sigma = self.chance.persistence, math.sqrt(math.log1p(self.chance.batch_cv**2))
        self.level = rho * self.level + math.sqrt(1 - rho * rho) * self.rng.gauss(0, 1)
        return math.exp(sigma * self.level - sigma * sigma / 2)

    def phase(self, name):
        mean = float(self.query.noise.phases_s[0][PHASE_NAMES.index(name)])
        return mean * lognormal(self.rng, self.chance.phase_cv)

    def run(self) -> PlainRun:
        settings, rate = self.settings, self.settings.rate_per_s
        start, consumed, batch_id, watermark, before = 0.0, 0, 0, None, None
        while consumed < math.floor(rate * settings.load_s) and start < settings.load_s + 30:
            durations = {name: self.phase(name) for name in PHASE_NAMES}
            looked = start + durations["source_offsets"]
            created = min(
                math.floor(rate * min(looked, settings.load_s) + 1e-9) + 1, math.floor(rate * settings.load_s)
            )
            events = created - consumed
            if settings.max_rows_per_batch:
                events = min(events, settings.max_rows_per_batch)
            if events == 0:
                start += 0.01 if settings.trigger_s == 0 else settings.trigger_s
                continue
            begin = start + sum(durations[name] for name in BEFORE_EXECUTION)
            end = self.stages(batch_id, start, begin, events, watermark, before)
            emitted = end + durations["sink_commit"] + durations["other"]
            finished = emitted + durations["commit_log"]
            durations["execution"] = end + durations["sink_commit"] - begin
            self.record_batch(batch_id, start, emitted, finished, consumed, events, durations, watermark)
            self.record_latencies(consumed, events, emitted)
            before, watermark = watermark, (consumed + events - 1) / rate
            consumed += events
            due = finished
            if settings.trigger_s:
                due = max(finished, (math.floor(start / settings.trigger_s + 1e-9) + 1) * settings.trigger_s)
            start = due + durations["between"]
            batch_id += 1
        return self.result

    def stages(self, batch_id, start, begin, events, watermark, before):
        slow = self.batch_factor()
        ends, written = [], []
        settings = self.settings
        slots = [begin] * settings.cores
        for k, stage in enumerate(self.query.stages):
            tasks = settings.tasks(stage.tasks)
            total = sum(written[j] for j in stage.reads) if stage.reads else events * stage.per_event
            shares = stage.shares_for(tasks)
            gap = float(self.query.noise.gaps_s[0][k]) * lognormal(self.rng, self.chance.phase_cv)
            ready = max([ends[j] for j in stage.after] or [begin]) + gap
            busy = (min(tasks, settings.cores) + self.query.background) / self.facts.processors
            finishes, out_all = [], 0
            for p in range(tasks):
                rows = total * shares[p]
                out = self.rows_out(stage, rows, shares[p], watermark, before)
                cost = stage.cost
                work = cost.fixed_s + cost.per_row_s * rows + cost.per_written_row_s * out
                cpu = work * lognormal(self.rng, self.chance.cpu_cv)
                wall = cost.wait_s + max(1.0, busy) * (1 + cost.outside) * work
                wall *= slow * lognormal(self.rng, self.chance.task_cv)
                launch = max(ready + (p + 1) * self.query.dispatch_s, heapq.heappop(slots))
                finish = launch + wall
                heapq.heappush(slots, finish + self.query.return_s)
                finishes.append(finish + self.query.return_s)
                self.record_task(batch_id, k, tasks, p, start, launch, finish, cpu, stage, rows, out, events)
                out_all += out
            ends.append(max(finishes))
            written.append(out_all)
        self.stage_id += len(self.query.stages)
        return max(ends)

    def rows_out(self, stage, rows, share, watermark, before):
        if stage.closing is not None:
            slide = self.query.slide_s
            if watermark is None or before is None:
                return 0.0
            closed = math.floor(watermark / slide) - math.floor(before / slide)
            return share * closed * float(stage.closing(self.settings.rate_per_s * slide))
        most = stage.output.most * (share if stage.reads else 1.0)
        if math.isinf(most):
            return stage.output.per_row * rows
        return most * (1 - math.exp(-stage.output.per_row * rows / most)) if most else 0.0

    def record_task(self, batch_id, k, tasks, p, start, launch, finish, cpu, stage, rows, out, events):
        start_us = ORIGIN_US + round(start * 1e3) * 1000
        row = {
            "batch_id": batch_id, "stage_id": self.stage_id + k, "stage_tasks": tasks, "partition": p,
            "launched_us": start_us + round((launch - start) * 1e3) * 1000,
            "finished_us": start_us + round((finish - start) * 1e3) * 1000, "is_ok": True, "cpu_s": cpu,
            "input_rows": 0 if stage.reads else (math.ceil(events / tasks / 2048) if stage.per_event else 500),
            "shuffle_read_rows": round(rows) if stage.reads else 0,
            "shuffle_read_bytes": round(rows * 10) if stage.reads else 0,
            "shuffle_write_rows": round(out), "shuffle_write_bytes": round(out * 10),
        }  # fmt: skip
        for name in TASK_COLUMNS:
            self.result.tasks[name].append(row[name])

    def record_batch(self, batch_id, start, emitted, finished, first, events, durations, watermark):
        def instant(t):
            return ORIGIN_US + round(t * 1e3) * 1000

        row = {
            "batch_id": batch_id, "started_us": instant(start), "emitted_us": instant(emitted),
            "finished_us": instant(finished), "events": events, "duration_s": round(finished - start, 3),
            "watermark_us": None if watermark is None else instant(watermark) - ORIGIN_US + 10**15, "state_rows": 0,
            "first": first, "last": first + events,
        } | {f"{name}_s": round(durations[name], 3) for name in PHASE_COLUMNS}  # fmt: skip
        for name, values in self.result.batches.items():
            values.append(row[name])

    def record_latencies(self, first, events, emitted, points=16):
        rate = self.settings.rate_per_s
        for k in range(points):
            due = (first + events * (k + 0.5) / points - 0.5) / rate
            if self.settings.warmup_s <= due:
                self.result.latencies.append((emitted - due, events / points))


PHASE_NAMES = (
    "source_offsets", "offset_log", "source_plan", "query_planning", "sink_commit", "other", "commit_log", "between",
)  # fmt: skip
