"""The page: every part of it as data, put into the templates beside this file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from streamgauge.conclude.stored_run import differences
from streamgauge.metrics import METRIC, PERCENTILES, Metric
from streamgauge.report.content import configuration, facts
from streamgauge.report.content.command import command, has_masked, spark_settings
from streamgauge.report.content.series import RunSeries, read_series
from streamgauge.report.content.set_tables import ReportedSet
from streamgauge.report.content.stages import StageRow, stage_rows
from streamgauge.report.content.subject import Subject
from streamgauge.report.html.application import ApplicationPart, stored_application
from streamgauge.report.html.chart import Missing
from streamgauge.report.html.figures import (
    OFFLINE,
    Figure,
    backlog_figure,
    convergence_figure,
    distribution_figure,
    duration_figure,
    latency_figure,
    percentile_figure,
    phase_figure,
    rate_figure,
    resource_figures,
    stage_figure,
    state_figures,
)
from streamgauge.report.html.forest import forests
from streamgauge.report.html.overlays import overlay_figures, run_style
from streamgauge.report.html.set_figures import set_figures
from streamgauge.store import StoredRun
from streamgauge.summary import Summary, is_measured
from streamgauge.units import format_bytes, format_duration

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# The numbers that stand out, with what is said below each.
_CARDS = (
    ("processed_rate_per_s", "Processed rate", "offered {offered_rate_per_s}"),
    ("end_to_end_latency_s.p50", "Latency, median", "mean {end_to_end_latency_s.mean}"),
    ("end_to_end_latency_s.p99", "Latency, p99", "max {end_to_end_latency_s.max}"),
    ("backlog_events.slope_per_s", "Backlog slope", "mean {backlog_events.mean}, max {backlog_events.max}"),
    ("batch_duration_s.mean", "Batch duration, mean", "p95 {batch_duration_s.p95}, {batches} batches"),
    ("core_use.used", "Cores used by Spark", "{core_use.events_per_s_per_core} per core"),
)
# A load that varies has no slope.
_VARYING_CARDS = (
    *_CARDS[:3],
    ("backlog_events.max", "Highest backlog, events", "mean {backlog_events.mean}"),
    *_CARDS[4:],
)
_OBSERVED_CARDS = (
    ("processed_rate_per_s", "Processed rate", "ingested {ingested_rate_per_s}"),
    ("source_to_sink_latency_s.mean", "Latency from source to sink, estimated", "p95 {source_to_sink_latency_s.p95}"),
    *_CARDS[4:],
)
_OFFLINE_CARDS = (
    ("offline_rate_per_s", "Maximum rate", "with all events there at once"),
    ("events_processed", "Events processed", "of {events}"),
    *_CARDS[4:],
)


@dataclass(frozen=True)
class Card:
    """A number that stands out."""

    name: str
    metric: Metric
    below: tuple[Metric | str, ...]


@dataclass(frozen=True)
class Section:
    """A group of charts, and of tables by their names."""

    name: str
    parts: tuple[Figure | str, ...]


@dataclass(frozen=True)
class RunPage:
    """Everything that the page shows of one run."""

    series: RunSeries
    anchor: str
    style: str
    title: str
    cards: tuple[Card, ...]
    facts: list[tuple[str, str]]
    what: list[tuple[str, str]]
    sections: tuple[Section, ...]
    stages: list[StageRow]
    application: ApplicationPart | Missing | None
    command: str
    spark: Mapping[str, str]
    is_masked: bool

    @property
    def summary(self) -> Summary:
        """The summary of the run."""
        return self.series.summary

    @property
    def verdict(self) -> str:
        """Pass, fail or unknown."""
        return str(self.summary["verdict"])


@dataclass(frozen=True)
class SetPage:
    """Everything that the page shows of one set."""

    set: ReportedSet
    anchor: str
    figures: list[Figure]
    overlays: list[Figure]


def _below(template: str) -> tuple[Metric | str, ...]:
    """Cut "mean {path}" into texts and metrics."""
    parts: list[Metric | str] = []
    for place, part in enumerate(template.replace("}", "{").split("{")):
        if part:
            parts.append(METRIC[part] if place % 2 else part)
    return tuple(parts)


def _cards(summary: Summary) -> tuple[Card, ...]:
    if not is_measured(summary):
        return ()
    is_varying = summary["steady_state"].get("settled") is None
    special = {"offline": _OFFLINE_CARDS, "observed": _OBSERVED_CARDS}
    chosen = special.get(str(summary.get("load")), _VARYING_CARDS if is_varying else _CARDS)
    return tuple(Card(name, METRIC[path], _below(below)) for path, name, below in chosen)


def _measured_stages(run: RunSeries) -> list[StageRow]:
    return stage_rows(run.tasks, run.measured) if run.tasks and run.summary.get("steady_state") else []


def _sections(run: RunSeries, stages: list[StageRow]) -> tuple[Section, ...]:
    if run.start_us is None:
        return ()
    convergence = convergence_figure(run)
    load: tuple[Figure, ...] = (rate_figure(run), backlog_figure(run))
    latency: tuple[Figure | str, ...] = (
        "latency",
        latency_figure(run),
        distribution_figure(run),
        percentile_figure(run),
    )
    work = (duration_figure(run), phase_figure(run), "phases", stage_figure(stages), "stages")
    if run.is_offline:
        load, latency = load[:1], (Missing("End-to-end latency and backlog", OFFLINE),)
    return (
        Section("Load", load),
        Section("Latency", latency),
        Section("Micro-batches, stages and tasks", work),
        Section("State", tuple(state_figures(run))),
        Section("Processes", tuple(resource_figures(run))),
        *([Section("Convergence", (convergence,))] if convergence else []),
    )


def _run_page(run: RunSeries, number: int) -> RunPage:
    stages = _measured_stages(run)
    return RunPage(
        series=run,
        anchor=f"run-{number + 1}",
        style=run_style(number),
        title=configuration.title(run.stored),
        cards=_cards(run.summary),
        facts=facts.key_facts(run.summary),
        what=configuration.what_was_run(run.stored, run.summary),
        sections=_sections(run, stages),
        stages=stages,
        application=stored_application(run.stored),
        command=command(run.stored),
        spark=spark_settings(run.stored),
        is_masked=has_masked(run.stored),
    )


def _mark_options(text: str) -> "Markup":
    """Set the options that a note names apart, so that none is broken at the end of a line."""
    from markupsafe import Markup, escape

    return Markup(_OPTION.sub(r"<code>\g<0></code>", str(escape(text))))


@cache
def environment() -> "Environment":
    """Return the templates, with what they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        # Everything from a run is escaped: workloads and settings have the names that other people give them.
        autoescape=True,
        loader=PackageLoader("streamgauge.report.html", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.4g}%"
    environment.filters["options"] = _mark_options
    environment.filters["number"] = lambda value: f"{value:g}"
    environment.globals |= {"facts": facts, "percentiles": PERCENTILES, "not_repeated": configuration.NOT_REPEATED}
    environment.filters |= {"duration": format_duration, "bytes": format_bytes}
    return environment


def _group_overlays(runs: Sequence[tuple[str, StoredRun]]) -> list[Figure]:
    """Draw the runs of several groups together, a colour for each group."""
    if not runs:
        return []
    names = [name for name, _ in runs]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    series = [read_series(run) for _, run in runs]
    if len(places) == 1:
        return overlay_figures(series, [run.run_id for _, run in runs])
    return overlay_figures(series, names, [run_style(places[name]) for name in names])


def _set_page(set_: ReportedSet, number: int) -> SetPage:
    return SetPage(set_, f"set-{number + 1}", set_figures(set_), _group_overlays(set_.overlaid))


def render_subject(subject: Subject) -> str:
    """Return the report of runs, sets and comparisons as one HTML document."""
    spans = {run_id: marks for one in subject.sets for run_id, marks in one.spans.items()}
    pages = [
        _run_page(read_series(run, spans.get(run.run_id, ())), number)
        for number, run in enumerate(subject.shown_runs)
    ]  # fmt: skip
    compared = pages if subject.is_side_by_side else []
    names = [page.series.stored.run_id for page in compared]
    return environment().get_template("report.jinja").render(
        title=subject.title,
        pages=pages,
        sets=[_set_page(one, number) for number, one in enumerate(subject.sets)],
        is_one_set=subject.is_one_set,
        anchors={page.series.stored.run_id: page.anchor for page in pages},
        style=files(__package__).joinpath("style.css").read_text(encoding="utf-8"),
        compared=compared,
        comparison=facts.side_by_side([page.summary for page in compared]),
        differences=differences(subject.runs) if compared else [],
        overlays=overlay_figures([page.series for page in compared], names) if compared else [],
        forests=forests(subject.compared) if subject.compared is not None else [],
        remarks=subject.compared.warnings if subject.compared is not None else (),
        group_overlays=_group_overlays(subject.overlaid),
    )  # fmt: skip
