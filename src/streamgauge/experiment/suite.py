"""Suites: many runs, one after the other, and what came out of all of them.

Every run starts a Spark of its own, so that runs of one configuration are replicates. The set in which they are kept
is the memory: what it holds is not run again.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import EnvironmentNotReadyError, StreamgaugeError, UsageError
from streamgauge.experiment.interrupts import counted_interrupts
from streamgauge.experiment.monitor import Monitor, NoMonitor, Prefixed
from streamgauge.experiment.run import Run, prepare, run
from streamgauge.experiment.stored import summary_of
from streamgauge.experiment.undisturbed import AGAIN, Made, counted_runs, runs_again
from streamgauge.store import SetWriter, StoredRun, default_root, open_run, open_set
from streamgauge.store.layout import SETS_FOLDER
from streamgauge.suite import (
    BaselineResult,
    Configuration,
    Judgement,
    Order,
    PlannedRun,
    RunResult,
    Suite,
    junit_xml,
    load_suite,
    refuse_unwritable,
    write_junit,
)
from streamgauge.suite.matrix import code_digest
from streamgauge.suite.metrics import metric_value
from streamgauge.suite.reading import MAX_REPETITIONS
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    from streamgauge.experiment.stored import Group

# What a change against the baseline means for the suite.
BASELINE_VERDICTS = {
    "better": Verdict.PASS,
    "no change": Verdict.PASS,
    "worse": Verdict.FAIL,
    "mixed": Verdict.FAIL,
    "undecided": Verdict.UNKNOWN,
}

Measure = Callable[..., Run]


def run_planned(
    planned: Sequence[PlannedRun],
    writer: SetWriter,
    *,
    root: Path,
    monitor: Monitor,
    run: Measure = run,
    clock: Clock | None = None,
) -> list[RunResult]:
    """Run, in the given order, what the set does not hold yet; return the results of all, judged by their thresholds.

    A run that breaks has the verdict unknown, and the others go on. When the machine is not ready or the user
    interrupts, the error says how to go on with the set.
    """
    running = _Running(len(planned), writer, root, monitor, run, clock or SystemClock())
    results: list[RunResult] = []
    try:
        with counted_interrupts():
            for number, one in enumerate(planned, 1):
                results.append(running.result(number, one))
    except BaseException as error:
        with suppress(StreamgaugeError):
            writer.update(status="interrupted")
        done = f"{len(results)} of {len(planned)} runs are done"
        error.add_note(f"{done}; repeat the command with --resume {writer.set_id} to go on")
        raise
    return results


@dataclass(frozen=True)
class _Running:
    """The runs of a set in the making."""

    total: int
    writer: SetWriter
    root: Path
    monitor: Monitor
    run: Measure
    clock: Clock

    def result(self, number: int, planned: PlannedRun) -> RunResult:
        """Return what the set knows about a run, or run it."""
        member = _members(self.writer).get(planned.key)
        if member is not None:
            return stored_result(planned, member["run_id"], self.root, took_s=float(member.get("took_s", 0.0)))
        began_s = self.clock.monotonic_s()
        run_id, reason = self._measure(planned, f"{number} of {self.total}, {planned.name}: ")
        took_s = self.clock.monotonic_s() - began_s
        if run_id is None:
            return _without_numbers(planned, reason, took_s=took_s)
        found = stored_result(planned, run_id, self.root, took_s=took_s)
        self.writer.add(
            run_id,
            key=planned.key,
            name=planned.configuration.name,
            repetition=planned.repetition,
            verdict=None if found.verdict is None else found.verdict.value,
            took_s=took_s,
        )
        return found

    def _measure(self, planned: PlannedRun, prefix: str) -> tuple[str | None, str]:
        """Run it; return the id of what was stored, if anything was, and why it broke."""
        # Sets compare runs; those of the model ask for more than that.
        arguments = {"explore": False} | planned.configuration.arguments()
        try:
            found = self.run(**arguments, runs=self.root, monitor=Prefixed(self.monitor, prefix))
        except EnvironmentNotReadyError:
            raise
        except StreamgaugeError as error:
            return error.run_id, str(error)
        # Incomplete: it is run again when the suite goes on.
        if found.stored().status == "interrupted":
            raise KeyboardInterrupt
        return found.run_id, ""


def stored_result(planned: PlannedRun, run_id: str, root: Path, *, took_s: float = 0.0) -> RunResult:
    """Judge a stored run by its thresholds; those of a run that did not finish are unknown."""
    try:
        stored = open_run(root, run_id)
        summary = summary_of(stored)
        verdict, reasons = _own_verdict(stored, summary, planned.configuration.ignored)
    except (StreamgaugeError, ValueError) as error:
        return _without_numbers(planned, str(error), run_id=run_id, took_s=took_s)
    numbers = summary if stored.status == "finished" else {}
    return RunResult(
        planned.name,
        planned.configuration.workload,
        verdict,
        tuple(_one_line(reason) for reason in reasons),
        tuple((threshold, threshold.evaluate(numbers)) for threshold in planned.configuration.thresholds),
        took_s,
        run_id,
    )


def _own_verdict(stored: StoredRun, summary: Mapping[str, Any], ignored: Sequence[str]) -> tuple[Verdict, list[str]]:
    """Return the verdict of a run and its reasons; of a run that finished, only the questions that count here."""
    if not ignored or stored.status != "finished" or not summary.get("findings"):
        return Verdict(summary["verdict"]), list(summary["reasons"])
    counted = [finding for finding in summary["findings"] if finding["question"] not in ignored]
    verdicts = [Verdict(finding["verdict"]) for finding in counted]
    reasons = [f["reason"] for f, verdict in zip(counted, verdicts, strict=True) if verdict is not Verdict.PASS]
    return Verdict.combine(verdicts), reasons


def _without_numbers(planned: PlannedRun, reason: str, *, run_id: str | None = None, took_s: float) -> RunResult:
    judgements = tuple((threshold, threshold.evaluate({})) for threshold in planned.configuration.thresholds)
    workload = planned.configuration.workload
    return RunResult(planned.name, workload, Verdict.UNKNOWN, (_one_line(reason),), judgements, took_s, run_id)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _members(writer: SetWriter) -> dict[str, dict[str, Any]]:
    """Return what the set holds by the keys of the runs."""
    return {member["key"]: member for member in writer.document["members"] if "key" in member}


@dataclass(frozen=True)
class SuiteResult:
    """What came out of a suite.

    `slowed` are runs that orders and baseline do not count, because something else slowed the processor and they were
    made again; `dropped` are runs of its set that it no longer plans.
    """

    set_id: str
    suite: Suite
    root: Path
    results: tuple[RunResult, ...]
    baseline: tuple[BaselineResult, ...] = ()
    slowed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    orders: tuple[tuple[Order, Judgement], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict over all runs, their thresholds, the orders and the baseline."""
        of_runs = [result.combined or Verdict.UNKNOWN for result in self.results]
        of_orders = [judgement.verdict for _, judgement in self.orders]
        return Verdict.combine([*of_runs, *of_orders, *(compared.verdict for compared in self.baseline)])

    def document(self) -> dict[str, Any]:
        """Return the results; the keys are those of `run SUITE --json`."""
        return {
            "set_id": self.set_id,
            "suite": self.suite.name,
            "verdict": self.verdict.value,
            "runs": [_run_document(result) for result in self.results],
            "orders": [_order_document(order, judgement) for order, judgement in self.orders],
            "baseline": self._baseline_document(),
            "slowed": list(self.slowed),
            "dropped": list(self.dropped),
        }

    def _baseline_document(self) -> dict[str, Any] | None:
        if self.suite.baseline is None:
            return None
        return {
            "reference": self.suite.baseline,
            "verdict": Verdict.combine(compared.verdict for compared in self.baseline).value,
            "configurations": [
                {
                    "name": compared.name,
                    "verdict": compared.verdict.value,
                    "reason": compared.reason,
                    "comparison": compared.comparison,
                }
                for compared in self.baseline
            ],
        }


def _run_document(result: RunResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "workload": result.workload,
        "run_id": result.run_id,
        "verdict": (result.combined or Verdict.UNKNOWN).value,
        "reasons": list(result.all_reasons),
        "took_s": result.took_s,
        "thresholds": [
            {
                "text": threshold.text,
                "verdict": judgement.verdict.value,
                "reason": judgement.text,
                "value": judgement.left,
                "limit": judgement.right,
            }
            for threshold, judgement in result.judgements
        ],
    }


def _order_document(order: Order, judgement: Judgement) -> dict[str, Any]:
    return {
        "text": order.text,
        "metric": order.metric,
        "verdict": judgement.verdict.value,
        "reason": judgement.text,
        "left": {"name": order.left, "median": judgement.left},
        "right": {"name": order.right, "median": judgement.right},
    }


def plan_suite(path: str | Path, *, runs: str | Path | None = None) -> Suite:
    """Read a suite file, and refuse what cannot run, before anything is started."""
    root = _root(runs)
    return load_suite(Path(path), check=_check, find_baseline=lambda reference: _baseline_groups(reference, root))


def plan_repetitions(
    workload: str,
    times: int,
    *,
    events: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Suite:
    """Return a suite of one configuration; arguments as for `run`."""
    if not 1 <= times <= MAX_REPETITIONS:
        raise UsageError(f"{times} repetitions cannot be made", where="--repeat", remedy=f"use 1 to {MAX_REPETITIONS}")
    _, _, parsed = prepare(workload, events, parameters, settings)
    # However they are spelled, the same settings are the same runs.
    numbers = {
        "load": parsed.load,
        "arrivals": parsed.arrivals,
        "rate": parsed.rate_per_s,
        "duration": parsed.duration_s,
        "warmup": parsed.warmup_s,
        "drain": parsed.drain_s,
        "trigger": parsed.trigger_s,
    }
    chosen = {name: value for name, value in (settings | {"events": events}).items() if value is not None}
    configuration = Configuration(
        name=workload,
        workload=workload,
        settings=chosen | numbers,
        parameters=dict(parameters or {}),
        repetitions=times,
        code_sha256=code_digest(workload, Path()),
    )
    return Suite(workload, (configuration,))


def suite_plan(suite: Suite) -> dict[str, Any]:
    """Return what a suite would run, in order; the keys are those of `plan SUITE --json`."""
    known = {configuration.name: _planned_settings(configuration) for configuration in suite.configurations}
    return {
        "suite": suite.name,
        "description": suite.description,
        "size": suite.size,
        "expected_duration_s": suite.expected_s,
        "needs_confirmation": suite.needs_confirmation,
        "baseline": suite.baseline,
        "orders": [order.text for order in suite.orders],
        "runs": [
            {
                "name": planned.name,
                "key": planned.key,
                "workload": planned.configuration.workload,
                "repetition": planned.repetition,
                "repetitions": planned.configuration.repetitions,
                "expected_duration_s": planned.configuration.expected_s,
                "thresholds": [threshold.text for threshold in planned.configuration.thresholds],
                **known[planned.configuration.name],
            }
            for planned in suite.runs()
        ],
    }


def _planned_settings(configuration: Configuration) -> dict[str, Any]:
    from streamgauge.engine.environment import mask_secrets

    _, checked, parsed = _check(configuration)
    settings = parsed.document() | {"conf": mask_secrets(parsed.conf)}
    return {"parameters": checked.model_dump(), "settings": settings}


def _check(configuration: Configuration) -> Any:
    settings = dict(configuration.settings)
    events = settings.pop("events", None)
    return prepare(configuration.workload, events, configuration.parameters, settings)


def run_suite(
    path: str | Path,
    *,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    resume: str | None = None,
    junit: str | Path | None = None,
) -> SuiteResult:
    """Run a suite file. `resume` is the set of one that was broken off, `junit` a file for a report in JUnit XML.

    >>> import streamgauge as sg
    >>> sg.run_suite("suites/smoke.yaml").verdict  # doctest: +SKIP
    <Verdict.PASS: 'pass'>
    """
    suite, root = plan_suite(path, runs=runs), _root(runs)
    execution = _Execution(suite, "suite", {"suite": suite.name, "path": str(path)}, root, monitor or NoMonitor())
    return execution.execute(resume, None if junit is None else Path(junit))


def repeat(
    workload: str,
    times: int,
    *,
    events: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    resume: str | None = None,
    junit: str | Path | None = None,
    **settings: Any,
) -> SuiteResult:
    """Run a workload several times, as a set; further arguments as for `run` and `run_suite`."""
    suite = plan_repetitions(workload, times, events=events, parameters=parameters, **settings)
    document = {"suite": suite.name, "workload": workload, "repetitions": times}
    execution = _Execution(suite, "repeat", document, _root(runs), monitor or NoMonitor())
    return execution.execute(resume, None if junit is None else Path(junit))


def _root(runs: str | Path | None) -> Path:
    return Path(runs) if runs is not None else default_root(os.environ)


@dataclass(frozen=True)
class _Execution:
    """A suite in the making."""

    suite: Suite
    kind: str
    asked: Mapping[str, Any]
    root: Path
    monitor: Monitor

    def execute(self, resume: str | None, junit: Path | None) -> SuiteResult:
        """Run it; the report is written whatever happens, with what there is."""
        if junit is not None:
            refuse_unwritable(junit)
        planned, baseline = self.suite.runs(), self.suite.baseline
        # Found now: later `latest` would be a run of this suite.
        groups = _baseline_groups(baseline, self.root) if baseline is not None else []
        writer = self._writer(planned, resume)
        try:
            results = self._results(planned, writer)
            for _ in range(AGAIN if self.suite.compares else 0):
                again = list(runs_again(list(zip(planned, results, strict=True)), self.root))
                planned += again
                results = self._results(planned, writer) if again else results
        except BaseException:
            with suppress(StreamgaugeError):
                self._report(junit, self._so_far(planned, writer))
            raise
        counted = list(counted_runs(list(zip(planned, results, strict=True)), self.root))
        run_ids = self._run_ids(counted)
        compared = tuple(self._compare(groups, run_ids)) if baseline is not None else ()
        orders = tuple(self._judge_orders(run_ids))
        found = SuiteResult(
            writer.set_id,
            self.suite,
            self.root,
            tuple(results),
            compared,
            _left_out(planned, counted),
            _dropped(planned, writer),
            orders,
        )
        writer.update(status="finished", result=found.document())
        self._report(junit, results, compared, orders)
        return found

    def _writer(self, planned: Sequence[PlannedRun], resume: str | None) -> SetWriter:
        if resume is None:
            return SetWriter.create(
                self.root, kind=self.kind, title=self.suite.name, document=self.asked, clock=SystemClock()
            )
        stored = open_set(self.root, resume)
        if stored.kind != self.kind or stored.document.get("suite") != self.suite.name:
            what = f"{stored.set_id} is a set of {stored.kind} {stored.document.get('suite', stored.document['title'])}"
            remedy = f"choose a set that {self.kind} {self.suite.name} has made, or leave --resume out"
            raise UsageError(what, where="--resume", remedy=remedy)
        held = {member.get("key") for member in stored.document["members"]}
        if held and held.isdisjoint(one.key for one in planned):
            what = f"none of the {len(held)} runs of {stored.set_id} is planned any more"
            remedy = "take back the changed settings, or leave --resume out"
            raise UsageError(what, where="--resume", remedy=remedy)
        return SetWriter.resume(stored)

    def _report(
        self,
        junit: Path | None,
        results: Sequence[RunResult],
        compared: Sequence[BaselineResult] = (),
        orders: Sequence[tuple[Order, Judgement]] = (),
    ) -> None:
        if junit is not None:
            write_junit(junit, junit_xml(self.suite.name, results, compared, orders))

    def _so_far(self, planned: Sequence[PlannedRun], writer: SetWriter) -> list[RunResult]:
        """Return the results of the runs that have ended; the others have none."""
        members = _members(writer)
        return [
            stored_result(one, member["run_id"], self.root, took_s=float(member.get("took_s", 0.0)))
            if (member := members.get(one.key))
            else RunResult(one.name, one.configuration.workload, None, ("the suite ended before this run did",))
            for one in planned
        ]

    def _results(self, planned: Sequence[PlannedRun], writer: SetWriter) -> list[RunResult]:
        return run_planned(planned, writer, root=self.root, monitor=self.monitor, run=run)

    def _run_ids(self, counted: Made) -> dict[str, list[str]]:
        """Return the runs of every configuration, as far as they are stored."""
        run_ids: dict[str, list[str]] = {configuration.name: [] for configuration in self.suite.configurations}
        for planned, result in counted:
            run_ids[planned.configuration.name] += [result.run_id] if result.run_id else []
        return run_ids

    def _judge_orders(self, run_ids: Mapping[str, Sequence[str]]) -> Iterator[tuple[Order, Judgement]]:
        """Judge every order from what the runs of both sides have measured."""
        named = {name for order in self.suite.orders for name in (order.left, order.right)}
        summaries = {name: list(_summaries(self.root, run_ids[name])) for name in sorted(named)}
        for order in self.suite.orders:
            sides = ([metric_value(s, order.metric) for s in summaries[name]] for name in (order.left, order.right))
            left, right = ([value for value in side if value is not None] for side in sides)
            yield order, order.evaluate(left, right)

    def _compare(self, groups: "Sequence[Group]", run_ids: Mapping[str, Sequence[str]]) -> Iterator[BaselineResult]:
        """Compare every configuration with the runs of the same name in the baseline."""
        partners = {group.name: group for group in groups}
        if len(groups) == len(run_ids) == 1:
            partners = dict.fromkeys(run_ids, groups[0])
        for name, ids in run_ids.items():
            yield self._compare_one(name, partners.get(name), ids)

    def _compare_one(self, name: str, partner: "Group | None", run_ids: Sequence[str]) -> BaselineResult:
        from streamgauge.experiment.compare import compare_groups
        from streamgauge.experiment.stored import Group

        if partner is None:
            return BaselineResult(name, Verdict.UNKNOWN, f"the baseline has no runs of {name}")
        try:
            current = Group(name, tuple(open_run(self.root, run_id) for run_id in run_ids))
            comparison = compare_groups(partner, current, labels=("the baseline", name))
        except StreamgaugeError as error:
            return BaselineResult(name, Verdict.UNKNOWN, _one_line(str(error)))
        verdict = BASELINE_VERDICTS[comparison.verdict]
        return BaselineResult(name, verdict, "; ".join(comparison.words), comparison.document())


def _summaries(root: Path, run_ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the summaries of runs that finished; the others are told by their own verdict."""
    for run_id in run_ids:
        with suppress(StreamgaugeError):
            stored = open_run(root, run_id)
            if stored.status == "finished":
                yield summary_of(stored)


def _left_out(planned: Sequence[PlannedRun], counted: Made) -> tuple[str, ...]:
    """Return the runs that do not count, by name."""
    kept = {one.key for one, _ in counted}
    return tuple(one.name for one in planned if one.key not in kept)


def _dropped(planned: Sequence[PlannedRun], writer: SetWriter) -> tuple[str, ...]:
    """Return the runs of the set that are not planned any more, by configuration and repetition."""
    keys = {one.key for one in planned}
    members = [member for key, member in _members(writer).items() if key not in keys]
    return tuple(f"{member.get('name')}#{member.get('repetition')}" for member in members)


def _baseline_groups(reference: str, root: Path) -> "list[Group]":
    """Find the runs of a baseline: below `root`, or where its path leads."""
    from streamgauge.experiment.stored import resolve_groups

    path = Path(reference)
    try:
        if path.suffix == ".json" and path.parent.name == SETS_FOLDER and path.is_file():
            return resolve_groups(path.parent.parent, path.stem)
        return resolve_groups(root, reference)
    except OSError as error:
        remedy = "write the id of a run or of a set, or the path of one"
        raise UsageError(f"it cannot be read: {error.strerror or error}", remedy=remedy) from error
