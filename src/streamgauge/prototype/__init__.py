"""Prototypes: applications described in YAML, without code."""

from streamgauge.prototype.application import Application, Source, Task
from streamgauge.prototype.document import is_prototype_file, load_application, read_application
from streamgauge.prototype.schema import prototype_schema

__all__ = [
    "Application",
    "Source",
    "Task",
    "is_prototype_file",
    "load_application",
    "prototype_schema",
    "read_application",
]
