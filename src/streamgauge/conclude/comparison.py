"""Is the difference real? Repeated runs of one configuration against those of another.

The unit is the run. All runs that are compared count from the same second of their load on, the largest of their
steady-state cuts, and every metric is computed again from there. That nothing changed is a result only where the runs
could have shown a change.
"""

import math
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from streamgauge.conclude.changes import (
    Change,
    MetricChange,
    Values,
    in_words,
    judge,
    lack_of_runs,
    verdict_of,
)
from streamgauge.conclude.stored_run import differences, evidence_of
from streamgauge.errors import EXIT_FAIL, EXIT_OK, EXIT_UNKNOWN, InvalidExperimentError, UsageError
from streamgauge.measure.statistics import Rule
from streamgauge.metrics import METRIC, METRICS
from streamgauge.store import RunGroup, StoredRun, resolve_groups, runs_root
from streamgauge.store.references import names_of, short_id
from streamgauge.store.sequence import REMEDY, Succession, sequence_of
from streamgauge.units import format_rate, parse_share

if TYPE_CHECKING:
    from streamgauge.conclude.evidence import Evidence

EXIT_BY_CHANGE = {
    "worse": EXIT_FAIL,
    "mixed": EXIT_FAIL,
    "undecided": EXIT_UNKNOWN,
    "better": EXIT_OK,
    "no change": EXIT_OK,
}
# A run that processes this share of what is offered keeps up; below are the edges of micro-batches.
KEPT_UP_SHARE = 0.98
SAME_RATE = 0.01
OFFERED = "offered_rate_per_s"
SHOWN_VALUES = 3

ENVIRONMENT_TITLES = {
    "streamgauge": "streamgauge",
    "python": "Python",
    "java": "Java",
    "packages.pyspark": "Spark",
    "system": "operating system",
    "processor": "machine",
    "cores": "cores of the machine",
    "memory_bytes": "memory of the machine in bytes",
}
UNUSABLE = {"running": "is still going on", "interrupted": "was interrupted", "failed": "failed"}
# Settings in which repeated runs may differ: the events themselves, and what comes after the load.
FREE_SETTINGS = ("seed", "explore")


@dataclass(frozen=True)
class Difference:
    """A setting, or a property of machine or software, that is not the same on both sides."""

    name: str
    title: str
    kind: Literal["setting", "environment"]
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.title}: {self.a} against {self.b}"


@dataclass(frozen=True)
class Comparison:
    """One configuration, `b`, against another, `a`; both hold only the runs that count.

    All runs count from second `from_s` of their load on; None where all events are there at once. Runs that are not
    made in turns decide nothing, because the machine may have changed, unless a drift was allowed for.
    """

    a: RunGroup
    b: RunGroup
    verdict: Change
    words: tuple[str, ...]
    metrics: tuple[MetricChange, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    labels: tuple[str, str] = ("A", "B")
    from_s: float | None = None
    sequence: Succession = "interleaved"

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `compare --json`."""
        return {
            "a": self.a.name,
            "b": self.b.name,
            "verdict": self.verdict,
            "runs": {"a": [r.run_id for r in self.a.runs], "b": [r.run_id for r in self.b.runs]},
            "from_s": self.from_s,
            "sequence": self.sequence,
            "words": list(self.words),
            "metrics": [metric.document() for metric in self.metrics],
            "differences": [vars(difference) for difference in self.differences],
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Comparisons:
    """All pairs of one comparison; `warnings` are those that belong to no pair."""

    comparisons: tuple[Comparison, ...]
    rule: Rule
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> Change:
        """The worst of all pairs."""
        order: tuple[Change, ...] = ("worse", "mixed", "undecided", "better", "no change")
        return min((c.verdict for c in self.comparisons), key=order.index)

    @property
    def exit_code(self) -> int:
        """Worse and mixed are regressions, undecided is unknown."""
        return EXIT_BY_CHANGE[self.verdict]

    def basis(self, comparison: Comparison) -> str:
        """Say by which rule a pair was judged."""
        text = f"intervals of {100 * self.rule.confidence:g} % confidence over all metrics; "
        text += f"changes below {100 * self.rule.relevant:g} % do not count, no change is one of at most "
        text += f"{100 * max(self.rule.margin, self.rule.relevant):g} %"
        if comparison.from_s is not None:
            text += f"; all runs count from second {comparison.from_s:.4g} of their load on"
        return text

    def document(self) -> dict[str, Any]:
        """Return the answer; a single pair has its metrics at the top too."""
        found = [comparison.document() for comparison in self.comparisons]
        return {
            "verdict": self.verdict,
            "confidence": self.rule.confidence,
            "relevant": self.rule.relevant,
            "margin": self.rule.margin,
            "drift": None if math.isinf(self.rule.drift) else self.rule.drift,
            **({"metrics": found[0]["metrics"]} if len(found) == 1 else {}),
            "comparisons": found,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class _Pair:
    """Two groups on their way to a comparison."""

    a: RunGroup
    b: RunGroup
    labels: tuple[str, str]
    differences: tuple[Difference, ...] = ()
    warnings: tuple[str, ...] = ()
    values_a: Values = field(default_factory=dict)
    values_b: Values = field(default_factory=dict)
    from_s: float | None = None
    sequence: Succession = "interleaved"

    def sides(self) -> tuple[tuple[str, RunGroup], tuple[str, RunGroup]]:
        return (self.labels[0], self.a), (self.labels[1], self.b)


def compare(
    references: Sequence[str],
    *,
    runs: str | Path | None = None,
    confidence: str | float = "95%",
    relevant: str | float = "1%",
    margin: str | float = "10%",
    drift: str | float | None = None,
) -> Comparisons:
    """Compare every other reference with the first; what a reference is, `resolve_groups` says.

    Sets of several configurations are paired by the names of these. A change counts at `confidence`, over all
    metrics of all pairs together, if it is `relevant`; no change is a change of at most `margin`. Runs of which one
    side was made before the other decide nothing, unless `drift` says by how much the machine may have changed.

    >>> import streamgauge as sg
    >>> sg.compare(["20261116T0439", "20261116T0512"]).verdict  # doctest: +SKIP
    'better'
    """
    root = runs_root(runs)
    rule = Rule(
        parse_share(confidence, where="--confidence"),
        parse_share(relevant, where="--relevant"),
        parse_share(margin, where="--margin", below=math.inf),
        drift=math.inf if drift is None else parse_share(drift, where="--drift"),
    )
    sides = [resolve_groups(root, reference) for reference in references]
    if len(sides) < 2:
        raise UsageError("a comparison needs two sides at least", where="compare", remedy=_second_side(sides))
    pairs, warnings = _pair_up(sides, references)
    return Comparisons(tuple(_compare_pairs(pairs, rule)), rule, tuple(warnings))


def compare_groups(
    a: RunGroup, b: RunGroup, *, labels: tuple[str, str] = ("A", "B"), drift: float = math.inf
) -> Comparison:
    """Compare two groups of runs; `labels` are what sentences call them, `drift` is that of `compare`."""
    return _compare_pairs([_Pair(a, b, labels)], Rule(drift=drift))[0]


def _second_side(sides: Sequence[Sequence[RunGroup]]) -> str:
    usual = "name two runs, lists of runs (RUN1,RUN2) or sets"
    if sides and len(sides[0]) > 1:
        first, second, *_ = sides[0]
        reference = first.reference
        return f"{usual}, or two configurations of this one: '{reference}:{first.name}' '{reference}:{second.name}'"
    return f"{usual}; `streamgauge runs list` shows the runs"


def _label(index: int) -> str:
    letters = string.ascii_uppercase
    return letters[index] if index < len(letters) else f"#{index + 1}"


def _pair_up(sides: Sequence[Sequence[RunGroup]], references: Sequence[str]) -> tuple[list[_Pair], list[str]]:
    """Return the pairs, and what has no partner."""
    base, pairs, warnings = sides[0], [], []
    for index, other in enumerate(sides[1:], 1):
        labels = (_label(0), _label(index))
        if len(base) == 1:
            pairs += [_Pair(base[0], group, labels) for group in other]
            continue
        named = {group.name: group for group in base}
        partners = [_Pair(named[group.name], group, labels) for group in other if group.name in named]
        if not partners:
            raise UsageError(
                f"no configuration of {references[index]} has a namesake in {references[0]}",
                where="compare",
                remedy=f"choose with SET:NAME; the first has {names_of(base)}, the other {names_of(other)}",
            )
        pairs += partners
        paired = {pair.a.name for pair in partners}
        for label, groups in zip(labels, (base, other), strict=True):
            alone = [group for group in groups if group.name not in paired]
            if alone:
                warnings.append(f"only in {label}, and not compared: {names_of(alone)}")
    return pairs, warnings


def _compare_pairs(asked: Sequence[_Pair], rule: Rule) -> list[Comparison]:
    checked = [_checked(pair) for pair in asked]
    measured: list[_Pair] = []
    # What shares its base is compared with each other in the end, so it shares the cut.
    for base in dict.fromkeys(_paths(pair.a) for pair in checked):
        measured += _measured([pair for pair in checked if _paths(pair.a) == base])
    drifts = [rule.drift if pair.sequence == "sequential" else 0.0 for pair in measured]
    changes = judge([(pair.values_a, pair.values_b) for pair in measured], rule, drifts=drifts)
    return [_concluded(*found) for found in zip(measured, changes, drifts, strict=True)]


def _paths(group: RunGroup) -> tuple[Path, ...]:
    return tuple(run.path.resolve() for run in group.runs)


def _checked(pair: _Pair) -> _Pair:
    """Leave out what did not finish, and refuse what cannot be compared; all before anything large is read."""
    for run in (*pair.a.runs, *pair.b.runs):
        if run.is_rehearsal:
            remedy = "name runs that were measured; `streamgauge runs list` marks rehearsals"
            raise InvalidExperimentError("a rehearsal is evidence of nothing", where=run.run_id, remedy=remedy)
    if len(pair.a.runs) == len(pair.b.runs) == 1 and _paths(pair.a) == _paths(pair.b):
        raise UsageError(
            f"both sides are the run {pair.a.runs[0].run_id}",
            where="compare",
            remedy="name another run, or two sets of repeated runs",
        )
    usable, warnings = [], []
    for label, group in pair.sides():
        kept, said = _finished(label, group)
        usable.append(kept)
        warnings += [*said, *_agreeing(label, kept)]
    pair = replace(pair, a=usable[0], b=usable[1])
    rows = _differences(pair)
    _refuse(pair, rows)
    found = tuple(_difference(pair, *row) for row in rows)
    warnings += [*_doubts(found), *_verdicts(pair), *_shared(pair)]
    return replace(pair, differences=found, warnings=tuple(warnings))


def _finished(label: str, group: RunGroup) -> tuple[RunGroup, list[str]]:
    said = [f"{label}: {short_id(run_id)} is left out: it is no longer there" for run_id in group.missing]
    said += [
        f"{label}: {short_id(run.run_id)} is left out: it {UNUSABLE[run.status]}"
        for run in group.runs
        if run.status != "finished"
    ]
    runs = tuple(run for run in group.runs if run.status == "finished")
    if not runs:
        raise _nothing_left(label, group, said)
    return replace(group, runs=runs), said


def _nothing_left(label: str, group: RunGroup, said: Sequence[str]) -> InvalidExperimentError:
    what = f"{label} ({group.name}) has no run that can be compared"
    return InvalidExperimentError(
        f"{what}: {'; '.join(said)}" if said else what,
        where=group.reference or None,
        remedy="choose runs that finished; `streamgauge runs list` shows them",
    )


def _section(name: str, runs: Iterable[StoredRun]) -> Literal["workload", "setting", "environment"]:
    """Return where a name of `differences` comes from."""
    if name == "workload":
        return "workload"
    head = name.partition(".")[0]
    is_setting = any(head in run.configuration for run in runs)
    return "setting" if is_setting else "environment"


def _is_free(name: str, run: StoredRun) -> bool:
    """Return what may differ among repeated runs: the rate of an online load is a result of the run."""
    load = run.configuration.get("load")
    return name in FREE_SETTINGS or (name == "rate_per_s" and load == "online")


def _agreeing(label: str, group: RunGroup) -> list[str]:
    """Refuse a group of several configurations; runs on several machines are only a warning."""
    rows = [(name, texts) for name, texts in differences(group.runs) if not _is_free(name, group.runs[0])]
    around = [name for name, _ in rows if _section(name, group.runs) == "environment"]
    wrong = [f"{name} ({_some(texts)})" for name, texts in rows if name not in around]
    if wrong:
        raise InvalidExperimentError(
            f"the runs of {label} ({group.name}) are not repetitions of one configuration: {', '.join(wrong)} differ",
            where=group.reference or None,
            remedy="choose runs with the same settings: name them one by one, with commas between, or SET:NAME",
        )
    return [f"{label}: its runs differ in {ENVIRONMENT_TITLES.get(name, name)}" for name in around]


def _some(texts: Iterable[str]) -> str:
    found = list(dict.fromkeys(texts))
    return ", ".join(found[:SHOWN_VALUES]) + (", …" if len(found) > SHOWN_VALUES else "")


def _differences(pair: _Pair) -> list[tuple[str, str, str]]:
    """Return the names in which the groups differ, with the values of both; the same seeds on both sides are equal."""
    runs, size = [*pair.a.runs, *pair.b.runs], len(pair.a.runs)
    rows = [
        (name, _some(texts[:size]), _some(texts[size:]))
        for name, texts in differences(runs)
        if set(texts[:size]) != set(texts[size:])
    ]
    is_online = all(_is_free("rate_per_s", run) for run in runs)
    return [row for row in rows if not (is_online and row[0] == "rate_per_s")]


def _refuse(pair: _Pair, rows: Sequence[tuple[str, str, str]]) -> None:
    a, b = pair.labels
    wrong = [row for row in rows if row[0] in ("workload", "load") or row[0].startswith("parameters.")]
    if any(name == "workload" for name, _, _ in wrong):
        wrong = [row for row in wrong if row[0] == "workload"]
    if wrong:
        different = [
            f"{name.removeprefix('parameters.')} is {in_a} in {a} and {in_b} in {b}" for name, in_a, in_b in wrong
        ]
        raise InvalidExperimentError(
            f"{a} ({pair.a.name}) and {b} ({pair.b.name}) are different experiments: {'; '.join(different)}",
            remedy="compare runs with the same workload, the same parameters and the same kind of load",
        )


def _difference(pair: _Pair, name: str, a: str, b: str) -> Difference:
    if _section(name, [*pair.a.runs, *pair.b.runs]) == "setting":
        return Difference(name, name, "setting", a, b)
    return Difference(name, ENVIRONMENT_TITLES.get(name, name.removeprefix("packages.")), "environment", a, b)


def _doubts(found: Iterable[Difference]) -> list[str]:
    elsewhere = [d.title for d in found if d.kind == "environment"]
    chosen = [d.title for d in found if d.kind == "setting" and d.name not in FREE_SETTINGS]
    said = []
    if elsewhere:
        said.append(f"machine or versions differ ({', '.join(elsewhere)}): a change may come from there")
    if len(chosen) > 1:
        said.append(f"{len(chosen)} settings differ ({', '.join(chosen)}): a change may come from any of them")
    return said


def _verdicts(pair: _Pair) -> list[str]:
    """Say which runs are in doubt by themselves."""
    said = []
    for label, group in pair.sides():
        for verdict in ("fail", "unknown"):
            runs = [run for run in group.runs if run.document.get("verdict") == verdict]
            if runs:
                reasons = dict.fromkeys(str(r) for run in runs for r in run.document.get("reasons") or ())
                why = f", e.g. {next(iter(reasons))}" if reasons else ""
                said.append(f"{label}: {_counted(len(runs), of=len(group.runs))} with the verdict {verdict}{why}")
    return said


def _counted(runs: int, *, of: int | None = None) -> str:
    """Count runs for a sentence.

    >>> _counted(1), _counted(2, of=5)
    ('one run', '2 of 5 runs')
    """
    if of is not None and of > 1:
        return f"{runs} of {of} runs"
    return "one run" if runs == 1 else f"{runs} runs"


def _shared(pair: _Pair) -> list[str]:
    a, b = pair.labels
    shared = set(_paths(pair.a)) & set(_paths(pair.b))
    if not shared:
        return []
    if shared == set(_paths(pair.a)) == set(_paths(pair.b)):
        return [f"{a} and {b} are the same runs"]
    return [f"{_counted(len(shared))} on both sides, which hides a change"]


def metric_values(evidence: "Evidence", from_s: float | None = None) -> dict[str, float | None]:
    """Return the metrics of one run by their paths in the summary, and its offered rate; None where it has none."""
    from streamgauge.conclude.summary import core_use, resources, stages
    from streamgauge.conclude.window import latency_histogram, measured_part
    from streamgauge.measure import offered_rate, processed_rate

    measured = measured_part(evidence, None if evidence.is_offline else from_s)
    processed = None
    if measured.batches:
        processed = processed_rate(evidence.batches, measured.from_us, measured.until_us, level=measured.level)
    used = core_use(evidence, measured, resources(evidence, measured), processed)
    durations_s = [] if evidence.is_unbatched else [batch.duration_s for batch in measured.batches]
    values: dict[str, float | None] = {
        "batch_duration_s.mean": float(np.mean(durations_s)) if durations_s else None,
        "core_use.events_per_s_per_core": used["events_per_s_per_core"] if used else None,
        "stages.cpu_s_per_event": stages(measured.batches, evidence.tasks)["cpu_s_per_event"],
    }
    if evidence.is_offline:
        return values | {"offline_rate_per_s": processed}
    if evidence.is_observed:
        return values | {"processed_rate_per_s": processed}
    latency = {"end_to_end_latency_s": latency_histogram(evidence, measured).summary()}
    values |= {metric.path: metric.value(latency) for metric in METRICS if metric.change and "latency" in metric.path}
    maximum = {"offline_rate_per_s": evidence.maximum.rate_per_s} if evidence.maximum else {}
    offered = offered_rate(evidence.schedule, evidence.origin_us, measured.from_us, measured.until_us)
    return values | maximum | {"processed_rate_per_s": processed, OFFERED: offered}


def shared_cut_s(runs: Iterable[tuple[StoredRun, "Evidence"]]) -> float | None:
    """Return the largest steady-state cut, in seconds after the start of the load; None for offline loads."""
    from streamgauge.conclude.window import measured_part

    cuts = []
    for run, evidence in runs:
        if evidence.is_offline:
            continue
        steady = run.summary.get("steady_state")
        cuts.append(steady["from_s"] if steady else (measured_part(evidence).from_us - evidence.origin_us) / 1e6)
    return max(cuts, default=None)


def _measured(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Compute the metrics of all runs of pairs that share their base, with one cut."""
    runs = {run.path.resolve(): run for pair in pairs for run in (*pair.a.runs, *pair.b.runs)}
    evidence = {path: evidence_of(run) for path, run in runs.items()}
    from_s = shared_cut_s((run, evidence[path]) for path, run in runs.items())
    values = {path: metric_values(found, from_s) for path, found in evidence.items()}
    return [_with_values(replace(pair, from_s=from_s), values) for pair in pairs]


def _with_values(pair: _Pair, values: Mapping[Path, Mapping[str, float | None]]) -> _Pair:
    groups, said = [], []
    for label, group in pair.sides():
        kept, more = _with_batches(label, group, values, pair.from_s)
        groups.append(kept)
        said += more
    rows = [[values[path] for path in _paths(group)] for group in groups]
    judged = [metric.path for metric in METRICS if metric.change]
    names = [OFFERED, *judged]
    known = [n for n in names if all(_is_positive(row.get(n)) for side in rows for row in side)]
    unknown = [n for n in judged if n not in known and any(row.get(n) is not None for side in rows for row in side)]
    if unknown:
        titles = ", ".join(METRIC[name].title for name in unknown)
        said.append(f"not compared, because not every run has it: {titles}")
    values_a, values_b = ({name: [float(row[name] or 0) for row in side] for name in known} for side in rows)
    said += _load_note(pair.labels, values_a, values_b)
    metrics_a, metrics_b = ({n: v for n, v in found.items() if n != OFFERED} for found in (values_a, values_b))
    return replace(
        pair,
        sequence=sequence_of(groups[0].runs, groups[1].runs),
        a=groups[0],
        b=groups[1],
        values_a=metrics_a,
        values_b=metrics_b,
        warnings=(*pair.warnings, *said),
    )


def _is_positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def _with_batches(
    label: str, group: RunGroup, values: Mapping[Path, Mapping[str, float | None]], from_s: float | None
) -> tuple[RunGroup, list[str]]:
    """Leave out runs of which nothing remains after the cut."""
    empty = [run for run in group.runs if values[run.path.resolve()]["batch_duration_s.mean"] is None]
    after = f" after second {from_s:g} of its load, where all begin to count" if from_s is not None else ""
    said = [f"{label}: {short_id(run.run_id)} is left out: no micro-batch finished{after}" for run in empty]
    runs = tuple(run for run in group.runs if run not in empty)
    if not runs:
        raise _nothing_left(label, group, said)
    return replace(group, runs=runs), said


def _load_note(labels: tuple[str, str], values_a: Values, values_b: Values) -> list[str]:
    """Say when the processed rate is only what was offered."""
    a, b = labels
    rate = "processed_rate_per_s"
    if any(name not in values for name in (rate, OFFERED) for values in (values_a, values_b)):
        return []
    sides = (values_a, values_b)
    if not all(p >= KEPT_UP_SHARE * o for v in sides for p, o in zip(v[rate], v[OFFERED], strict=True)):
        return []
    offered_a, offered_b = (float(np.mean(values[OFFERED])) for values in sides)
    if abs(offered_b / offered_a - 1) > SAME_RATE:
        kept_up = f"{a} was offered {format_rate(offered_a)} and {b} {format_rate(offered_b)}, and both kept up"
    else:
        kept_up = f"{a} and {b} were offered the same rate, {format_rate(offered_a)}, and kept up"
    remedy = "`streamgauge sustain` or --load offline measures the capacity"
    return [f"{kept_up}: the processed rate is the load here, not the capacity; {remedy}"]


def _sequence_notes(pair: _Pair, drift: float) -> list[str]:
    if pair.sequence == "unknown":
        return [f"when the runs began is not known of all: whether {' and '.join(pair.labels)} took turns is unknown"]
    if pair.sequence == "interleaved":
        return []
    ending = REMEDY if math.isinf(drift) else f"a drift of {100 * drift:g} % is allowed for"
    return [f"{_one_after_the_other(pair)}; {ending}"]


def _one_after_the_other(pair: _Pair) -> str:
    first, second = ((run.load["origin_us"] for run in group.runs) for _, group in pair.sides())
    a, b = pair.labels if max(first) < min(second) else pair.labels[::-1]
    return f"all runs of {a} were made before those of {b}, and the machine may have changed in between"


def _lack(pair: _Pair, drift: float) -> str | None:
    """Say what keeps the runs from deciding anything, whatever they measured."""
    few = lack_of_runs((len(pair.a.runs), len(pair.b.runs)))
    return few or (f"{_one_after_the_other(pair)}; {REMEDY}" if math.isinf(drift) else None)


def _concluded(pair: _Pair, changes: tuple[MetricChange, ...], drift: float) -> Comparison:
    if not changes:
        raise InvalidExperimentError(
            f"{pair.labels[0]} ({pair.a.name}) and {pair.labels[1]} ({pair.b.name}) have no metric in common",
            remedy="see what the runs measured with `streamgauge runs show`",
        )
    lack = _lack(pair, drift)
    notes = [note for note in _sequence_notes(pair, drift) if note != lack]
    said = in_words(changes, pair.labels, lack=lack, drift=drift)
    # What a drift was allowed for belongs to the conclusion.
    is_allowed = pair.sequence == "sequential" and math.isfinite(drift)
    words, warnings = ([*said, *notes], []) if is_allowed else (said, notes)
    return Comparison(
        a=pair.a,
        b=pair.b,
        verdict=verdict_of(changes),
        words=tuple(words),
        metrics=changes,
        differences=pair.differences,
        warnings=(*warnings, *pair.warnings),
        labels=pair.labels,
        from_s=pair.from_s,
        sequence=pair.sequence,
    )
