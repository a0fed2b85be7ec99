"""Verifying several workloads in one Spark session."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from streamgauge.conclude.verification import FiniteStream, Verification
from streamgauge.engine.engine import find_engine, temporary_session
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.lookup import find_workloads
from streamgauge.running.phases import START
from streamgauge.running.verify import default_stream, verify_workload
from streamgauge.settings.keywords import VerifyKeywords
from streamgauge.settings.run_settings import parse_settings
from streamgauge.settings.signature import takes_settings
from streamgauge.units import parse_count
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload, catalogue
from streamgauge.workloads.parameters import choose_variant


@dataclass(frozen=True)
class Verifications:
    """The comparisons of several workloads."""

    workloads: tuple[Verification, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict over all of them."""
        return Verdict.combine(v.verdict for v in self.workloads)

    def document(self) -> dict[str, Any]:
        """Return the comparisons; the keys are those of `verify --json`."""
        return {
            "verdict": self.verdict.value,
            "workloads": [asdict(v) | {"verdict": v.verdict.value} for v in self.workloads],
        }


def _chosen(names: Sequence[str]) -> list[Workload]:
    found = [workload for name in names for workload in find_workloads(name)]
    return list(dict.fromkeys(found)) if names else list(catalogue().values())


@takes_settings("verify")
def verify(
    names: Sequence[str] = (),
    *,
    count: str | int | None = None,
    save: str | Path | None = None,
    report_progress: Callable[[str], None] = lambda _: None,
    **settings: Unpack[VerifyKeywords],
) -> Verifications:
    """Verify workloads by name or suite, all of them by default; `report_progress` gets a line per step."""
    chosen = [choose_variant(workload, settings.get("parameters") or {}) for workload in _chosen(names)]
    parsed = parse_settings(**settings)
    rate_per_s = None if settings.get("rate") is None else parsed.rate_per_s
    streams = [_stream(workload, count, rate_per_s, parsed.seed) for workload, _ in chosen]
    for (workload, checked), stream in zip(chosen, streams, strict=True):
        workload.check(checked, stream.rate_per_s)
    save = None if save is None else Path(save)
    if save is not None:
        _make_folder(save)
    engine = find_engine(parsed.engine)
    report_progress(START.format(engine=engine.title))
    results = []
    with temporary_session(engine, parsed, engine.clock(), measured=False) as session:
        for (workload, checked), stream in zip(chosen, streams, strict=True):
            report_progress(workload.name)
            result = verify_workload(
                session,
                workload,
                checked,
                stream,
                folder=session.scratch / "verification",
                save=save,
            )
            results.append(result)
    return Verifications(tuple(results))


def _stream(workload: Workload, count: str | int | None, rate_per_s: float | None, seed: int) -> FiniteStream:
    usual = default_stream(workload)
    events = usual.events if count is None else parse_count(count, where="--count")
    return FiniteStream(events, rate_per_s or usual.rate_per_s, seed)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentNotReadyError(
            f"the folder cannot be made: {error.strerror}",
            where=str(path),
            remedy="choose another with --save",
        ) from error
