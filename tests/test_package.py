"""The shape of the house: who may import whom, and what is public."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import streamgauge

PACKAGE = Path(streamgauge.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Lower numbers are further down; a room may use its own floor and those below.
FLOORS = {
    "_version": 0,
    "units": 0,
    "errors": 0,
    "clock": 0,
    "verdict": 0,
    "files": 0,
    "located": 0,
    "arrivals": 1,
    "events": 1,
    "workloads": 1,
    "prototype": 1,
    "engine": 2,
    "kafka": 2,
    "measure": 2,
    "model": 2,
    "services": 2,
    "store": 2,
    "suite": 2,
    "experiment": 3,
    "report": 4,
    "web": 4,
    "cli": 4,
    "__main__": 5,
    "__init__": 5,
}
SPARK_ROOMS = {"engine", "workloads", "events", "prototype"}


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def _is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(tree: ast.AST, *, lazy: bool = True) -> Iterator[str]:
    """Yield the full names of imported modules; those for type checkers only are left out.

    Without `lazy`, imports inside functions are left out too.
    """
    for node in ast.iter_child_nodes(tree):
        if _is_for_types_only(node) or (not lazy and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node, lazy=lazy)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PACKAGE)) for path in paths]


def test_the_walk_over_imports_sees_every_kind_of_import():
    text = (
        "import a.b\n"
        "if TYPE_CHECKING:\n    import types_only\n"
        "class C:\n    from d import e\n"
        "def f():\n    try:\n        from g.h import i\n    except ImportError:\n        import j\n"
    )
    assert list(imports(ast.parse(text))) == ["a.b", "d.e", "g.h.i", "j"]
    assert list(imports(ast.parse(text), lazy=False)) == ["a.b", "d.e"]


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_dependencies_point_downwards(path):
    floor = FLOORS[room(path)]
    used = [name.split(".") for name in imports(parse(path)) if name.startswith("streamgauge.")]
    assert [".".join(name) for name in used if FLOORS[name[1]] > floor] == []


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_spark_is_imported_only_where_it_belongs(path):
    used = [name for name in imports(parse(path)) if name.split(".")[0] in ("pyspark", "py4j")]
    assert used == [] or room(path) in SPARK_ROOMS


def test_outside_the_source_nobody_imports_spark_when_imported():
    eager = [
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if any(name.split(".")[0] in ("pyspark", "py4j") for name in imports(parse(path), lazy=False))
    ]
    assert eager == ["engine/source.py"]


def test_no_module_has_a_name_that_says_nothing():
    assert {path.stem for path in MODULES}.isdisjoint({"utils", "util", "helpers", "common", "misc"})


def test_everything_public_is_listed_sorted_and_importable():
    assert streamgauge.__all__ == sorted(streamgauge.__all__)
    for name in streamgauge.__all__:
        assert getattr(streamgauge, name) is not None


def test_every_name_that_the_package_hands_out_is_listed():
    assert {*streamgauge._HOMES, "__version__"} == set(streamgauge.__all__)
    assert all(hasattr(import_module(f"streamgauge.{home}"), name) for name, home in streamgauge._HOMES.items())


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="sustian"):
        streamgauge.sustian  # noqa: B018


@pytest.mark.parametrize("package", ["arrivals", "events", "measure", "model", "store", "workloads"])
def test_a_room_lists_what_it_exports(package):
    module = import_module(f"streamgauge.{package}")
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()
