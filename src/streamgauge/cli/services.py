"""`services up|status|down`: real servers on this machine for development and tests."""

from pathlib import Path
from typing import Annotated, Any

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.options import Json, Quiet, print_json
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.printable import echo

app = typer.Typer(
    help="Kafka, Redis and a Spark cluster on this machine, for development and tests.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _say(text: str) -> None:
    echo(text, err=True)


def _silent(text: str) -> None:
    pass


def _share_out(names: list[str], given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the given options of each service; refuse an option that none of them has."""
    from streamgauge.services.control import settings_of

    chosen = {name: value for name, value in given.items() if value is not None}
    for option in chosen:
        takers = [name for name in names if option in settings_of(name)]
        if not takers:
            remedy = "leave it out, or name the service that it is for"
            raise UsageError(f"not an option of {' or '.join(names)}", where=f"--{option}", remedy=remedy)
        if option == "port" and len(takers) > 1:
            what = f"{' and '.join(takers)} cannot share a port"
            raise UsageError(what, where="--port", remedy="bring them up one by one")
    return {name: {k: v for k, v in chosen.items() if k in settings_of(name)} for name in names}


@app.command("up")
def up(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="kafka, redis, spark.", show_default=False)],
    brokers: Annotated[int | None, typer.Option("--brokers", help="Kafka nodes, 1 or 3; default 1.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Spark workers; default 1.")] = None,
    cores: Annotated[int | None, typer.Option("--cores", help="Cores of each Spark worker; default 1.")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Memory of each Spark worker; default 1g.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port for clients; default any that is free.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Where to make the temporary folder; default the system's place."),
    ] = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Start services and print their addresses; one that is up stays as it is."""
    from streamgauge.report.terminal.services import print_up
    from streamgauge.services import bring_up, prepare
    from streamgauge.services.control import require_known

    wanted = list(dict.fromkeys(names))
    require_known(wanted)
    given = {"brokers": brokers, "workers": workers, "cores": cores, "memory": memory, "port": port}
    settings = _share_out(wanted, given)
    say = _silent if quiet else _say
    # What is missing is reported before anything starts.
    for name in wanted:
        prepare(name, say=say, **settings[name])
    done = []
    try:
        for name in wanted:
            done.append(bring_up(name, folder=folder, say=say, settings=settings[name]))
    except StreamgaugeError as error:
        for service, _ in done:
            error.add_note(f"{service.name} is up at {service.address}")
        raise
    document = {"services": [{**service.document(), "already_up": already} for service, already in done]}
    print_answer(done, print_up, lambda _: document, as_json=json_)


@app.command("status")
def status(json_: Json = False) -> None:
    """Show what is up: processes, ports, folders."""
    from streamgauge.report.terminal.services import print_status
    from streamgauge.services import status as services_status

    services = services_status()
    document = {"services": [service.document() for service in services]}
    print_answer(services, print_status, lambda _: document, as_json=json_)


@app.command("down")
def down(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Which to end; default all.", show_default=False),
    ] = None,
    json_: Json = False,
) -> None:
    """End services and delete their data; also those whose starter was killed."""
    from streamgauge.services import down as services_down

    ended = services_down(names or (), say=_say)
    if json_:
        print_json({"ended": [{"name": service.name, "folder": str(service.folder)} for service in ended]})
        return
    for service in ended:
        echo(f"{service.name} is down; {service.folder} is deleted")
    for name in dict.fromkeys(names or ()):
        if name not in {service.name for service in ended}:
            echo(f"{name} was not up")
    if not ended and not names:
        echo("no service was up")
