"""What tasks do with tuples: their CPU work and their windows."""

from streamgauge.prototype.file.reading import PrototypeReader, PrototypeSection
from streamgauge.prototype.graph.application import TaskWindow


def read_cpu_work(section: PrototypeSection, reader: PrototypeReader) -> tuple[float, float | None]:
    """Return thousands of cycles and None, or 0 and the microseconds that take their place."""
    if "processing" in section and "processing_us" in section:
        line = section.keys["processing"].place.line
        what = f"processing_us takes the place of processing, which is there in line {line}"
        reader.mistakes.add(section.keys["processing_us"].place, what, "keep one of them")
    time_us = section["processing_us"]
    return (float(section["processing"]), None) if time_us is None else (0.0, float(time_us))


def read_window(section: PrototypeSection, reader: PrototypeReader) -> TaskWindow | None:
    """Read the windows; None where they are not enabled."""
    if not section["enabled"]:
        return None
    # Files in which windows are off have times of 0.
    is_sliding = section["type"] == "sliding"
    for name in ("duration", "interval") if is_sliding else ("duration",):
        if section[name] == 0:
            reader.mistakes.add(section.place_of(name), f'{name} "0" is out of range', "windows need 1 s or more")
    duration_s, interval_s = section["duration"], section["interval"]
    if is_sliding and section.is_usable("duration", "interval") and 0 < duration_s < interval_s:
        what = f"windows of {duration_s:,} s every {interval_s:,} s have gaps, which Spark does not allow"
        reader.mistakes.add(
            section.place_of("interval", "duration"), what, f"use an interval of at most {duration_s:,}"
        )
    return TaskWindow(section["type"], duration_s, interval_s if is_sliding else duration_s, section["key"])
