"""Writing a report, with a message for people when the disk refuses."""

from pathlib import Path

from streamgauge.files import write_text_whole
from streamgauge.printable import printable


def write_document(text: str, path: Path) -> None:
    """Write a report in one step: a file that is there already stays whole when the new one cannot be written."""
    # Editors and pagers obey what terminals obey, and marks that reorder text work in browsers, too.
    write_text_whole(path, printable(text), intent="write the report", remedy="choose another file with --output")
