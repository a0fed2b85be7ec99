"""Prototypes: applications described in YAML, without code."""

from streamgauge.prototype.file.document import is_prototype_file, load_application, read_application
from streamgauge.prototype.file.schema import prototype_schema
from streamgauge.prototype.graph.application import Application, PrototypeTask, Source

__all__ = [
    "Application",
    "Source",
    "PrototypeTask",
    "is_prototype_file",
    "load_application",
    "prototype_schema",
    "read_application",
]
