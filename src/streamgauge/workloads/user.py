"""The user's own query: a function from DataFrame to DataFrame, named as `file.py:function`."""

import ast
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.bundle import locate
from streamgauge.errors import InvalidExperimentError, StreamgaugeError, UsageError, closest
from streamgauge.events import EventStream
from streamgauge.extras import explain
from streamgauge.workloads.traits import Operator, Retention, State, Traits
from streamgauge.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _place(error: BaseException, file: Path) -> str:
    """Return the last line of the user's file that the error went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    line = frames[-1].lineno if frames else line
    return f"{file}:{line}" if line else str(file)


def _said(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a module binds at its top level; `*` where only running it would show them."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    else:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def _parts(reference: str) -> tuple[Path, str]:
    path_text, _, name = reference.rpartition(":")
    if path_text in ("", "example"):
        path_text, name = reference, ""
    file = locate(path_text).resolve()
    if not name:
        raise UsageError(
            f'"{reference}" does not name a function', remedy=f"write {reference}:FUNCTION, e.g. {reference}:build"
        )
    if not file.is_file():
        raise UsageError(f"there is no file {file}", remedy="write the path of a Python file, a colon and a function")
    return file, name


def find_function(reference: str) -> tuple[Path, str]:
    """Return the file and the name of a function, found by reading the file without executing any of it."""
    file, name = _parts(reference)
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))
        bound = set(_bound(tree))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _not_imported(error, file) from error
    if name not in bound and bound.isdisjoint({"*", "__getattr__"}):
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        raise UsageError(f'no function "{name}"', where=str(file), remedy=closest(name, functions))
    return file, name


def _not_imported(error: BaseException, file: Path) -> StreamgaugeError:
    if isinstance(error, ModuleNotFoundError) and (missing := explain(error)) is not None:
        return missing
    return InvalidExperimentError(
        f"the file cannot be imported: {_said(error)}", where=_place(error, file), remedy="fix it and try again"
    )


def load_function(reference: str) -> tuple[Callable[["DataFrame"], Any], Path]:
    """Import the file and return the function; everything that can be wrong with either is said plainly."""
    file, name = _parts(reference)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # Registered while it runs, because dataclasses look their module up, and not longer: it may have the name of
    # a module in use, and functions of a module that is not registered travel to workers by value.
    before = sys.modules.get(file.stem)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _not_imported(error, file) from error
    finally:
        del sys.modules[file.stem]
        if before is not None:
            sys.modules[file.stem] = before
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(f'no function "{name}"', where=str(file), remedy=closest(name, known))
    return function, file


def user_workload(reference: str, events: EventStream, *, import_code: bool = True) -> Workload:
    """Wrap a user's function as a workload over one of our event streams.

    Without `import_code` the file is read now and imported only when its dataflow is built.
    """
    file, name = _parts(reference) if import_code else find_function(reference)

    @cache
    def function() -> Callable[["DataFrame"], Any]:
        return load_function(reference)[0]

    if import_code:
        function()

    def dataflow(df: "DataFrame", _: Any) -> "DataFrame":
        from pyspark.sql import DataFrame

        try:
            result = function()(df)
        except Exception as error:
            raise InvalidExperimentError(
                f"the function raised {_said(error)}",
                where=_place(error, file),
                remedy=f"it gets a streaming DataFrame with the columns {', '.join(df.columns)}",
            ) from error
        if not isinstance(result, DataFrame):
            raise InvalidExperimentError(
                f"the function returned {type(result).__name__}, not a DataFrame",
                where=reference,
                remedy="return the DataFrame whose rows are the answer; streamgauge starts and stops the query",
            )
        if not result.isStreaming:
            raise InvalidExperimentError(
                "the function returned a DataFrame that does not come from its input",
                where=reference,
                remedy="build the answer from the DataFrame that is passed in",
            )
        return result

    return Workload(
        name=reference,
        family="user",
        question=f"How does {file.name}:{name} behave?",
        events=events,
        parameters=events.parameters,
        dataflow=dataflow,
        traits=Traits((Operator.UNKNOWN.step(),), State("as written by the user", Retention.UNKNOWN)),
        output=(),
        output_mode=lambda _: None,
    )
