"""The user's own query: a function from DataFrame to DataFrame, named as `file.py:function`."""

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.events import EventStream
from streamgauge.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def is_user_function(reference: str) -> bool:
    """Tell `file.py:function` from a name of the catalogue."""
    return ".py:" in reference or reference.endswith(".py")


def _place(error: BaseException, file: Path) -> str:
    """Return the last line of the user's file that the error went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    line = frames[-1].lineno if frames else line
    return f"{file}:{line}" if line else str(file)


def _said(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__


def load_function(reference: str) -> tuple[Callable[["DataFrame"], Any], Path]:
    """Import the file and return the function; everything that can be wrong with either is said plainly."""
    path_text, _, name = reference.rpartition(":") if ":" in reference else (reference, "", "")
    file = Path(path_text).resolve()
    if not name:
        raise UsageError(
            f'"{reference}" names no function', remedy=f"write {reference}:FUNCTION, e.g. {reference}:build"
        )
    if not file.is_file():
        raise UsageError(f"there is no file {file}", remedy="write the path of a Python file, a colon and a function")
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
        raise InvalidExperimentError(
            f"the file cannot be imported: {_said(error)}",
            where=_place(error, file),
            remedy="mend it and try again",
        ) from error
    finally:
        del sys.modules[file.stem]
        if before is not None:
            sys.modules[file.stem] = before
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(f'no function "{name}"', where=str(file), remedy=closest(name, known))
    return function, file


def user_workload(reference: str, events: EventStream) -> Workload:
    """Wrap a user's function as a workload over one of our event streams."""
    function, file = load_function(reference)

    def dataflow(df: "DataFrame", _: Any) -> "DataFrame":
        from pyspark.sql import DataFrame

        try:
            result = function(df)
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
        suite="user",
        question=f"How does {Path(file).name}:{reference.rpartition(':')[2]} behave?",
        events=events,
        parameters=events.parameters,
        dataflow=dataflow,
        output=(),
        output_mode=lambda _: None,
        operators="as written by the user",
        state="as written by the user",
    )
