"""The report of stored runs as Markdown: the words and tables of the HTML report, without its charts."""

import re
from collections.abc import Iterable, Sequence

from streamgauge.conclude.comparison import Comparison, Comparisons
from streamgauge.conclude.stored_run import differences, summary_of
from streamgauge.metrics import PERCENTILES
from streamgauge.report.content import application, configuration, facts
from streamgauge.report.content import comparison as text
from streamgauge.report.content.command import command, has_masked, spark_settings
from streamgauge.report.content.set_tables import ReportedSet, SetTable
from streamgauge.report.content.subject import Subject
from streamgauge.store import StoredRun
from streamgauge.summary import Summary, is_measured

# What Markdown or HTML would read as mark-up. Underscores inside words and hyphens are left as they are.
_SPECIAL = re.compile(r"([\\`*\[\]|<>~&#]|(?<!\w)_|_(?!\w))")


def _plain(text: object) -> str:
    """Escape a text of others, so that it is shown as it is and stays on its line.

    >>> _plain("<b>|x_y|</b>")
    '\\\\<b\\\\>\\\\|x_y\\\\|\\\\</b\\\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1, at_end: int = 0) -> list[str]:
    """Return the lines of a table; the first `words` and the last `at_end` columns are aligned to the left."""
    numbers = range(words, len(head) - at_end)
    rules = ["---:" if column in numbers else "---" for column in range(len(head))]
    lines = [head, rules, *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] + [""]


def _bullets(texts: Iterable[str]) -> list[str]:
    return [*(f"- {_plain(text)}" for text in texts), ""]


def _block(text: str) -> list[str]:
    """Return a code block; its fence is longer than any in the text."""
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, text, fence, ""]


def _pairs(name: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return _table([name, ""], [[_plain(key), _plain(text)] for key, text in rows], words=2)


def _head(verdict: str, name: str, reasons: Sequence[str]) -> list[str]:
    return [f"**{verdict.upper()}** {_plain(name)}", "", *(_bullets(reasons) if reasons else [])]


def _latency(s: Summary) -> list[str]:
    rows = facts.latency_rows(s)
    if not rows:
        return []
    return _table(["latency", *PERCENTILES], [[row.name, *row.texts] for row in rows])


def _phases(s: Summary) -> list[str]:
    rows = facts.phase_rows(s)
    if not rows:
        return []
    lines = _table(["phase of a batch", "mean", "share"], [[k.replace("_", " "), m, share] for k, m, share in rows])
    idle = facts.idle_text(s)
    return [*lines, idle, ""] if idle else lines


def _findings(s: Summary) -> list[str]:
    if not s.get("findings"):
        return []
    rows = [[f["question"], f["verdict"], _plain(f["reason"])] for f in s["findings"]]
    return _table(["question", "verdict", "why"], rows, words=3)


def _configuration(stored: StoredRun) -> list[str]:
    own = command(stored)
    settings = "\n".join(f"{name} {value}" for name, value in spark_settings(stored).items())
    if not own and settings:
        return [f"{configuration.NOT_REPEATED} Its settings of Spark:", "", *_block(settings)]
    if not own:
        return ["The settings of this run are not stored.", ""]
    masked = "; values shown as `********` are secrets that were not stored" if has_masked(stored) else ""
    lines = [f"This command repeats the run{masked}:", "", *_block(own)]
    return [*lines, "Settings of Spark that the run chose:", "", *_block(settings)]


def _application(stored: StoredRun, level: str) -> list[str]:
    """Return the components and stages of a prototype; nothing for any other workload."""
    costs = application.stored_costs(stored)
    if costs is None:
        return []
    lines = [f"{level}# Application", ""]
    if costs == "unreadable":
        return [*lines, application.UNREADABLE, ""]
    rows = [[_plain(cell) for cell in row] for row in application.component_rows(costs)]
    lines += _table(application.COMPONENT_COLUMNS, rows)
    lines += _pairs("in all", [*application.total_rows(costs), *application.stage_rows(costs)])
    warnings = costs.application.warnings
    return lines + (_bullets(warnings) if warnings else [])


def _run(stored: StoredRun, s: Summary, level: str) -> list[str]:
    lines = [f"{level} {_plain(configuration.title(stored))}", "", *_head(s["verdict"], stored.run_id, s["reasons"])]
    if is_measured(s):
        lines += [*_pairs("key numbers", facts.key_facts(s)), *_latency(s), *_phases(s)]
    else:
        lines += ["This run has no numbers.", ""]
    if s.get("warnings"):
        lines += [f"{level}# Notes", "", *_bullets(s["warnings"])]
    lines += [f"{level}# What was run", "", *_pairs("run", configuration.what_was_run(stored, s))]
    lines += _application(stored, level)
    if found := _findings(s):
        lines += [f"{level}# Questions behind the verdict", "", *found]
    return [*lines, f"{level}# Configuration to copy", "", *_configuration(stored)]


def _comparison(runs: Sequence[StoredRun], summaries: Sequence[Summary]) -> list[str]:
    names = [_plain(stored.run_id) for stored in runs]
    rows = [["verdict", *(s["verdict"] for s in summaries)]]
    for row in facts.side_by_side(summaries):
        cells = (f"{said} ({change})" if change else said for said, change in zip(row.texts, row.changes, strict=True))
        rows.append([row.metric.title, *cells])
    lines = [f"# Comparison of {len(runs)} runs", "", *_table(["", *names], rows)]
    lines += [
        "Changes are against the first run.",
        "One run each cannot separate a difference from chance: repeat the runs before you conclude.",
        "",
    ]
    different = [[_plain(name), *map(_plain, texts)] for name, texts in differences(runs)]
    same = ["The runs have the same workload, settings, machine and versions.", ""]
    table = _table(["setting", *names], different, words=len(names) + 1)
    return [*lines, "## What differs", "", *(table if different else same)]


def _set_table(table: SetTable, level: str) -> list[str]:
    rows = [[_plain(cell.text) for cell in row] for row in table.rows]
    lines = _table([*map(_plain, table.head)], rows, words=table.words, at_end=table.words_at_end)
    explained = [table.explanation, ""] if table.explanation else []
    return [f"{level} {table.title}", "", *lines, *explained]


def _set(one: ReportedSet, level: str) -> list[str]:
    reasons = [one.reason] if one.reason else []
    lines = [f"{level} {_plain(one.title)}", "", *_head(one.verdict, one.stored.set_id, reasons)]
    lines += _pairs("answer", one.facts) if one.facts else []
    notes = [*one.notes, *(f"The run {run_id} is left out: {reason}." for run_id, reason in one.missing)]
    lines += [f"{level}# Notes", "", *_bullets(notes)] if notes else []
    for table in one.tables:
        lines += _set_table(table, f"{level}#")
    return lines


def comparison_markdown(found: Comparisons) -> str:
    """Return all pairs as Markdown for a pull request; numbers are those of the terminal."""
    lines: list[str] = []
    for comparison in found.comparisons:
        lines += _pair(comparison, found)
    if found.warnings:
        lines += _bullets(found.warnings)
    if len(found.comparisons) > 1:
        lines = [f"## {found.verdict.capitalize()}", "", f"{text.over_all(found).capitalize()}.", "", *lines]
    return "\n".join(lines).rstrip("\n") + "\n"


def _pair(comparison: Comparison, found: Comparisons) -> list[str]:
    subject = _plain(text.subject(comparison))
    lines = [f"### {comparison.verdict.capitalize()}: {subject}", "", *_bullets(comparison.words)]
    lines += _table(["side", "runs"], [[label, _plain(who)] for label, who in text.sides(comparison)], words=2)
    rows = [[_plain(cell) for cell in text.row(metric)] for metric in comparison.metrics]
    lines += [*_table(text.header(comparison), rows), f"{found.basis(comparison).capitalize()}.", ""]
    differences = list(text.what_differs(comparison))
    if differences:
        lines += ["What differs:", "", *_bullets(differences)]
    if comparison.warnings:
        lines += ["Be careful:", "", *_bullets(comparison.warnings)]
    return lines


def render_subject_markdown(subject: Subject) -> str:
    """Return the report of runs, sets and comparisons; numbers are written as on the terminal."""
    runs, is_alone = subject.shown_runs, subject.is_one_set
    summaries = [summary_of(stored) for stored in runs]
    lines = [f"# {_plain(subject.title)}", ""] if subject.sets and not is_alone else []
    if subject.compared is not None:
        lines += [*comparison_markdown(subject.compared).splitlines(), ""]
    for one in subject.sets:
        lines += _set(one, "#" if is_alone else "##")
    if subject.is_side_by_side:
        lines += _comparison(runs, summaries)
    for stored, summary in zip(runs, summaries, strict=True):
        lines += _run(stored, summary, "##" if len(runs) > 1 or subject.sets else "#")
    return "\n".join(lines).rstrip("\n") + "\n"
