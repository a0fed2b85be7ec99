"""From the entries of a suite file to configurations, each checked as a whole."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from streamgauge.arrivals import parse_law
from streamgauge.errors import EnvironmentNotReadyError, StreamgaugeError, closest
from streamgauge.events import Parameters, event_stream
from streamgauge.lookup import USUAL_EVENTS, find_workload, is_user_function
from streamgauge.settings.table import KEYS, SETTINGS, in_words_of_the_file, usual_rate, with_defaults
from streamgauge.suite.matrix import (
    Configuration,
    PlannedRun,
    code_digest,
    combinations,
    combinations_count,
    configuration_name,
    load_duration_s,
)
from streamgauge.suite.reading import Choice, Choices, Entry, workload_path
from streamgauge.suite.thresholds import Threshold
from streamgauge.units import format_duration, parse_rate
from streamgauge.workloads.parameters import describe_parameters
from streamgauge.yaml_nodes import Mistakes, Scalar

MAX_RUNS = 10_000

# The line of marks below the text of a law; both are indented by two.
_MARK = re.compile(r"\n  ( *)(\^+)$")

# May refuse a configuration, by a `StreamgaugeError`.
Check = Callable[[Configuration], object]


@dataclass
class Unfolding:
    """Makes the configurations of one file."""

    mistakes: Mistakes
    root: Path
    defaults: Choices
    thresholds: tuple[Threshold, ...]
    check: Check | None
    ignored: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    rates_per_s: dict[tuple[Scalar | None, float, float], float | None] = field(default_factory=dict)

    def configurations(self, entries: list[Entry]) -> list[Configuration]:
        """Return every configuration of every entry."""
        counts = [len(e.workloads) * combinations_count(e.matrix) * e.repetitions for e in entries]
        if sum(counts) > MAX_RUNS:
            largest = entries[counts.index(max(counts))]
            what = f"the suite has more than {MAX_RUNS:,} runs, most of them here"
            self.mistakes.add(largest.place, what, "use fewer values in the matrix, or fewer repetitions")
            return []
        # A value that could not be read is left out, and without it two configurations may look the same.
        is_complete = not self.mistakes.found
        found = []
        for entry in entries:
            for workload, own in _unfold(entry):
                made = self._configuration(entry, workload, own)
                if made is not None:
                    found.append(made)
                    if is_complete:
                        self._refuse_twin(made, entry, own, workload)
        return found

    def _refuse_twin(self, made: Configuration, entry: Entry, own: Choices, workload: Scalar) -> None:
        """Refuse a configuration, or a name, that is there already: who looks for its result would find two."""
        key = PlannedRun(made, 1).key
        if key in self.names:
            place = next((choice.scalar.place for choice in reversed(own.values())), workload.place)
            what = f"{made.name} is the same as {self.names[key]} before it"
            self.mistakes.add(place, what, "leave it out, or use repetitions to run it more often")
        elif made.name in self.taken:
            what = f"other runs have the name {made.name} already"
            self.mistakes.add(entry.place, what, "give these another `name:`")
        self.names.setdefault(key, made.name)
        self.taken.add(made.name)

    def _configuration(self, entry: Entry, workload: Scalar, own: Choices) -> Configuration | None:
        """Check a combination of settings; None when something is wrong with it."""
        chosen = self.defaults | own
        before = len(self.mistakes.found)
        if "master" in chosen and "cores" in chosen:
            place = chosen["master"].key.place
            self.mistakes.add(place, "master and cores exclude each other", "keep one of them")
        parameters = self._parameters(workload, chosen)
        if parameters is None or len(self.mistakes.found) > before:
            return None
        conf = {name: choice.value for name, choice in _group(chosen, "conf").items()}
        settings = {name: chosen[name].value for name in KEYS if name in chosen}
        made = Configuration(
            name=_name(entry, workload, own),
            workload=workload_path(workload.text, self.mistakes.name),
            settings=settings | ({"conf": conf} if conf else {}),
            parameters=parameters,
            thresholds=tuple(dict.fromkeys((*self.thresholds, *entry.thresholds))),
            repetitions=entry.repetitions,
            code_sha256=self._code_digest(workload),
            ignored=tuple(dict.fromkeys((*self.ignored, *entry.ignored))),
        )
        try:
            if self.check is not None:
                self.check(made)
        except StreamgaugeError as error:
            self._blame(error, chosen, workload)
        return made

    def _code_digest(self, workload: Scalar) -> str | None:
        try:
            return code_digest(workload_path(workload.text, self.mistakes.name), self.root)
        except OSError as error:
            remedy = "write the path of a Python file, a colon and a function"
            self.mistakes.add(workload.place, f"{workload.text} cannot be read: {error.strerror}", remedy)
            return None

    def _parameters(self, workload: Scalar, chosen: Choices) -> dict[str, Any] | None:
        """Return the parameters that the file sets, checked together with the others, the law and the rate."""
        given = _group(chosen, "set")
        model, refuse, usual = self._definition(workload, chosen, given)
        for name in [name for name in given if name not in model.model_fields]:
            remedy = closest(name, model.model_fields) if model.model_fields else "it has none"
            self.mistakes.add(given.pop(name).key.place, f'{workload.text} has no parameter "{name}"', remedy)
        try:
            checked = model.model_validate({name: choice.value for name, choice in given.items()})
            rate_per_s = self._mean_rate_per_s(chosen, usual)
            if rate_per_s is None:
                return None
            refuse(checked, rate_per_s)
        except ValidationError as error:
            self._note_domains(error, model, given)
            return None
        except EnvironmentNotReadyError:
            # Nothing that the file could do about it.
            raise
        except StreamgaugeError as error:
            self._blame(error, chosen, workload)
            return None
        return {name: getattr(checked, name) for name in given}

    def _mean_rate_per_s(self, chosen: Choices, usual: Mapping[str, Any]) -> float | None:
        """Return the mean rate over warm-up and measurement; None when the law is wrong or offers nothing then."""
        settings = with_defaults({name: choice.value for name, choice in chosen.items()}, usual)
        load, mode = (str(settings.get(name, SETTINGS[name].default)) for name in ("load", "mode"))
        rate_per_s = parse_rate(settings.get("rate", usual_rate(load, mode)))
        load_s = load_duration_s(settings)
        law = chosen["arrivals"].scalar if "arrivals" in chosen else None
        if law is None and "arrivals" in usual:
            return parse_law(usual["arrivals"], rate_per_s=rate_per_s).mean_rate_per_s(load_s)
        known = (law, rate_per_s, load_s)
        if known not in self.rates_per_s:
            self.rates_per_s[known] = self._read_law(law, rate_per_s, load_s) if law else rate_per_s
        return self.rates_per_s[known]

    def _read_law(self, scalar: Scalar, rate_per_s: float, load_s: float) -> float | None:
        law = scalar.text
        try:
            mean_per_s = parse_law(law, rate_per_s=rate_per_s).mean_rate_per_s(load_s)
        except StreamgaugeError as error:
            # A law shows its own text and a mark below it; here both are those of the file.
            what, _, shown = error.what.partition("\n")
            mark = _MARK.search(shown)
            start = len(law) - len(law.lstrip()) + len(mark[1]) if mark else 0
            end = start + len(mark[2]) if mark else len(law)
            remedy = in_words_of_the_file(error.remedy or "")
            self.mistakes.add(self.mistakes.inside(scalar, start, end), in_words_of_the_file(what), remedy)
            return None
        if mean_per_s <= 0:
            what = f"the law offers no event in the {format_duration(load_s)} of warm-up and measurement"
            self.mistakes.add(scalar.place, what, "use a longer duration or another law")
            return None
        return mean_per_s

    def _definition(
        self, workload: Scalar, chosen: Choices, given: Choices
    ) -> tuple[type[Parameters], Callable[[Any, float], None], Mapping[str, Any]]:
        """Return the parameters of a workload, what refuses rates that they do not allow, and its own settings."""
        events = chosen.get("events")
        if is_user_function(workload.text):
            stream = event_stream(events.value if events else USUAL_EVENTS)
            return stream.parameters, stream.check, {}
        if events:
            remedy = "use events only with file.py:function"
            self.mistakes.add(events.key.place, f"{workload.text} has its own events", remedy)
        known = find_workload(workload_path(workload.text, self.mistakes.name))
        variant = known.variants.get(given["semantics"].value, known) if "semantics" in given else known
        return variant.parameters, variant.check, variant.rules.defaults

    def _note_domains(self, error: ValidationError, model: type[Parameters], given: Choices) -> None:
        """Note every parameter that is outside its domain."""
        domains = {parameter.name: parameter.domain for parameter in describe_parameters(model)}
        for problem in error.errors():
            name = str(problem["loc"][0])
            scalar = given[name].scalar
            self.mistakes.add(
                scalar.place, f'{name} "{scalar.text}" is outside its domain', f"allowed: {domains[name]}"
            )

    def _blame(self, error: StreamgaugeError, chosen: Choices, workload: Scalar) -> None:
        """Note what is wrong with a combination: at the setting that the error names, or else at the workload."""
        for text in (error.where or "", error.what):
            words = set(re.findall(r"[A-Za-z_][\w.]*", in_words_of_the_file(text)))
            named = [c.scalar.place for name, c in chosen.items() if {name, name.partition(".")[2]} & words]
            if named:
                self.mistakes.add(named[-1], error.what, in_words_of_the_file(error.remedy or ""))
                return
        # What is said of events per second is said of the rate.
        is_rate = "rate" in chosen and "events/s" in error.what
        place = chosen["rate"].scalar.place if is_rate else workload.place
        self.mistakes.add(place, f"{workload.text}: {error.what}", in_words_of_the_file(error.remedy or ""))


def _unfold(entry: Entry) -> Iterator[tuple[Scalar, Choices]]:
    """Yield every workload of an entry with every combination of its settings."""
    for workload in entry.workloads:
        for combination in combinations(entry.matrix):
            yield workload, entry.fixed | combination


def _name(entry: Entry, workload: Scalar, own: Choices) -> str:
    """Name a configuration after all that its entry chooses or, where that has a name, after what varies in it."""
    texts = {name: own[name].scalar.text for name in _in_order(own)}
    if entry.name is None:
        return configuration_name(workload.text, texts)
    varied = {"workload": workload.text} if len(entry.workloads) > 1 else {}
    return configuration_name(entry.name, varied | {name: text for name, text in texts.items() if name in entry.matrix})


def _group(chosen: Choices, group: str) -> dict[str, Choice]:
    """Return the choices of a group by the names inside it."""
    inside = f"{group}."
    return {name.removeprefix(inside): choice for name, choice in chosen.items() if name.startswith(inside)}


def _in_order(own: Choices) -> Iterator[str]:
    """Yield the names of settings in an order that does not depend on that of the file."""
    yield from (name for name in KEYS if name in own)
    yield from sorted(name for name in own if name not in KEYS)
