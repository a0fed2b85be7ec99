"""A comparison of groups of runs in words and cells: the same on the terminal, in HTML and in Markdown."""

from collections.abc import Iterator

from streamgauge.conclude.changes import MetricChange
from streamgauge.conclude.comparison import Comparison, Comparisons
from streamgauge.metrics import METRIC
from streamgauge.store.references import RunGroup, short_id

SHOWN_RUNS = 5


def subject(comparison: Comparison) -> str:
    """Say what is compared with what."""
    a, b = comparison.labels
    return f"{comparison.b.runs[0].document['workload']}, {b} against {a}"


def side_name(label: str, name: str) -> str:
    """Name a side of a comparison as its sentences do, and by what it is."""
    return f"{label} ({name})"


def _value(metric: MetricChange, value: float) -> str:
    # Shorter than in the summary of a run: six columns must fit.
    return METRIC[metric.name].form(value).replace(" events/s", "/s")


def percent(change: float) -> str:
    """Write a change in percent, with the digits that matter.

    >>> percent(0.9), percent(-0.0123), percent(0), percent(11.5)
    ('+90 %', '-1.2 %', '0 %', '+1150 %')
    """
    shown = 100 * change
    if abs(shown) < 0.005:
        return "0 %"
    return f"{shown:+.0f} %" if abs(shown) >= 10 else f"{shown:+.2g} %"


def interval(metric: MetricChange) -> str:
    """Write the interval of a change."""
    if metric.low is None or metric.high is None:
        return "unknown"
    return f"{percent(metric.low)} to {percent(metric.high)}"


def _decision(metric: MetricChange) -> str:
    return metric.decision if metric.better is None else "better" if metric.better else "worse"


def header(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the columns of `row`."""
    return ("metric", *comparison.labels, "change", "interval", "result")


def row(metric: MetricChange) -> tuple[str, ...]:
    """Return the cells of a metric: both values, the change with its interval, and what follows."""
    numbers = (_value(metric, metric.a), _value(metric, metric.b))
    return (metric.title, *numbers, percent(metric.change), interval(metric), _decision(metric))


def _who(group: RunGroup) -> str:
    """Name a side: a single run by its id, several by their number and where they are from."""
    count, run_id, place = len(group.runs), group.runs[0].run_id, group.reference.partition(":")[0]
    if count == 1:
        return run_id if group.name == short_id(run_id) else f"{group.name}, {run_id}"
    if "," in place:
        names = [short_id(run.run_id) for run in group.runs[:SHOWN_RUNS]]
        return f"{count} runs: {', '.join(names)}{', …' if count > SHOWN_RUNS else ''}"
    return f"{group.name}, {count} runs" + (f" from {place}" if place else "")


def sides(comparison: Comparison) -> list[tuple[str, str]]:
    """Name both sides by their labels and by what they are."""
    return [(comparison.labels[0], _who(comparison.a)), (comparison.labels[1], _who(comparison.b))]


def what_differs(comparison: Comparison) -> Iterator[str]:
    """Name each difference; a single setting is what the comparison is about."""
    settings = [d for d in comparison.differences if d.kind == "setting"]
    for difference in settings:
        yield f"compared is {difference}" if len(settings) == 1 else str(difference)
    yield from (str(difference) for difference in comparison.differences if difference.kind == "environment")


def over_all(found: Comparisons) -> str:
    """Count the verdicts of all pairs."""
    verdicts = [comparison.verdict for comparison in found.comparisons]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return f"over all {len(verdicts)} comparisons: {counts}"
