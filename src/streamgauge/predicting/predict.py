"""What a query would do with other settings: the model, fitted to stored runs, asked in the words of the command line.

What is not asked for stays as it was in the first run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.conclude.sample import sample_of
from streamgauge.conclude.stored_run import refuse_other_queries
from streamgauge.errors import InvalidExperimentError, UnknownVerdictError, UsageError
from streamgauge.model import FittedModel, Prediction, RunSample, Settings, fit_model
from streamgauge.model import predict as predict_settings
from streamgauge.model.query import QUIET_SLOWDOWN
from streamgauge.model.sample import WARM_BATCHES
from streamgauge.predicting.keys import apply_keys
from streamgauge.running.lifecycle import Run
from streamgauge.store import StoredRun, resolve_groups, runs_root
from streamgauge.units import parse_count, parse_duration, parse_rate
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

Runs = str | Run | StoredRun | Sequence[str | Run | StoredRun]
Value = str | float | None
Values = Value | Sequence[str | float]

# How many combinations of settings one call predicts at most.
MAX_SETTINGS = 400
SWEEP_POINTS = 12
# From this ratio of the ends on, the rates of a sweep are multiples of each other; below, they have equal distances.
WIDE_SWEEP = 8.0
# What is predicted from a query whose load is not ours.
OBSERVED_S, OBSERVED_WARMUP_S = 60.0, 10.0


@dataclass(frozen=True)
class Calibrated:
    """A model, the settings of the run that it starts from, and what was left out of it.

    `base` has no rate when all events of that run existed at the start.
    """

    model: FittedModel
    base: Mapping[str, Any]
    concerns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def predict(self, settings: Settings) -> Prediction:
        """Predict one combination of settings."""
        found = predict_settings(self.model, settings)
        reasons = (*self.concerns, *found.reasons)
        verdict = Verdict.UNKNOWN if self.concerns else found.verdict
        return replace(found, verdict=verdict, reasons=reasons, notes=(*self.notes, *found.notes))


@dataclass(frozen=True)
class Predictions:
    """Predictions of several settings, with the same draws, so that differences between them are not chance."""

    workload: str
    calibrated_from: tuple[str, ...]
    predictions: tuple[Prediction, ...]

    @property
    def verdict(self) -> Verdict:
        """Unknown when every prediction is; that one of them fails is an answer."""
        verdicts = {prediction.verdict for prediction in self.predictions}
        return Verdict.UNKNOWN if verdicts == {Verdict.UNKNOWN} else Verdict.PASS

    @property
    def varied(self) -> tuple[str, ...]:
        """The settings in which the predictions differ."""
        documents = [asdict(prediction.settings) for prediction in self.predictions]
        return tuple(name for name in documents[0] if len({document[name] for document in documents}) > 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said about all settings alike; the rest stands with each."""
        return tuple(n for n in self.predictions[0].notes if all(n in other.notes for other in self.predictions))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is unknown, where that is so for all settings."""
        return tuple(r for r in self.predictions[0].reasons if all(r in other.reasons for other in self.predictions))

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `predict --json` with several settings."""
        return {
            "workload": self.workload,
            "verdict": self.verdict.value,
            "calibrated_from": list(self.calibrated_from),
            "varied": list(self.varied),
            "predictions": [prediction.document() for prediction in self.predictions],
        }

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per combination of settings."""
        import pandas as pd

        return pd.concat([prediction.to_pandas() for prediction in self.predictions], ignore_index=True)

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))


def predict(
    run: Runs,
    *,
    rate: Value = None,
    arrivals: str | None = None,
    trigger: Value = None,
    cores: int | str | None = None,
    shuffle_partitions: int | str | None = None,
    source_partitions: int | str | None = None,
    max_rows_per_batch: Value = None,
    duration: Value = None,
    warmup: Value = None,
    slowdown: Value = None,
    keys: str | Path | None = None,
    runs: str | Path | None = None,
) -> Prediction:
    """Predict what a run with other settings would measure; what is not given is as in `run`, or the first of several.

    `run` is a run, a set, or several of them, of one query, and `keys` a file that says how often keys come.

    >>> import streamgauge as sg
    >>> sg.predict("latest", rate="250k", trigger="2s").latency_mean_s.value  # doctest: +SKIP
    1.31
    """
    asked = {
        "rate": rate, "trigger": trigger, "cores": cores, "shuffle_partitions": shuffle_partitions,
        "source_partitions": source_partitions, "max_rows_per_batch": max_rows_per_batch, "duration": duration,
        "warmup": warmup, "slowdown": slowdown,
    }  # fmt: skip
    own = {name: [value] for name, value in asked.items() if value is not None}
    calibrated = calibrate(run, keys=keys, runs=runs)
    (settings,) = combinations(calibrated.base, own, arrivals=arrivals)
    return calibrated.predict(settings)


def predict_all(
    run: Runs,
    *,
    rate: Values = None,
    arrivals: str | None = None,
    trigger: Values = None,
    cores: Values = None,
    shuffle_partitions: Values = None,
    source_partitions: Values = None,
    max_rows_per_batch: Values = None,
    duration: Value = None,
    warmup: Value = None,
    slowdown: Values = None,
    keys: str | Path | None = None,
    sweep: str | None = None,
    runs: str | Path | None = None,
) -> Predictions:
    """Predict all combinations of settings: lists, or texts with commas; `sweep` is e.g. `rate=50k:1M`."""
    asked = {
        "rate": rate, "trigger": trigger, "cores": cores, "shuffle_partitions": shuffle_partitions,
        "source_partitions": source_partitions, "max_rows_per_batch": max_rows_per_batch, "duration": duration,
        "warmup": warmup, "slowdown": slowdown,
    }  # fmt: skip
    lists = {name: _listed(value) for name, value in asked.items() if value is not None}
    if sweep is not None:
        if rate is not None:
            raise UsageError("--rate and --sweep rate=… exclude each other", remedy="leave one of them out")
        lists["rate"] = list(sweep_rates(sweep))
    calibrated = calibrate(run, keys=keys, runs=runs)
    chosen = list(combinations(calibrated.base, lists, arrivals=arrivals))
    return Predictions(
        calibrated.model.workload,
        calibrated.model.run_ids,
        tuple(calibrated.predict(settings) for settings in chosen),
    )


def _listed(value: Values) -> list[str | float]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    if isinstance(value, Sequence):
        return list(value)
    return [] if value is None else [value]


def sweep_rates(text: str) -> tuple[float, ...]:
    """Read rates from low to high: `rate=LOW:HIGH`, or `rate=LOW:HIGH:POINTS`.

    >>> sweep_rates("rate=100k:300k:3")
    (100000.0, 200000.0, 300000.0)
    >>> [round(rate) for rate in sweep_rates("rate=1k:1M:4")]
    [1000, 10000, 100000, 1000000]
    """
    name, _, ends = text.partition("=")
    parts = ends.split(":")
    if name.strip() != "rate" or len(parts) not in (2, 3):
        remedy = "write --sweep rate=LOW:HIGH, e.g. rate=50k:1M; other settings take lists, e.g. --cores 1,2"
        raise UsageError(f'"{text}" is not a sweep', where="--sweep", remedy=remedy)
    low, high = (parse_rate(part, where="--sweep") for part in parts[:2])
    points = parse_count(parts[2], where="--sweep") if len(parts) == 3 else SWEEP_POINTS
    if not low < high or not 2 <= points <= MAX_SETTINGS:
        remedy = f"begin with the lower rate, and take 2 to {MAX_SETTINGS} points"
        raise UsageError(f'"{text}" has no rates between its ends', where="--sweep", remedy=remedy)
    spaced = np.geomspace if high >= WIDE_SWEEP * low else np.linspace
    return tuple(float(rate) for rate in spaced(low, high, points))


_READERS: dict[str, tuple[str, Callable[[Any], float | int]]] = {
    "rate": ("rate_per_s", parse_rate),
    "trigger": ("trigger_s", lambda value: parse_duration(value, where="--trigger")),
    "duration": ("duration_s", lambda value: parse_duration(value, minimum_s=1.0)),
    "warmup": ("warmup_s", lambda value: parse_duration(value, where="--warmup")),
    "cores": ("cores", lambda value: _whole(value, "--cores")),
    "shuffle_partitions": ("shuffle_partitions", lambda value: _whole(value, "--shuffle-partitions")),
    "source_partitions": ("source_partitions", lambda value: _whole(value, "--source-partitions")),
    "max_rows_per_batch": ("max_rows_per_batch", lambda value: parse_count(value, where="--max-rows-per-batch")),
    "slowdown": ("slowdown", lambda value: _number(value, "--slowdown")),
}


def _number(value: str | float, where: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f'"{value}" is not a number', where=where, remedy="write e.g. 1.3, or 1.1,1.5") from None


def _whole(value: str | float, where: str) -> int:
    try:
        return int(value)
    except (ValueError, OverflowError):
        raise UsageError(f'"{value}" is not a whole number', where=where, remedy="write e.g. 2, or 1,2,4") from None


def combinations(
    base: Mapping[str, Any], asked: Mapping[str, Sequence[str | float]], *, arrivals: str | None
) -> Iterator[Settings]:
    """Yield the settings of every combination of what is asked for; the first name changes fastest."""
    read = {_READERS[name][0]: [_READERS[name][1](value) for value in values] for name, values in asked.items()}
    total = int(np.prod([len(values) for values in read.values()])) if read else 1
    if total > MAX_SETTINGS:
        raise UsageError(f"{total} combinations of settings", remedy=f"ask for at most {MAX_SETTINGS} at once")
    known = dict(base) | ({} if arrivals is None else {"arrivals": arrivals})
    if known.get("rate_per_s") is None and "rate_per_s" not in read:
        what = "the run has no rate: all of its events existed at the start"
        raise UsageError(what, where="--rate", remedy="say for which rate to predict, e.g. --rate 200k")
    for values in product(*reversed(read.values())):
        yield Settings(**known | dict(zip(reversed(read), values, strict=True)))


def calibrate(run: Runs, *, keys: str | Path | None = None, runs: str | Path | None = None) -> Calibrated:
    """Fit the model to one or several runs or sets of one query.

    Runs that cannot be used are left out with a note; when none is left, the verdict is unknown.
    """
    root = runs_root(runs)
    calibrated = calibrate_from(_stored_runs(run, root))
    if keys is None:
        return calibrated
    model, note = apply_keys(calibrated.model, Path(keys))
    return replace(calibrated, model=model, notes=(*calibrated.notes, note))


def calibrate_from(stored: Sequence[StoredRun]) -> Calibrated:
    """Fit the model to opened runs."""
    refuse_other_queries(stored)
    samples, unusable = _samples(stored)
    if not samples:
        named = "; ".join(f"{run_id}: {what}" for run_id, what in unusable)
        raise UnknownVerdictError(f"nothing can be predicted: {named}", remedy=_remedy(stored[0]))
    used = [run for run in stored if run.run_id not in dict(unusable)]
    concerns = tuple(f"{run.run_id} did not finish: it is {run.status}" for run in used if run.status != "finished")
    notes = [f"{run_id} is left out: {what}" for run_id, what in unusable]
    base = base_settings(used[0], samples[0])
    if samples[0].facts.adapts is False and not used[0].configuration.get("trigger_s"):
        notes.append("no trigger interval is known of the run: micro-batches are taken to follow each other at once")
    cold = [sample for sample in samples if sample.before < WARM_BATCHES]
    if cold:
        counts = " and ".join(str(count) for count in sorted({sample.before for sample in cold}))
        notes.append(
            f"the measurement began after {counts} micro-batches: until about {WARM_BATCHES} of them Java compiles what"
            " the driver does in each, so a query that has run for long is faster; a longer --warmup shows it"
        )
    return Calibrated(fit_model(samples), base, concerns, tuple(notes))


def _remedy(run: StoredRun) -> str:
    workload = "WORKLOAD" if run.is_observed else run.document["workload"]
    return f"measure for a minute or more, or let `streamgauge model calibrate {workload}` choose a few short runs"


def _stored_runs(run: Runs, root: Path) -> list[StoredRun]:
    """Return the runs that are meant, each once."""
    named = [run] if isinstance(run, str | Run | StoredRun) else list(run)
    if not named:
        raise UsageError("no run is named", remedy="name a run or a set; `streamgauge runs list` shows the runs")
    found: dict[Path, StoredRun] = {}
    for one in named:
        if isinstance(one, str):
            opened = [stored for group in resolve_groups(root, one) for stored in group.runs]
        else:
            opened = [one.stored() if isinstance(one, Run) else one]
        found |= {stored.path.resolve(): stored for stored in opened}
    return list(found.values())


def _samples(stored: Sequence[StoredRun]) -> tuple[list[RunSample], list[tuple[str, str]]]:
    """Read what the model needs of every run; of runs that lack it, the reason."""
    samples, unusable = [], []
    for run in stored:
        # A table that is damaged is an error of its own, not a lack of data.
        run.table("tasks")
        try:
            samples.append(sample_of(run))
        except InvalidExperimentError as error:
            unusable.append((run.run_id, error.what))
    return samples, unusable


def base_settings(stored: StoredRun, sample: RunSample) -> dict[str, Any]:
    """Return the settings of a run as the model takes them."""
    configuration = stored.configuration
    is_offline = configuration.get("load") == "offline"
    common = {
        "cores": sample.facts.cores,
        "trigger_s": sample.facts.trigger_s,
        "shuffle_partitions": configuration.get("shuffle_partitions"),
        "source_partitions": configuration.get("source_partitions"),
        "slowdown": sample.facts.slowdown or QUIET_SLOWDOWN,
    }
    if stored.is_observed:
        return common | {
            "rate_per_s": sample.rate_per_s, "duration_s": OBSERVED_S, "warmup_s": OBSERVED_WARMUP_S,
        }  # fmt: skip
    return common | {
        "rate_per_s": None if is_offline else float(configuration["rate_per_s"]),
        "arrivals": "constant" if is_offline else str(configuration["arrivals"]),
        "max_rows_per_batch": configuration.get("max_rows_per_batch"),
        "duration_s": float(configuration["duration_s"]),
        "warmup_s": float(configuration["warmup_s"]),
    }
