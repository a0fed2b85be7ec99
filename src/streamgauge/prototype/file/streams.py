"""What sources emit: the values of tuples and their arrival, or a topic."""

from streamgauge.prototype.file.reading import PrototypeReader, PrototypeSection
from streamgauge.prototype.file.vocabulary import MAX_ZIPF_VALUES
from streamgauge.prototype.graph.application import Data, Flow, SourceTopic
from streamgauge.units import MAX_RATE_PER_S

LETTERS = 26
_SHAPING = ("phase", "interval", "duration", "burst_rate", "offset")
_WAVE = ("phase", "offset")
# The keys that matter for each shape.
_SHAPED_BY = {
    "uniform": (),
    "burst": ("interval", "duration", "burst_rate", "offset"),
    "sin": _WAVE,
    "sawtooth": _WAVE,
    "revsawtooth": _WAVE,
}


def read_data(section: PrototypeSection, reader: PrototypeReader) -> Data:
    """Read the values; there are no more of them than strings of their size."""
    size, values, distribution = section["size"], section["values"], section["distribution"]
    # More letters than these make more strings than any number of values that is allowed.
    strings = LETTERS ** min(size, 20)
    if section.is_usable("size", "values") and values > strings:
        what = f"values is {values:,}, but there are only {strings:,} strings of size {size}"
        remedy = f"use at most {strings:,} values, or a larger size"
        reader.mistakes.add(section.place_of("values", "size"), what, remedy)
    if section.is_usable("values") and distribution == "zipf" and values > MAX_ZIPF_VALUES:
        what = f"values is {values:,}, but Zipf's law takes at most {MAX_ZIPF_VALUES:,}"
        reader.mistakes.add(section.place_of("values"), what, "use fewer values, or the distribution uniform")
    if "exponent" in section.given and section.is_usable("distribution") and distribution != "zipf":
        reader.warn(section.keys["exponent"].place, f"exponent has no effect: distribution is {distribution}, not zipf")
    return Data(size, values, distribution, section["exponent"])


def read_flow(section: PrototypeSection, reader: PrototypeReader, parallelism: int) -> Flow:
    """Read the arrival; `parallelism` is that of the source."""
    if section.is_usable("distribution", "rate"):
        _check_shape(section, reader)
    rate_per_s, scope = section["rate"], section["rate_scope"]
    if scope == "instance" and rate_per_s * parallelism > MAX_RATE_PER_S:
        what = f"{parallelism:,} instances with {rate_per_s:,} tuples per second each are too many"
        reader.mistakes.add(section.place_of("rate"), what, f"use {MAX_RATE_PER_S:,.0f} at most in all")
    return Flow(
        distribution=section["distribution"],
        rate_per_s=float(rate_per_s),
        phase_s=float(section["phase"]),
        interval_s=float(section["interval"]),
        duration_s=float(section["duration"]),
        offset_s=float(section["offset"]),
        rate_scope=scope,
        burst_rate_per_s=None if section["burst_rate"] is None else float(section["burst_rate"]),
    )


def _check_shape(section: PrototypeSection, reader: PrototypeReader) -> None:
    distribution = section["distribution"]
    if section["rate"] == 0 and distribution != "uniform":
        what = f"rate 0 is as fast as possible, so {distribution} has no rate to shape"
        remedy = "use a rate above 0, or the distribution uniform"
        reader.mistakes.add(section.place_of("rate", "distribution"), what, remedy)
    for name in _SHAPING:
        if name in section.given and name not in _SHAPED_BY[distribution]:
            reader.warn(section.keys[name].place, f"{name} has no effect: distribution is {distribution}")


def read_topic(kafka: PrototypeSection, reader: PrototypeReader) -> SourceTopic | None:
    """Read an external source; None when no server is given."""
    if kafka["server"] is None:
        if kafka.keys and kafka.is_usable("server"):
            reader.warn(kafka.place, "kafka has no effect without a server")
        return None
    return SourceTopic(kafka["server"], kafka["group"], kafka["topic"])


def warn_of_zookeeper(reader: PrototypeReader, section: PrototypeSection) -> None:
    """Say that Spark reads from Kafka without ZooKeeper."""
    if "zookeeper" in section:
        reader.warn(section.keys["zookeeper"].place, "zookeeper has no effect: Spark does not need it")
