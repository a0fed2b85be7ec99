"""The shape of the house: who may import whom, and what is public."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import streamgauge

PACKAGE = Path(streamgauge.__file__).parent
# Examples are programs of users.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "bundle" / "examples")
REPORT = [path for path in MODULES if path.is_relative_to(PACKAGE / "report")]

# From the bottom up: a room uses the rooms before it, and never one after it.
ORDER = (
    "_version", "errors", "extras", "units", "clock", "files", "secrets", "printable", "verdict", "yaml_nodes",
    "bundle",
    "arrivals",
    "summary",
    "measure",
    "model",
    "machine",
    "events",
    "workloads",
    "prototype",
    "lookup",
    "metrics",
    "store",
    "services",
    "connectors",
    "settings",
    "suite",
    "engine",
    "conclude",
    "running",
    "observe",
    "experiments",
    "faults",
    "predicting",
    "prototyping",
    "report",
    "cli",
    "__main__",
    "__init__",
)  # fmt: skip
SPARK_ROOMS = {"engine", "workloads", "events", "prototype"}


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def _is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(tree: ast.AST, *, lazy: bool = True, types: bool = False) -> Iterator[str]:
    """Yield the full names of imported modules.

    Without `lazy`, imports inside functions are left out; without `types`, those for type checkers only.
    """
    for node in ast.iter_child_nodes(tree):
        if not types and _is_for_types_only(node):
            continue
        if not lazy and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node, lazy=lazy, types=types)


def test_an_import_of_another_medium_is_seen():
    assert report_imports(ast.parse("def f():\n    from streamgauge.report.html.page import render_report")) == {"html"}


def test_every_room_has_a_place_in_the_order():
    assert {room(path) for path in MODULES} == set(ORDER)


def test_the_architecture_page_has_every_room_in_the_same_order():
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text()
    table = page.partition("| package | content |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    drawn = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert drawn == [name for name in ORDER if not name.startswith("_")]


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
    assert list(imports(ast.parse(text), lazy=False, types=True)) == ["a.b", "types_only", "d.e"]


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_dependencies_point_downwards(path):
    own = ORDER.index(room(path))
    used = [name.split(".") for name in imports(parse(path), types=True) if name.startswith("streamgauge")]
    assert ["streamgauge"] not in used
    assert [".".join(name) for name in used if ORDER.index(name[1]) > own] == []


def report_imports(tree: ast.AST) -> set[str]:
    """Return the parts of the report that a module imports."""
    return {name.split(".")[2] for name in imports(tree, types=True) if name.startswith("streamgauge.report.")}


@pytest.mark.parametrize("path", REPORT, ids=names(REPORT))
def test_a_medium_of_the_report_knows_its_content_and_no_other_medium(path):
    own = path.relative_to(PACKAGE / "report").parts[0].removesuffix(".py")
    shared = {"content"} if own == "content" else {"content", "output"}
    assert report_imports(parse(path)) - {own, *shared} == set()


def module_name(path: Path) -> str:
    return ".".join(("streamgauge", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def circle(modules: dict[str, ast.AST]) -> list[str]:
    """Return modules that import each other in a circle; none when there is no circle."""
    graph = {
        name: {other for used in imports(tree, types=True) for other in (used, used.rpartition(".")[0])} & set(modules)
        for name, tree in modules.items()
    }
    try:
        TopologicalSorter({name: used - {name} for name, used in graph.items()}).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_a_circle_of_imports_is_found():
    planted = {"a": ast.parse("def f():\n    from b import c"), "b": ast.parse("import a")}
    assert set(circle(planted)) == {"a", "b"}
    assert circle(planted | {"a": ast.parse("")}) == []


def test_modules_of_the_report_do_not_import_each_other_in_a_circle():
    assert circle({module_name(path): parse(path) for path in REPORT}) == []


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_spark_is_imported_only_where_it_belongs(path):
    used = [name for name in imports(parse(path)) if name.split(".")[0] in ("pyspark", "py4j")]
    assert used == [] or room(path) in SPARK_ROOMS


def modules_that_import(prefixes: tuple[str, ...]) -> list[str]:
    """Return the modules that import one of these when they are imported themselves."""
    return [
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if any(f"{name}.".startswith(prefixes) for name in imports(parse(path), lazy=False))
    ]


def test_nobody_imports_spark_when_imported_but_the_source_and_what_prototypes_run_on():
    runtime = ["prototype/cpu_work.py", "prototype/launcher.py", "prototype/runtime.py"]
    assert modules_that_import(("pyspark.", "py4j.")) == ["engine/spark/source.py", *runtime]
    of_runtime = tuple(f"streamgauge.{path.removesuffix('.py').replace('/', '.')}." for path in runtime)
    assert modules_that_import(of_runtime) == ["prototype/runtime.py"]


def test_a_public_class_has_a_name_that_no_other_room_has():
    rooms: dict[str, set[str]] = {}
    for path in MODULES:
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                rooms.setdefault(node.name, set()).add(room(path))
    assert {name for name, found in rooms.items() if len(found) > 1} == set()


def test_no_module_has_a_name_that_says_nothing():
    assert {path.stem for path in MODULES}.isdisjoint({"utils", "util", "helpers", "common", "misc"})


def test_everything_public_is_listed_sorted_and_importable():
    assert streamgauge.__all__ == sorted(streamgauge.__all__)
    for name in streamgauge.__all__:
        assert getattr(streamgauge, name) is not None


def test_every_name_that_the_package_hands_out_is_listed():
    assert {*streamgauge._HOMES, "__version__"} == set(streamgauge.__all__)
    assert all(hasattr(import_module(f"streamgauge.{home}"), name) for name, home in streamgauge._HOMES.items())


def test_editors_can_complete_every_public_name():
    assert dir(streamgauge) == streamgauge.__all__


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


def test_every_package_that_is_imported_is_required_by_the_project():
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    required = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in lines}
    used = {name.split(".")[0] for path in MODULES for name in imports(parse(path), types=True)}
    # Parts of others: of ruamel.yaml, PySpark and Jinja.
    required |= {"ruamel", "py4j", "markupsafe"}
    assert used - sys.stdlib_module_names - {"streamgauge"} <= required
