"""The few short runs that help the model most.

The first run has the settings that are asked for. The model that it gives says which rates the query can bear, and so
what the others measure: another rate, another trigger, fewer cores, more partitions. Each moves one setting only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from streamgauge.errors import UnknownVerdictError
from streamgauge.experiments.planned_runs import Measure, run_planned
from streamgauge.experiments.resumable import open_resumable
from streamgauge.model import Prediction, Settings
from streamgauge.predicting.predict import Calibrated, calibrate_from
from streamgauge.running.lifecycle import prepare, run
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.settings.keywords import CalibrateKeywords
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.signature import takes_settings
from streamgauge.settings.table import with_defaults
from streamgauge.store import StoredRun, open_member, runs_root
from streamgauge.suite import Configuration, PlannedRun, RunResult
from streamgauge.suite.matrix import code_digest, configuration_name
from streamgauge.units import format_duration, format_rate
from streamgauge.verdict import Verdict

# The other rate is this share of the sustainable one: the high one, or the low one when the first run was high.
HIGH_SHARE, LOW_SHARE, ALREADY_HIGH = 0.6, 0.15, 0.35
# Runs on fewer cores bear at most this share of what they sustain.
SAFE_SHARE = 0.5
OTHER_TRIGGER_S = 2.0
MORE_PARTITIONS = 4
# Runs beyond the first, at most.
MOST_OTHERS = 4


@dataclass(frozen=True)
class Calibration:
    """What was run, the model of all runs, and the first settings predicted from the first run and from all."""

    set_id: str
    workload: str
    results: tuple[RunResult, ...]
    calibrated: Calibrated
    before: Prediction
    after: Prediction

    @property
    def verdict(self) -> Verdict:
        """Pass when the model has no reason to doubt its runs."""
        return Verdict.UNKNOWN if self.reasons else Verdict.PASS

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why predictions from these runs cannot be trusted."""
        broken = [f"{r.name}: {r.reasons[0]}" for r in self.results if r.run_id is None and r.reasons]
        return tuple(dict.fromkeys([*broken, *self.calibrated.concerns, *self.calibrated.model.concerns]))

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `model calibrate --json`."""
        return {
            "set_id": self.set_id,
            "workload": self.workload,
            "verdict": self.verdict.value,
            "reasons": list(self.reasons),
            "runs": [
                {"name": r.name, "run_id": r.run_id, "verdict": (r.verdict or Verdict.UNKNOWN).value}
                for r in self.results
            ],
            "model": self.calibrated.model.document(),
            "before": self.before.document()["predicted"],
            "after": self.after.document()["predicted"],
        }


@takes_settings("calibrate")
def calibrate_model(
    workload: str,
    *,
    resume: str | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    measure: Measure = run,
    **settings: Unpack[CalibrateKeywords],
) -> Calibration:
    """Run what helps the model most, as a set that `predict` takes; `settings` are those of `run`."""
    own = with_defaults(settings, {}, "calibrate") | {"load": "open", "explore": True}
    _, _, parsed = prepare(workload, own)
    calibrating = _Calibrating(workload, own.pop("parameters", {}), own, parsed)
    root = runs_root(runs)
    planned = [calibrating.first()]
    asked = {"workload": workload, "key": planned[0].key}
    writer = open_resumable(root, resume, kind="calibrate", title=workload, document=asked, same=("key",))
    run_all = partial(run_planned, writer=writer, root=root, monitor=monitor or NoMonitor(), run=measure)
    first = calibrate_from(_opened(run_all(planned), root))
    results = run_all([*planned, *calibrating.others(first)])
    found = _conclude(writer.set_id, workload, results, first, root)
    writer.update(status="finished", result=found.document())
    return found


def _opened(results: Sequence[RunResult], root: Path) -> list[StoredRun]:
    opened = [open_member(root, result.run_id) for result in results if result.run_id is not None]
    if not opened:
        reasons = "; ".join(reason for result in results for reason in result.reasons)
        raise UnknownVerdictError(f"nothing was measured: {reasons}", remedy="see why with `streamgauge run`")
    return opened


def _conclude(set_id: str, workload: str, results: Sequence[RunResult], first: Calibrated, root: Path) -> Calibration:
    calibrated = calibrate_from(_opened(results, root))
    settings = Settings(**first.base)
    return Calibration(
        set_id, workload, tuple(results), calibrated, first.predict(settings), calibrated.predict(settings)
    )


@dataclass(frozen=True)
class _Calibrating:
    """What is asked for, and which runs that makes."""

    workload: str
    parameters: dict[str, Any]
    settings: Mapping[str, Any]
    parsed: RunSettings

    def planned(self, name: str, changes: Mapping[str, Any]) -> PlannedRun:
        """Return one run; each is verified, because that also lets Java compile the query, in all of them alike."""
        chosen = {**self.settings, **changes}
        code = code_digest(self.workload, Path())
        return PlannedRun(Configuration(name, self.workload, chosen, self.parameters, code_sha256=code), 1)

    def first(self) -> PlannedRun:
        """Return the run as it is asked for."""
        return self.planned(self.workload, {})

    def others(self, first: Calibrated) -> list[PlannedRun]:
        """Return further runs, by what the first one shows."""
        changes = self._changes(first)[:MOST_OTHERS]
        return [self.planned(configuration_name(self.workload, text), change) for text, change in changes]

    def _changes(self, first: Calibrated) -> list[tuple[dict[str, str], dict[str, Any]]]:
        base = Settings(**first.base)
        rate_per_s, limit_per_s = base.rate_per_s, self._limit_per_s(first)
        other = _rounded(limit_per_s * (LOW_SHARE if rate_per_s > ALREADY_HIGH * limit_per_s else HIGH_SHARE))
        trigger_s = 0.0 if base.trigger_s else OTHER_TRIGGER_S
        found: list[tuple[dict[str, str], dict[str, Any]]] = [
            ({"rate": format_rate(other)}, {"rate": other}),
            ({"trigger": format_duration(trigger_s)}, {"trigger": trigger_s}),
        ]
        if base.cores > 1:
            fewer = base.cores // 2
            bearable = min(rate_per_s, _rounded(SAFE_SHARE * self._limit_per_s(first, cores=fewer)))
            found.append(({"cores": str(fewer)}, {"cores": fewer, "rate": bearable}))
        if any(stage.tasks == "shuffle" for stage in first.model.query.stages):
            more = MORE_PARTITIONS * base.tasks("shuffle")
            found.append(({"shuffle_partitions": str(more)}, {"shuffle_partitions": more}))
        return found

    def _limit_per_s(self, first: Calibrated, **changes: Any) -> float:
        found = first.predict(Settings(**dict(first.base) | changes)).sustainable_rate_per_s.value
        if not found > 0:
            raise UnknownVerdictError("the first run shows no limit", remedy="try another --rate")
        return found


def _rounded(rate_per_s: float) -> float:
    """Return a rate with two digits, so that the same data choose the same rate.

    >>> _rounded(123_456.0)
    120000.0
    """
    return float(f"{rate_per_s:.2g}")
