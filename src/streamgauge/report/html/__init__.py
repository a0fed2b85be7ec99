"""The report of stored runs as one HTML file: inline style and inline SVG, no script, nothing to load."""

from streamgauge.report.html.page import render_report, write_report

__all__ = ["render_report", "write_report"]
