"""A prototype of a query that was measured: its shape from the tables of runs, its CPU work by probes of the prototype.

What a prototype costs by itself is only known when it runs. So it is run without CPU work first, with the settings of
the runs that it is fitted to, and gets what it lacks; further probes correct what is still missing. The last probe
shows how close it is, and is not followed by a correction: the error is that of the work in the file.
"""

import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import UsageError
from streamgauge.experiments.quiet_runs import contention_reasons, is_contended, least_contended
from streamgauge.model.structure import Structure
from streamgauge.prototype.calibration import need_calibration
from streamgauge.prototype.file.document import read_application
from streamgauge.prototype.file.writing import write_application
from streamgauge.prototype.fit import (
    Cost,
    Draft,
    corrected,
    draft,
    uncorrected,
)
from streamgauge.prototype.graph.application import Application
from streamgauge.prototyping.fit_errors import Error, errors_between
from streamgauge.prototyping.measurement import (
    Measurement,
    common_structure,
    cost_of,
    measured_query,
    measurement_of,
    offline_or_all,
    runs_of,
    task_times,
)
from streamgauge.running.lifecycle import Run, execute, new_run
from streamgauge.running.monitor import Monitor, NoMonitor, Prefixed
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import StoredRun, runs_root
from streamgauge.units import format_count, format_duration, format_rate

if TYPE_CHECKING:
    from streamgauge.engine.engine import Session

# A probe is as long as the run whose settings it has, but not longer than these; Java compiles for as long as it runs.
WARMUP_S, PROBE_S, OFFLINE_S = 60.0, 30.0, 40.0
# What a run has to answer with pass, or a prototype of it stands for a query that was still finding its pace.
SETTLED = ("sustained", "steady", "maximum")
# The CPU work of the first probe, as a share of what tasks take for a row.
FIRST_SHARE = 0.9


@dataclass(frozen=True)
class Fitted:
    """A prototype of a query, as a file, and how close it is; no errors without a probe of just this work."""

    application: Application
    text: str
    errors: tuple[Error, ...] = ()
    cheaper: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    probes: int = 0

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "prototype": self.text,
            "probes": self.probes,
            "errors": [asdict(error) | {"change": error.change} for error in self.errors],
            "cheaper": list(self.cheaper),
            "notes": list(self.notes),
        }


def fit(
    reference: str,
    *,
    runs: str | Path | None = None,
    probes: int = 3,
    monitor: Monitor | None = None,
    clock: Clock | None = None,
    session: "Session | None" = None,
) -> Fitted:
    """Fit a prototype to a run, or to several runs of the same query, with commas between them.

    The offline part of an online run counts as a run of its own. Costs per row are best known from an offline run, and
    what every micro-batch costs from one with arrivals, so a prototype of both is right at more rates. Every probe has
    a Java process of its own, as the runs had, unless a session is handed in.
    """
    if probes < 0:
        raise UsageError(f"{probes} probes cannot be made", where="--probes", remedy="use 0 or more")
    root = runs_root(runs)
    measurements = [measurement_of(stored) for stored in runs_of(root, reference)]
    structure = common_structure(measurements)
    if probes:
        need_calibration("prototype fit")
    fitting = _Fitting(measurements, structure)
    if not probes:
        return fitting.unprobed()
    with tempfile.TemporaryDirectory() as folder:
        return fitting.probed(probes, session, Path(folder), monitor or NoMonitor(), clock or SystemClock())


def doubts(stored: StoredRun) -> Iterator[str]:
    """Yield why a run may show less than how the query behaves for long."""
    yield from (f"{reason}, in {anonymous_id(stored.run_id)}" for reason in contention_reasons(stored.summary))
    for finding in stored.summary.get("findings", ()):
        if finding["question"] in SETTLED and finding["verdict"] != "pass":
            yield f"the query may not have been settled in {anonymous_id(stored.run_id)}: {finding['reason']}"


def _contended(made: Sequence[Run]) -> Iterator[str]:
    for run in made:
        if is_contended(run.summary):
            load = run.stored().configuration["load"]
            which = "the last offline probe" if load == "offline" else "the last probe with arrivals"
            yield f"{'; '.join(contention_reasons(run.summary))}, in {which}"


class _Fitting:
    """The steps of a fit."""

    def __init__(self, measurements: Sequence[Measurement], structure: Structure) -> None:
        self.measurements, self.structure = measurements, structure
        paced = [one for one in measurements if not one.settings.is_offline]
        self.main = paced[0] if paced else measurements[0]
        # Runs with the same settings are repetitions of one: their means are what is to be met.
        self.repeated = [one for one in measurements if one.repeats(self.main)]
        query, notes = measured_query(self.main, structure)
        self.notes = (*notes, *(text for one in measurements for text in doubts(one.stored)))
        self.batch_s = float(np.mean([one.sample.duration_s.mean() for one in self.repeated])) if paced else None
        self.measured = cost_of(offline_or_all(measurements), structure, self.batch_s)
        self.draft = draft(query)

    def unprobed(self) -> Fitted:
        cost = cost_of(self.measurements, self.structure, self.batch_s)
        found = replace(self.draft, application=uncorrected(self.draft, cost))
        notes = ("CPU work is the whole time of the stages: no probe showed what the prototype costs by itself",)
        return self._fitted(found, (), (), notes, 0)

    def probed(self, probes: int, session: "Session | None", root: Path, monitor: Monitor, clock: Clock) -> Fitted:
        """Probe and correct in turns; the last probe is not followed by a correction, unless it is the only one."""
        found = replace(self.draft, application=uncorrected(self.draft, self._begin()))
        cheaper: tuple[str, ...] = ()
        for number in range(1, probes + 1):
            shown = Prefixed(monitor, f"probe {number} of {probes}: ")
            made = [
                least_contended(partial(self._probe, found, one, session, root, shown, clock))
                for one in self._probed_measurements()
            ]
            if number == probes and probes > 1:
                return self._fitted(found, self._errors(made), cheaper, tuple(_contended(made)), probes)
            # The first probe shows most; of what later ones show, more and more is chance.
            correction = corrected(found, *self._costs(made), share=1 / number)
            found, cheaper = correction.draft, correction.cheaper
        return self._fitted(found, (), cheaper, ("no probe was run with this CPU work",), probes)

    def _begin(self) -> Cost:
        """Return most of what the query costs: with work of about the right size, its own error matters less."""
        return Cost({k: FIRST_SHARE * time_us for k, time_us in self.measured.time_us.items()}, None)

    def _probed_measurements(self) -> list[Measurement]:
        """Return one run of each kind: with arrivals, and with all events at once."""
        offline = [one for one in self.measurements if one.settings.is_offline and one is not self.main]
        return [self.main, *offline[:1]]

    def _probe(
        self, found: Draft, one: Measurement, session: "Session | None", root: Path, monitor: Monitor, clock: Clock
    ) -> Run:
        from streamgauge.prototype.workload import application_workload

        application = self._readable(found.application)
        workload = application_workload(application, name="prototype")
        settings = probe_settings(one.settings, workload.rules.defaults, one.summary["processed_rate_per_s"])
        made = execute(new_run(workload, workload.parameters(), settings, root, monitor, clock=clock, session=session))
        if made.stored().status == "interrupted":
            raise KeyboardInterrupt
        return made

    @staticmethod
    def _readable(application: Application) -> Application:
        """Return the application as its file is read, so that a probe runs what users will run."""
        return read_application(write_application(application), name=application.name)

    def _costs(self, made: Sequence[Run]) -> tuple[Cost, Cost]:
        """Return what the query and its probes cost, by the stages of the query.

        Where Spark makes other stages of the prototype, what all of them take is put down to the first, in both.
        """
        probes = [measurement_of(run.stored()) for run in made]
        structure = Structure([probe.sample for probe in probes], None)
        own = [k for k in range(structure.stages) if structure.kind(k) != "table"]
        worked = [k for k, stage in enumerate(self.draft.query.stages) if stage.kind != "table"]
        batch_s = float(np.mean(probes[0].sample.duration_s)) if self.batch_s is not None else None
        chosen = offline_or_all(probes)
        costs = cost_of(chosen, structure, batch_s)
        if len(own) == len(worked):
            return self.measured, Cost(dict(zip(worked, (costs.time_us[k] for k in own), strict=True)), batch_s)
        wholes = []
        for every, of, cost, shape in (
            (offline_or_all(self._probed_measurements()), worked, self.measured, self.structure),
            (chosen, own, costs, structure),
        ):
            rows = [float(np.sum(task_times(every, shape, k)[0])) for k in of]
            total = math.fsum(cost.time_us[k] * size / rows[0] for k, size in zip(of, rows, strict=True))
            wholes.append(Cost({worked[0]: total}, cost.batch_s))
        return wholes[0], wholes[1]

    def _errors(self, made: Sequence[Run]) -> tuple[Error, ...]:
        found: list[Error] = []
        for one, run in zip(self._probed_measurements(), made, strict=True):
            alike = [other.stored for other in self.measurements if other.repeats(one)]
            found += errors_between(alike, run.stored())
        return tuple(found)

    def _fitted(
        self, found: Draft, errors: tuple[Error, ...], cheaper: tuple[str, ...], notes: tuple[str, ...], probes: int
    ) -> Fitted:
        said = (*self.notes, *found.notes, *notes)
        if self.batch_s is None:
            said = (*said, "only runs without arrivals were given, so what a micro-batch costs besides is not fitted")
        head = tuple(self._head(errors, cheaper, said, probes))
        text = write_application(found.application, head=head, comments=self._comments(found))
        return Fitted(read_application(text, name="fitted"), text, errors, cheaper, said, probes)

    def _head(
        self, errors: Sequence[Error], cheaper: Sequence[str], notes: Sequence[str], probes: int
    ) -> Iterator[str]:
        names = " and ".join(anonymous_id(one.stored.run_id) for one in self.measurements)
        sample = self.main.sample
        yield f"A prototype fitted to a measured query by `streamgauge prototype fit`, from {names}."
        yield (
            f"Measured on {sample.facts.cores} cores: {_load_in_words(self.main)}, micro-batches of "
            f"{format_count(float(np.mean(sample.events)))} events in "
            f"{format_duration(float(np.mean(sample.duration_s)))} on average."
        )
        for error in errors:
            yield f"Last of {probes} probes, {error.metric}: {error}."
        for text in cheaper:
            yield f"The query is cheaper than this prototype can be: {text}."
        for text in notes:
            yield f"Note: {text}."

    def _comments(self, found: Draft) -> dict[str, list[str]]:
        stages, data = self.draft.query.stages, found.application.sources[0].data
        comments = {
            "source": [
                f"Partitions and arrivals of the run; {data.values:,} values are the keys that its state shows, of "
                "about the bytes of a row in its shuffles."
                if self.draft.query.updated
                else "Partitions and arrivals of the run; its tables do not show the values."
            ]
        }
        for task in found.application.tasks:
            stage = stages[found.stage_of[task.name]]
            measured = self.measured.time_us[found.stage_of[task.name]]
            lines = [
                f"{format_count(stage.rows)} rows in a micro-batch, {measured:.3g} µs of a task each; processing_us "
                "is what the prototype lacks of it."
            ]
            if task.window:
                lines.append("Rows are added up by key before they leave the stage; the state is kept behind it.")
            if task.batch_ms:
                lines.append("batch_ms is what a micro-batch of the query takes longer than one of the prototype.")
            comments[task.name] = lines
        return comments


def probe_settings(original: RunSettings, defaults: Mapping[str, Any], rate_per_s: float | None) -> RunSettings:
    """Return the settings of a run for a probe of its prototype: not too long, with the partitions of the prototype.

    Where all events are there at once, they are fewer if the query took long for them at its `rate_per_s`. Source and
    sink are the embedded ones, whatever those of the run are.
    """
    settings = RunSettings(
        rate_per_s=original.rate_per_s,
        duration_s=min(PROBE_S, original.duration_s),
        arrivals=original.arrivals,
        warmup_s=min(WARMUP_S, original.warmup_s),
        drain_s=original.drain_s,
        trigger_s=original.trigger_s,
        master=original.master,
        shuffle_partitions=defaults.get("shuffle_partitions", original.shuffle_partitions),
        source_partitions=defaults["source_partitions"],
        max_rows_per_batch=original.max_rows_per_batch,
        seed=original.seed,
        # It lets Java compile the query before the load begins.
        verify=original.verify,
        conf=original.conf,
    )
    if not original.is_offline:
        return settings
    seconds = original.load_s * original.rate_per_s / rate_per_s if rate_per_s else 0.0
    share = min(1.0, OFFLINE_S / seconds) if seconds else 1.0
    return replace(
        settings,
        load="offline",
        arrivals="constant",
        rate_per_s=share * original.rate_per_s,
        warmup_s=original.warmup_s,
        duration_s=original.duration_s,
    )


def anonymous_id(run_id: str) -> str:
    """Return a run id without the name of its workload, by which those who have the run still find it.

    >>> anonymous_id("20261116T044039-my-secret-py-build-effa")
    'run 20261116T044039-…-effa'
    """
    return re.sub(r"^(run )?(\d{8}T\d{6})-.*-(\w+)$", r"run \2-…-\3", run_id)


def _load_in_words(measurement: Measurement) -> str:
    settings = measurement.settings
    if settings.is_offline:
        return "all events at once"
    trigger = f" every {format_duration(settings.trigger_s)}" if settings.trigger_s else ""
    return f"{format_rate(settings.law.mean_rate_per_s(settings.load_s))}{trigger}"
