"""Writing a report, with a message for people when the disk refuses."""

from pathlib import Path

from streamgauge.files import write_text_whole


def write_document(text: str, path: Path) -> None:
    """Write a report in one step: a file that is there already stays whole when the new one cannot be written."""
    write_text_whole(path, text, intent="write the report", remedy="choose another file with --output")
