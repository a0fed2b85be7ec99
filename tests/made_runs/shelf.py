"""A shelf of stored runs that never happened, to be compared."""

import json
from dataclasses import replace
from functools import cache

import numpy as np

from streamgauge.clock import ManualClock
from streamgauge.conclude.comparison import compare
from streamgauge.conclude.summary import summarise
from streamgauge.store import SetWriter, open_run

from .samples import ORIGIN_US, evidence, offline, resources, tasks
from .stored_runs import begin_run, store_run


def slower(run, factor):
    """Return a run whose micro-batches take `factor` times as long, and as much more CPU time."""
    batches = [
        replace(
            b,
            emitted_us=b.started_us + 1000 * round(200 * factor),
            finished_us=b.started_us + 1000 * round(250 * factor),
        )
        for b in run.batches
    ]
    work = [replace(task, cpu_s=task.cpu_s * factor) for task in tasks(batches)]
    used = [replace(s, cpu_s={k: v * factor for k, v in s.cpu_s.items()}) for s in resources(60.0)]
    return replace(run, batches=batches, tasks=work, resources=used)


def later(run, seconds):
    """Return a run as it would be that many seconds later."""
    moved = round(seconds * 1e6)
    names = ("started_us", "emitted_us", "finished_us")
    batches = [replace(b, **{name: getattr(b, name) + moved for name in names}) for b in run.batches]
    used = [replace(sample, at_us=sample.at_us + moved) for sample in run.resources]
    origin_us, closed_us = run.origin_us + moved, run.closed_us + moved
    return replace(run, batches=batches, tasks=tasks(batches), resources=used, origin_us=origin_us, closed_us=closed_us)


def offline_run(factor):
    """Return a run that needs `factor` times as long for events that are all there at once."""
    run = offline()
    open_us = run.closed_us
    batches = [
        replace(
            b,
            **{
                name: open_us + 1000 * round((getattr(b, name) - open_us) * factor / 1000)
                for name in ("started_us", "emitted_us", "finished_us")
            },
        )
        for b in run.batches
    ]
    return replace(run, batches=batches, tasks=tasks(batches), resources=resources(60.0))


@cache
def plain_summary():
    return json.loads(json.dumps(summarise(slower(evidence(), 1.0))))


class Shelf:
    """A folder of runs that never happened; the scatter of repeated runs is 1 %, with a fixed seed."""

    def __init__(self, root, seed=1):
        self.root = root
        self.clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)
        self.rng = np.random.default_rng(seed)
        self.running = []

    def store(
        self, run, *, parameters=None, status="finished", workload="ysb", environment=None, summary=None, **changes
    ):
        """Store a run and return its id; `changes` are settings."""
        self.clock.sleep(1.0)
        configuration = {"parameters": parameters or {"campaigns": 100}, **changes}
        common = {"workload": workload, "configuration": configuration, "environment": environment, "clock": self.clock}
        if status == "running":
            # A run is running as long as its writer is there.
            self.running.append(begin_run(self.root, run, **common))
            return self.running[-1].run_id
        return store_run(self.root, run, status=status, summary=summary, **common).run_id

    def one(self, factor=1.0, **changes):
        """Store a run; of its summary only verdict and cut matter, which do not depend on the factor."""
        run = slower(evidence(), factor * (1 + 0.01 * self.rng.standard_normal()))
        return self.store(run, summary=plain_summary(), **changes)

    def several(self, count, factor=1.0, **changes):
        """Store repeated runs and return them as a reference."""
        return ",".join(self.one(factor, **changes) for _ in range(count))

    def offline(self, count, factor=1.0, **changes):
        factors = factor * (1 + 0.01 * self.rng.standard_normal(count))
        return ",".join(self.store(offline_run(f), **changes) for f in factors)

    def set_of(self, members, kind="suite"):
        """Store a set of (name, run id) and return its id; without a name, members have none."""
        self.clock.sleep(1.0)
        writer = SetWriter.create(self.root, kind=kind, title="ysb", document={}, clock=self.clock)
        for name, run_id in members:
            writer.add(run_id, **({"name": name} if name else {}))
        return writer.set_id

    def compare(self, *references, **options):
        return compare(references, runs=self.root, **options)

    def open(self, reference):
        return open_run(self.root, reference)
