"""What the four workloads share: the columns of a record and how its address is read."""

from streamgauge.events import Field
from streamgauge.events.dataframe import Column, F

RECORD = (
    Field("created", "timestamp", "creation time of the record"),
    Field("line", "string", "the record's text"),
)


def address(line: Column) -> Column:
    """Return the second field of a line: HiBench splits on white space and commas and takes element 1."""
    return F.substring_index(F.substring_index(line, ",", 1), "\t", -1)
