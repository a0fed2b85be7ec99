"""The options of commands that take settings: `takes_options` adds those of the table to a command."""

import inspect
import re
from collections.abc import Callable, Collection
from typing import Annotated, Any, get_type_hints

import typer

from streamgauge.cli.answer import interrupts_shown
from streamgauge.cli.options import Runs, pairs
from streamgauge.errors import UsageError
from streamgauge.settings.table import MEASURING, PREDICTING, SETTINGS, Kind, Setting, renamed, settings_of

_TYPES: dict[Kind, Any] = {"whole": int | None, "flag": bool | None, "pairs": list[str] | None}


def refuse_old_spelling(error: Exception) -> None:
    """Answer an option that the parser does not know with its new name, if it had another one in earlier versions.

    The error is known by its attributes, because its class has no public name in all versions of the parser.
    """
    option, command = str(getattr(error, "option_name", "")), getattr(getattr(error, "ctx", None), "command", None)
    name = "run" if command is not None and command.name == "plan" else getattr(command, "name", "")
    if new := renamed(name, option.removeprefix("--").replace("-", "_")):
        new = SETTINGS[new].option if new in SETTINGS else f"--{new}"
        raise UsageError(f"renamed to {new}", where=option, remedy=f"use {new}") from error


def help_text(setting: Setting, command: str) -> str:
    """Say what a setting means and what its default is.

    >>> help_text(SETTINGS["warmup"], "sustain")
    'Load before the measurement; default 15s.'
    """
    default = "" if setting.kind == "flag" or command in PREDICTING else setting.default_in_words(command)
    meaning, _ = setting.special.get(command, (setting.help, ""))
    text = f"{meaning[:1].upper()}{meaning[1:]}" + f"; default {default}" * bool(default)
    return re.sub(r"`([^` ]+)`", r"\1", f"{text}.")


def _parameter(setting: Setting, command: str) -> inspect.Parameter:
    """Return an option as the parser wants it; what is not given is None, whatever the default."""
    no = f"/--no-{setting.option.removeprefix('--')}" if setting.default is True else ""
    option = typer.Option(
        f"{setting.option}{no}",
        help=help_text(setting, command),
        metavar=setting.metavar or None,
        show_default=False,
    )
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None if command in PREDICTING else _TYPES.get(setting.kind, str | None), option],
    )


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Turn what the parser read into keywords of Python."""
    read = {
        name: pairs(value, SETTINGS[name].option) if name in SETTINGS and SETTINGS[name].kind == "pairs" else value
        for name, value in given.items()
    }
    return {name: value for name, value in read.items() if value not in (None, {})}


def takes_options(command: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of its settings; it gets those that are given as the dictionary `settings`.

    The command's own parameter `settings` stands where the options belong; an option of its own replaces that of the
    table. One that runs a workload also gets `runs`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function).parameters
        added = {s.name: _parameter(s, command) for s in settings_of(command) if s.name not in own}
        if command in MEASURING:
            added["runs"] = inspect.Parameter("runs", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Runs)
        hints = get_type_hints(function, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for name, parameter in own.items():
            changed = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            parameters += added.values() if name == "settings" else [changed]

        def whole(**given: Any) -> None:
            refuse_wrong_prototype(given.get("workload"))
            settings = _settings({name: given.pop(name) for name in added})
            with interrupts_shown():
                function(**given, settings=settings)

        whole.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        whole.__annotations__ = {p.name: p.annotation for p in parameters}
        whole.__name__, whole.__doc__ = function.__name__, function.__doc__
        return whole

    return decorate


def refuse_wrong_prototype(reference: str | None) -> None:
    """Report the mistakes of a prototype file at once, before all that is needed to run one is imported."""
    from streamgauge.lookup import is_prototype

    if reference is None or not is_prototype(reference):
        return
    from streamgauge.prototype.file.document import is_prototype_file, load_application

    if is_prototype_file(reference):
        load_application(reference)


def refuse_options_beside_file(context: typer.Context, allowed: Collection[str]) -> None:
    """Refuse options that a suite file decides; `allowed` are the parameters that it does not."""
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in allowed and _is_given(context, parameter.name or "")
    ]
    if given:
        what = f"{', '.join(given)} cannot be used with a suite file, which decides it"
        raise UsageError(what, remedy="write it in the file, under `defaults` or at a run")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
