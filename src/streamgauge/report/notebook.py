"""What a notebook shows of runs: the words and numbers of the terminal, with everything from a run escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from streamgauge.conclude.stored_run import summary_of
from streamgauge.errors import StreamgaugeError
from streamgauge.metrics import PERCENTILES
from streamgauge.printable import printable
from streamgauge.report.content import facts
from streamgauge.report.content.configuration import LIST_COLUMNS, list_row, title
from streamgauge.store.display import html_of
from streamgauge.store.run_data import RunList, StoredRun
from streamgauge.summary import is_measured

SHOWN_RUNS = 50


@html_of.register
def run_html(stored: StoredRun) -> str:
    """Return verdict, reasons and key numbers of a run."""
    try:
        s = summary_of(stored)
    except StreamgaugeError as error:
        s = {"verdict": "unknown", "reasons": [error.what]}
    reasons = "".join(f"<li>{_plain(reason)}</li>" for reason in s["reasons"])
    parts = [f"<p><b>{_plain(s['verdict'].upper())}</b> {_plain(title(stored))}</p>"]
    parts += [f"<ul>{reasons}</ul>"] if reasons else []
    parts.append(_table(facts.key_facts(s)) if is_measured(s) else "<p>This run has no numbers.</p>")
    if latencies := facts.latency_rows(s):
        parts.append(_table([(row.name, *row.texts) for row in latencies], ("latency", *PERCENTILES)))
    return f"<div>{''.join(parts)}<p><code>{_plain(stored.path)}</code></p></div>"


@html_of.register
def list_html(runs: RunList) -> str:
    """Return runs as a table, the newest of many."""
    more = f"<p>and {len(runs) - SHOWN_RUNS} older ones</p>" if len(runs) > SHOWN_RUNS else ""
    return f"<div>{_table(map(list_row, runs[:SHOWN_RUNS]), LIST_COLUMNS)}{more}</div>"


def _plain(text: object) -> str:
    return escape(printable(str(text)))


def _table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    return f"<table>{_row(head, 'th') if head else ''}{''.join(map(_row, rows))}</table>"


def _row(cells: Iterable[object], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{_plain(cell)}</{tag}>" for cell in cells) + "</tr>"
