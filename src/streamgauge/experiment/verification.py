"""Verifying several workloads in one Spark session."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.experiment.settings import parse_seed, parse_settings
from streamgauge.experiment.verify import FiniteStream, Verification, default_stream, verify_workload
from streamgauge.units import parse_count, parse_rate
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload, catalogue, find_workloads
from streamgauge.workloads.parameters import choose_variant


@dataclass(frozen=True)
class Verifications:
    """The comparisons of several workloads."""

    workloads: tuple[Verification, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict over all of them."""
        return Verdict.combine(v.verdict for v in self.workloads)


def _chosen(names: Sequence[str]) -> list[Workload]:
    found = [workload for name in names for workload in find_workloads(name)]
    return list(dict.fromkeys(found)) if names else list(catalogue().values())


def verify(
    names: Sequence[str] = (),
    *,
    events: str | int | None = None,
    rate: str | float | None = None,
    parameters: Mapping[str, Any] | None = None,
    conf: Mapping[str, str] | None = None,
    cores: int | None = None,
    master: str | None = None,
    seed: int = 1,
    save: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Verifications:
    """Verify workloads by name or suite, all of them by default; `tell` gets a line per step."""
    from streamgauge.engine.session import SessionSettings, temporary_session

    chosen = [choose_variant(workload, parameters or {}) for workload in _chosen(names)]
    streams = [_stream(workload, events, rate, seed) for workload, _ in chosen]
    for (workload, checked), stream in zip(chosen, streams, strict=True):
        workload.check(checked, stream.rate_per_s)
    settings = parse_settings(cores=cores, master=master, conf=conf)
    save = None if save is None else Path(save)
    if save is not None:
        _make_folder(save)
    tell("starting Spark")
    results = []
    with temporary_session(SessionSettings(settings.master, settings.conf, event_log=False)) as session:
        for (workload, checked), stream in zip(chosen, streams, strict=True):
            tell(workload.name)
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


def _stream(workload: Workload, events: str | int | None, rate: str | float | None, seed: int) -> FiniteStream:
    usual = default_stream(workload)
    return FiniteStream(
        usual.events if events is None else parse_count(events, where="--events"),
        usual.rate_per_s if rate is None else parse_rate(rate),
        parse_seed(seed),
    )


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentNotReadyError(
            f"the folder cannot be made: {error.strerror}",
            where=str(path),
            remedy="choose another with --save",
        ) from error
