"""The report of stored runs as Markdown: the words and tables of the HTML report, without its charts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.experiment.stored import differences, summary_of
from streamgauge.report.html import facts
from streamgauge.report.html.application import stored_application
from streamgauge.report.html.chart import Missing
from streamgauge.report.html.command import command, has_masked, spark_settings
from streamgauge.report.html.output import write_document
from streamgauge.report.html.sets import ReportedSet, SetTable
from streamgauge.report.html.subject import Subject
from streamgauge.store import StoredRun

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


def _verdict(stored: StoredRun, s: Mapping[str, Any]) -> list[str]:
    lines = [f"**{s['verdict'].upper()}** {_plain(stored.run_id)}", ""]
    return lines + (_bullets(s["reasons"]) if s["reasons"] else [])


def _latency(s: Mapping[str, Any]) -> list[str]:
    rows = facts.latency_rows(s)
    if not rows:
        return []
    cells = [[name, *(facts.duration_text(values[c]) for c in facts.LATENCY_COLUMNS)] for name, _, values in rows]
    return _table(["latency", *facts.LATENCY_COLUMNS], cells)


def _phases(s: Mapping[str, Any]) -> list[str]:
    rows = facts.phase_rows(s)
    if not rows:
        return []
    lines = _table(["phase of a batch", "mean", "share"], [[k.replace("_", " "), m, share] for k, m, share in rows])
    idle = facts.idle_text(s)
    return [*lines, idle, ""] if idle else lines


def _findings(s: Mapping[str, Any]) -> list[str]:
    if not s.get("findings"):
        return []
    rows = [[f["question"], f["verdict"], _plain(f["reason"])] for f in s["findings"]]
    return _table(["question", "verdict", "why"], rows, words=3)


def _configuration(stored: StoredRun) -> list[str]:
    text = command(stored)
    settings = "\n".join(f"{name} {value}" for name, value in spark_settings(stored).items())
    if not text and settings:
        return [f"{facts.NOT_REPEATED} Its settings of Spark:", "", *_block(settings)]
    if not text:
        return ["The settings of this run are not stored.", ""]
    masked = "; values shown as `********` are secrets that were not stored" if has_masked(stored) else ""
    lines = [f"This command repeats the run{masked}:", "", *_block(text)]
    return [*lines, "Settings of Spark that the run chose:", "", *_block(settings)]


def _application(stored: StoredRun, level: str) -> list[str]:
    """Return the components and stages of a prototype; nothing for any other workload."""
    found = stored_application(stored)
    if found is None:
        return []
    lines = [f"{level}# Application", ""]
    if isinstance(found, Missing):
        return [*lines, found.explanation, ""]
    lines += _table(found.columns, [[_plain(cell) for cell in row] for row in found.rows])
    lines += _pairs("in all", [*found.totals, *found.stages])
    return lines + (_bullets(found.warnings) if found.warnings else [])


def _run(stored: StoredRun, s: Mapping[str, Any], level: str) -> list[str]:
    lines = [f"{level} {_plain(facts.title(stored))}", "", *_verdict(stored, s)]
    if facts.has_numbers(s):
        lines += [*_pairs("key numbers", facts.key_facts(s)), *_latency(s), *_phases(s)]
    else:
        lines += ["This run has no numbers.", ""]
    if s.get("warnings"):
        lines += [f"{level}# Notes", "", *_bullets(s["warnings"])]
    lines += [f"{level}# What was run", "", *_pairs("run", facts.what_was_run(stored, s))]
    lines += _application(stored, level)
    if found := _findings(s):
        lines += [f"{level}# Questions behind the verdict", "", *found]
    return [*lines, f"{level}# Configuration to copy", "", *_configuration(stored)]


def _comparison(runs: Sequence[StoredRun], summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [_plain(stored.run_id) for stored in runs]
    rows = [["verdict", *(s["verdict"] for s in summaries)]]
    for row in facts.comparison(summaries):
        cells = (f"{text} ({change})" if change else text for text, change in zip(row.texts, row.changes, strict=True))
        rows.append([row.metric.name, *cells])
    lines = [f"# Comparison of {len(runs)} runs", "", *_table(["", *names], rows)]
    lines += [
        "Changes are against the first run.",
        "One run each does not tell a difference from chance: repeat the runs before you conclude.",
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
    lines = [f"{level} {_plain(one.title)}", "", f"**{one.verdict.upper()}** {_plain(one.stored.set_id)}", ""]
    lines += _bullets([one.reason]) if one.reason else []
    lines += _pairs("answer", one.facts) if one.facts else []
    notes = [*one.notes, *(f"The run {run_id} is left out: {reason}." for run_id, reason in one.missing)]
    lines += [f"{level}# Notes", "", *_bullets(notes)] if notes else []
    for table in one.tables:
        lines += _set_table(table, f"{level}#")
    return lines


def _compared(subject: Subject) -> list[str]:
    if subject.compared is None:
        return []
    from streamgauge.report.comparison import comparison_markdown

    return [*comparison_markdown(subject.compared).splitlines(), ""]


def render_subject_markdown(subject: Subject) -> str:
    """Return the report of runs, sets and comparisons; numbers are written as on the terminal."""
    runs, is_alone = subject.shown_runs, subject.is_one_set
    summaries = [summary_of(stored) for stored in runs]
    lines = [f"# {_plain(subject.title)}", ""] if subject.sets and not is_alone else []
    lines += _compared(subject)
    for one in subject.sets:
        lines += _set(one, "#" if is_alone else "##")
    if subject.is_side_by_side:
        lines += _comparison(runs, summaries)
    for stored, summary in zip(runs, summaries, strict=True):
        lines += _run(stored, summary, "##" if len(runs) > 1 or subject.sets else "#")
    return "\n".join(lines).rstrip("\n") + "\n"


def render_markdown(runs: Sequence[StoredRun]) -> str:
    """Return the report of one or several runs."""
    if not runs:
        raise ValueError("a report needs at least one run")
    return render_subject_markdown(Subject(runs=tuple(runs)))


def write_markdown(runs: Sequence[StoredRun], path: Path) -> None:
    """Write the report of one or several runs as a Markdown file."""
    write_document(render_markdown(runs), path)
