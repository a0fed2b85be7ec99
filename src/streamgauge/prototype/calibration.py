"""What a cycle of CPU work costs: measured once by `streamgauge prototype calibrate`, kept for every prototype.

It holds for one processor, Java and Spark only. That of another processor or Spark is refused wherever it is read;
which Java would run is not known here, so whoever knows it calls `CycleCalibration.refuse_other`.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.files import cache_folder, disk_access, write_text_whole
from streamgauge.machine.environment import installed_version, processor
from streamgauge.verdict import Verdict

WorkForm = Literal["native", "arrow"]
FORMS: tuple[WorkForm, ...] = ("native", "arrow")
SCHEMA_VERSION = 1
FILE = "calibration.json"
MEASURE = "measure it with `streamgauge prototype calibrate`, which takes about a minute"
MEASURE_AGAIN = "measure it again with `streamgauge prototype calibrate`, which takes about a minute"


@dataclass(frozen=True)
class Platform:
    """What the cost of a cycle depends on; Java is None where it is not known."""

    processor: str
    java: str | None
    spark: str | None

    def other_than(self, measured: "Platform") -> list[str]:
        """Say where this machine differs from the one that was measured.

        >>> Platform("A", "21", "4.3.0").other_than(Platform("A", "17", "4.3.0"))
        ['Java 17, here 21']
        """
        names = {"processor": "processor", "java": "Java", "spark": "Spark"}
        pairs = {word: (getattr(measured, name), getattr(self, name)) for name, word in names.items()}
        return [
            f"{word} {then or 'unknown'}, here {now}"
            for word, (then, now) in pairs.items()
            if now is not None and then != now
        ]


def this_machine() -> Platform:
    """Return this processor and the installed Spark; Java is not looked for."""
    return Platform(processor(), None, installed_version("pyspark"))


@dataclass(frozen=True)
class CostPoint:
    """The cost of one amount of work: the median over repetitions, and how far it is from the line, as a share of it.

    `error_low` and `error_high` are the least and the greatest distance in parts of the repetitions.
    """

    cycles: int
    tuples: int
    ns_per_tuple: float
    error: float
    error_low: float = 0.0
    error_high: float = 0.0


@dataclass(frozen=True)
class CostLine:
    """CPU time per tuple = `ns_per_tuple` + `ns_per_cycle` · cycles; the interval is that of the slope."""

    ns_per_cycle: float
    ns_per_cycle_low: float
    ns_per_cycle_high: float
    ns_per_tuple: float
    points: tuple[CostPoint, ...]

    @property
    def largest_error(self) -> float:
        """How far the worst point is from the line, as a share of it."""
        return max(abs(point.error) for point in self.points)

    @property
    def spread(self) -> float:
        """Half of the interval, as a share of the slope."""
        return (self.ns_per_cycle_high - self.ns_per_cycle_low) / 2 / self.ns_per_cycle

    def cycles_in(self, processing_us: float) -> int:
        """Return how many cycles take this long, together with what work costs besides its cycles."""
        return max(0, round((processing_us * 1000 - max(0.0, self.ns_per_tuple)) / self.ns_per_cycle))


@dataclass(frozen=True)
class CycleCalibration:
    """The cost of cycles in each form of CPU work, and the machine that it was measured on."""

    measured: str
    machine: Platform
    lines: Mapping[WorkForm, CostLine]
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    def ns_per_cycle(self, form: WorkForm) -> float:
        """Return nanoseconds of one core per cycle."""
        return self.lines[form].ns_per_cycle

    def cycles_in(self, processing_us: float, form: WorkForm) -> int:
        """Return how many cycles of a form take this many microseconds of one core."""
        return self.lines[form].cycles_in(processing_us)

    def refuse_other(self, machine: Platform, where: Path | None = None) -> None:
        """Raise when this calibration was measured on another processor, Java or Spark than `machine`."""
        differences = machine.other_than(self.machine)
        if differences:
            what = f"the calibration is that of another machine: {'; '.join(differences)}"
            raise EnvironmentNotReadyError(what, where=str(where or calibration_path()), remedy=MEASURE_AGAIN)

    def write(self, folder: Path | None = None) -> Path:
        """Keep this calibration for later runs and return its file."""
        from pydantic import TypeAdapter

        path = calibration_path(folder)
        intent, remedy = "keep the calibration", "choose another folder with STREAMGAUGE_CACHE"
        with disk_access(intent, path, remedy):
            path.parent.mkdir(parents=True, exist_ok=True)
        text = TypeAdapter(CycleCalibration).dump_json(self, indent=2).decode() + "\n"
        write_text_whole(path, text, intent=intent, remedy=remedy)
        return path

    def document(self) -> dict[str, object]:
        """Return all of it for JSON."""
        return asdict(self)


def calibration_path(folder: Path | None = None) -> Path:
    """Return the file of the calibration."""
    return (cache_folder(os.environ) if folder is None else folder) / FILE


def read_calibration(folder: Path | None = None) -> CycleCalibration | None:
    """Return the kept calibration, or None where there is none; a damaged one or that of another machine is refused."""
    path = calibration_path(folder)
    try:
        with disk_access("read the calibration", path, MEASURE_AGAIN):
            text = path.read_bytes()
    except EnvironmentNotReadyError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
    found = _parse(text, path)
    found.refuse_other(this_machine(), path)
    return found


def need_calibration(where: str) -> CycleCalibration:
    """Return the calibration for something that cannot do without, named by `where`."""
    found = read_calibration()
    if found is None:
        what = "CPU work in microseconds needs the cost of a cycle on this machine, which is not known yet"
        raise EnvironmentNotReadyError(what, where=where, remedy=MEASURE)
    return found


def _parse(text: bytes, path: Path) -> CycleCalibration:
    from pydantic import TypeAdapter, ValidationError

    try:
        found = TypeAdapter(CycleCalibration).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        what = f"the calibration cannot be read: {f'{place}: ' if place else ''}{first['msg']}"
        raise EnvironmentNotReadyError(what, where=str(path), remedy=MEASURE_AGAIN) from error
    if found.schema_version != SCHEMA_VERSION:
        what = f"the calibration has version {found.schema_version}, which is not {SCHEMA_VERSION}"
        raise EnvironmentNotReadyError(what, where=str(path), remedy=MEASURE_AGAIN)
    if set(found.lines) != set(FORMS) or any(line.ns_per_cycle <= 0 for line in found.lines.values()):
        what = f"the calibration has no cost of a cycle in {' and '.join(FORMS)} form"
        raise EnvironmentNotReadyError(what, where=str(path), remedy=MEASURE_AGAIN)
    return found
