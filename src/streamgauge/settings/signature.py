"""Python functions that take settings of the table as keywords."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from streamgauge.settings.keywords import KEYWORDS
from streamgauge.settings.table import refuse_unknown

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_settings(command: str) -> Callable[[Function], Function]:
    """Refuse keywords that a function does not have, and list those that it has in its signature, for notebooks."""

    def decorate(function: Function) -> Function:
        own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        settings = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in KEYWORDS[command].__annotations__.items()
        ]
        known = {parameter.name for parameter in (*own, *settings)}

        @wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            refuse_unknown(command, given, known)
            return function(*arguments, **given)

        answer = inspect.signature(function).return_annotation
        checked.__signature__ = inspect.Signature([*own, *settings], return_annotation=answer)  # type: ignore[attr-defined]
        return cast(Function, checked)

    return decorate
