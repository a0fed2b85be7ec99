"""Reports of runs that are at hand."""

from collections.abc import Sequence

from streamgauge.report.content.subject import Subject
from streamgauge.report.html.page import render_subject
from streamgauge.report.markdown import render_subject_markdown
from streamgauge.store import StoredRun


def render_report(runs: Sequence[StoredRun]) -> str:
    """Return the report of runs as an HTML document."""
    return render_subject(Subject(runs=tuple(runs)))


def render_markdown(runs: Sequence[StoredRun]) -> str:
    """Return the report of runs as Markdown."""
    return render_subject_markdown(Subject(runs=tuple(runs)))
