"""Writing a report, with a message for people when the disk refuses."""

import os
from pathlib import Path

from streamgauge.errors import EnvironmentNotReadyError


def write_document(text: str, path: Path) -> None:
    """Write a report in one step: a file that is there already stays whole when the new one cannot be written."""
    temporary = path.with_name(f".new-{path.name}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise EnvironmentNotReadyError(
            f"cannot write the report: {reason}", where=str(path), remedy="choose another file with --output"
        ) from error
