"""Stored runs to compare."""

from dataclasses import dataclass

import pytest

from made_runs.shelf import Shelf


@dataclass(frozen=True)
class Repeated:
    """Eight runs, eight others like them, and eight that take 1.6 times as long; written once."""

    shelf: Shelf
    plain: list[str]
    like: list[str]
    slow: list[str]

    def compare(self, *sides, **options):
        return self.shelf.compare(*(",".join(side) for side in sides), **options)


@pytest.fixture(scope="session")
def repeated(tmp_path_factory):
    shelf = Shelf(tmp_path_factory.mktemp("repeated") / "runs")
    return Repeated(shelf, *(shelf.several(8, factor).split(",") for factor in (1.0, 1.0, 1.6)))
