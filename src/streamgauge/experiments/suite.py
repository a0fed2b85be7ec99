"""Suites: plans of many runs, their execution as a set, and the judgement of assertions and baseline."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from streamgauge.conclude.stored_run import summary_of
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.experiments.planned_runs import check_repetitions, known_result, members_by_key, one_line, run_planned
from streamgauge.experiments.quiet_runs import Made, counted_runs, rerun_contended
from streamgauge.experiments.resumable import open_resumable
from streamgauge.experiments.suite_result import SuiteResult
from streamgauge.metrics import METRIC
from streamgauge.running.lifecycle import prepare, run
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.secrets import mask_secrets
from streamgauge.settings.keywords import RunKeywords
from streamgauge.settings.signature import takes_settings
from streamgauge.settings.table import SETTINGS
from streamgauge.store import RunGroup, SetWriter, StoredRun, open_member, resolve_groups, runs_root
from streamgauge.store.layout import SETS_FOLDER
from streamgauge.store.sequence import sequence_of
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
from streamgauge.verdict import Verdict

# What a change against the baseline means for the suite.
BASELINE_VERDICTS = {
    "better": Verdict.PASS,
    "no change": Verdict.PASS,
    "worse": Verdict.FAIL,
    "mixed": Verdict.FAIL,
    "undecided": Verdict.UNKNOWN,
}

# Settings of repetitions that count as they are read.
SPELLED = ("load", "arrivals", "rate", "duration", "warmup", "drain", "trigger")


def plan_suite(path: str | Path, *, runs: str | Path | None = None, import_code: bool = False) -> Suite:
    """Read a suite file, and refuse what cannot run, before anything is started.

    Without `import_code`, files of users' functions are read and nothing in them is executed.
    """
    root, check = runs_root(runs), partial(_check, import_code=import_code)
    return load_suite(path, check=check, find_baseline=lambda reference: _baseline_groups(reference, root))


@takes_settings("run")
def plan_repetitions(
    workload: str,
    times: int,
    **settings: Unpack[RunKeywords],
) -> Suite:
    """Return a suite of one configuration; arguments as for `run`."""
    check_repetitions(times)
    _, _, parsed = prepare(workload, settings)
    # However they are spelled, the same settings are the same runs.
    numbers = {name: getattr(parsed, SETTINGS[name].field) for name in SPELLED}
    chosen: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    parameters = chosen.pop("parameters", {})
    configuration = Configuration(
        name=workload,
        workload=workload,
        settings=chosen | numbers,
        parameters=dict(parameters),
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
    _, checked, parsed = _check(configuration)
    settings = parsed.document() | {"conf": mask_secrets(parsed.conf)}
    return {"parameters": checked.model_dump(), "settings": settings}


def _check(configuration: Configuration, *, import_code: bool = False) -> Any:
    asked = configuration.arguments()
    return prepare(asked.pop("workload"), asked, import_code=import_code)


def run_suite(
    path: str | Path,
    *,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    resume: str | None = None,
    junit: str | Path | None = None,
) -> SuiteResult:
    """Run a suite file. `resume` is the set of an interrupted one, `junit` a file for a report in JUnit XML.

    >>> import streamgauge as sg
    >>> sg.run_suite("suite:smoke").verdict  # doctest: +SKIP
    <Verdict.PASS: 'pass'>
    """
    suite, root = plan_suite(path, runs=runs, import_code=True), runs_root(runs)
    execution = _Execution(suite, "suite", {"suite": suite.name, "path": str(path)}, root, monitor or NoMonitor())
    return execution.execute(resume, None if junit is None else Path(junit))


@takes_settings("run")
def repeat(
    workload: str,
    times: int,
    *,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    resume: str | None = None,
    junit: str | Path | None = None,
    **settings: Unpack[RunKeywords],
) -> SuiteResult:
    """Run a workload several times, as a set; further arguments as for `run` and `run_suite`."""
    suite = plan_repetitions(workload, times, **settings)
    document = {"suite": suite.name, "workload": workload, "repetitions": times}
    execution = _Execution(suite, "repeat", document, runs_root(runs), monitor or NoMonitor())
    return execution.execute(resume, None if junit is None else Path(junit))


@dataclass(frozen=True)
class _Execution:
    """Runs a suite and judges it."""

    suite: Suite
    kind: str
    asked: Mapping[str, Any]
    root: Path
    monitor: Monitor

    def execute(self, resume: str | None, junit: Path | None) -> SuiteResult:
        """Run it; the report is written whatever happens, with the results so far."""
        if junit is not None:
            refuse_unwritable(junit)
        planned, baseline, name = self.suite.runs(), self.suite.baseline, self.suite.name
        # Found now: later `latest` would be a run of this suite.
        groups = _baseline_groups(baseline, self.root) if baseline is not None else []
        keys = {one.key for one in planned}
        writer = open_resumable(self.root, resume, kind=self.kind, title=name, document=self.asked, keys=keys)
        try:
            run_all = partial(run_planned, writer=writer, root=self.root, monitor=self.monitor, run=run)
            results = rerun_contended(planned, run_all, self.root) if self.suite.compares else run_all(planned)
        except BaseException:
            with suppress(StreamgaugeError):
                self._report(junit, self._so_far(planned, writer))
            raise
        found = self._conclude(planned, results, groups, writer)
        writer.update(status="finished", result=found.document())
        self._report(junit, results, found.baseline, found.orders)
        return found

    def _conclude(
        self, planned: Sequence[PlannedRun], results: Sequence[RunResult], groups: Sequence[RunGroup], writer: SetWriter
    ) -> SuiteResult:
        counted = list(counted_runs(list(zip(planned, results, strict=True)), self.root))
        run_ids = self._run_ids(counted)
        return SuiteResult(
            writer.set_id,
            self.suite,
            self.root,
            tuple(results),
            baseline=tuple(self._compare(groups, run_ids)) if self.suite.baseline is not None else (),
            contended=_left_out(planned, counted),
            dropped=_dropped(planned, writer),
            orders=tuple(self._judge_orders(run_ids)),
        )

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
        return [
            known_result(one, writer, self.root)
            or RunResult(one.name, one.configuration.workload, None, ("the suite ended before this run did",))
            for one in planned
        ]

    def _run_ids(self, counted: Made) -> dict[str, list[str]]:
        """Return the runs of every configuration, as far as they are stored."""
        run_ids: dict[str, list[str]] = {configuration.name: [] for configuration in self.suite.configurations}
        for planned, result in counted:
            run_ids[planned.configuration.name] += [result.run_id] if result.run_id else []
        return run_ids

    def _judge_orders(self, run_ids: Mapping[str, Sequence[str]]) -> Iterator[tuple[Order, Judgement]]:
        """Judge every order from what the runs of both sides have measured."""
        named = {name for order in self.suite.orders for name in (order.left, order.right)}
        runs = {name: list(_finished(self.root, run_ids[name])) for name in sorted(named)}
        for order in self.suite.orders:
            sides = runs[order.left], runs[order.right]
            values = ([METRIC[order.metric].value(summary_of(run)) for run in side] for side in sides)
            left, right = ([value for value in side if value is not None] for side in values)
            yield order, order.evaluate(left, right, is_sequential=sequence_of(*sides) == "sequential")

    def _compare(self, groups: Sequence[RunGroup], run_ids: Mapping[str, Sequence[str]]) -> Iterator[BaselineResult]:
        """Compare every configuration with the runs of the same name in the baseline."""
        partners = {group.name: group for group in groups}
        if len(groups) == len(run_ids) == 1:
            partners = dict.fromkeys(run_ids, groups[0])
        for name, ids in run_ids.items():
            yield self._compare_one(name, partners.get(name), ids)

    def _compare_one(self, name: str, partner: RunGroup | None, run_ids: Sequence[str]) -> BaselineResult:
        from streamgauge.conclude.comparison import compare_groups

        if partner is None:
            return BaselineResult(name, Verdict.UNKNOWN, f"the baseline has no runs of {name}")
        try:
            current = RunGroup(name, tuple(open_member(self.root, run_id) for run_id in run_ids))
            drift = math.inf if self.suite.drift is None else self.suite.drift
            comparison = compare_groups(partner, current, labels=("the baseline", name), drift=drift)
        except StreamgaugeError as error:
            return BaselineResult(name, Verdict.UNKNOWN, one_line(str(error)))
        verdict = BASELINE_VERDICTS[comparison.verdict]
        return BaselineResult(name, verdict, "; ".join(comparison.words), comparison.document())


def _finished(root: Path, run_ids: Sequence[str]) -> Iterator[StoredRun]:
    """Yield the runs that finished; the verdicts of the others say that they did not."""
    for run_id in run_ids:
        with suppress(StreamgaugeError):
            stored = open_member(root, run_id)
            if stored.status == "finished":
                yield stored


def _left_out(planned: Sequence[PlannedRun], counted: Made) -> tuple[str, ...]:
    """Return the runs that do not count, by name."""
    kept = {one.key for one, _ in counted}
    return tuple(one.name for one in planned if one.key not in kept)


def _dropped(planned: Sequence[PlannedRun], writer: SetWriter) -> tuple[str, ...]:
    """Return the runs of the set that are not planned any more, by configuration and repetition."""
    keys = {one.key for one in planned}
    members = [member for key, member in members_by_key(writer).items() if key not in keys]
    return tuple(f"{member.get('name')}#{member.get('repetition')}" for member in members)


def _baseline_groups(reference: str, root: Path) -> list[RunGroup]:
    """Find the runs of a baseline: below `root`, or where its path leads."""
    path = Path(reference)
    try:
        if path.suffix == ".json" and path.parent.name == SETS_FOLDER and path.is_file():
            return resolve_groups(path.parent.parent, path.stem)
        return resolve_groups(root, reference)
    except OSError as error:
        remedy = "write the id of a run or of a set, or the path of one"
        raise UsageError(f"it cannot be read: {error.strerror or error}", remedy=remedy) from error
