"""What a run was run on: machine, versions and settings, with secrets masked."""

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from streamgauge._version import __version__
from streamgauge.engine.java import find_java
from streamgauge.errors import EnvironmentNotReadyError

_WORDS = r"secret|passw(?:or)?d|passphrase|token|credential|private|(?:api|access|account|encryption)[._-]?key|sasl"
_SECRET = re.compile(_WORDS, re.IGNORECASE)
# Java options, login modules and addresses carry secrets inside their values.
_HOLDS_SECRET = re.compile(rf"(?:{_WORDS})[\w.-]*\s*[=:]|://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
MASK = "********"
PACKAGES = ("duckdb", "numpy", "pandas", "pyarrow", "pyspark")


def mask_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the values of settings whose names sound secret, or that hold something that does.

    >>> mask_secrets({"spark.ssl.keyPassword": "x", "spark.ui.enabled": "false"})
    {'spark.ssl.keyPassword': '********', 'spark.ui.enabled': 'false'}
    """
    return {
        key: MASK if _SECRET.search(key) or _HOLDS_SECRET.search(str(value)) else value
        for key, value in settings.items()
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    match = re.search(r"model name\s*:\s*(.+)", text)
    return match.group(1) if match else platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def describe_environment() -> dict[str, Any]:
    """Return machine and versions; needs neither Java nor Spark to be there."""
    import psutil

    try:
        java: str | None = str(find_java(os.environ)[1])
    except EnvironmentNotReadyError:
        java = None
    return {
        "streamgauge": __version__,
        "python": platform.python_version(),
        "java": java,
        "packages": {package: _version(package) for package in PACKAGES},
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }
