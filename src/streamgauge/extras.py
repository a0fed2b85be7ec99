"""Packages that only some commands need: each belongs to an extra of the installation, and a missing one is named."""

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from streamgauge.errors import EnvironmentNotReadyError


@dataclass(frozen=True)
class Extra:
    """An extra, what users call its package, and the first version that works, where an older one may be installed."""

    name: str
    title: str
    minimum: tuple[int, ...] = ()

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f'pip install "streamgauge[{self.name}]"'

    def refuse(self, what: str) -> EnvironmentNotReadyError:
        """Return the error of a package that cannot be used."""
        return EnvironmentNotReadyError(f"{self.title} {what}", remedy=self.install)

    def is_too_old(self, version: str) -> bool:
        """Return whether a version is older than the first that works.

        >>> EXTRAS["pyspark"].is_too_old("4.1.4"), EXTRAS["pyspark"].is_too_old("4.3.0.dev1")
        (True, False)
        """
        return tuple(map(int, re.findall(r"\d+", version)))[: len(self.minimum)] < self.minimum


# By the name under which the package is imported.
EXTRAS = {
    "pyspark": Extra("spark", "PySpark", (4, 2)),
    "confluent_kafka": Extra("kafka", "the Kafka client"),
    "redis": Extra("redis", "the Redis client"),
}


def require(module: str) -> Any:
    """Import a package of an extra; one that is missing or too old gives an error that names the extra."""
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        raise explain(error) or error from error
    extra = EXTRAS[module]
    if extra.minimum and extra.is_too_old(found.__version__):
        needed = ".".join(map(str, extra.minimum))
        raise extra.refuse(f"{found.__version__} is too old: {needed} or newer is needed")
    return found


def explain(error: ModuleNotFoundError) -> EnvironmentNotReadyError | None:
    """Return the error for users when a module of an extra was not found; None for any other module."""
    package, _, inside = (error.name or "").partition(".")
    if package not in EXTRAS:
        return None
    return EXTRAS[package].refuse(f"is too old: it has no {error.name}" if inside else "is not installed")
