"""`model calibrate|evaluate`: what belongs to the model behind `predict`."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import Duration, Warmup, runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, Runs, print_json
from streamgauge.errors import EXIT_INTERRUPTED

app = typer.Typer(help="The model behind `predict`.", no_args_is_help=True, rich_markup_mode=None)

Resume = Annotated[str | None, typer.Option("--resume", metavar="SET", help="Go on with a set that was broken off.")]
Workloads = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORKLOAD…",
        help="Names from `list` or prototype files; default the topologies in examples, ysb, nexmark-q5, word count.",
        show_default=False,
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Five short steps of one workload: about twelve minutes.")]
Repeat = Annotated[int | None, typer.Option("--repeat", metavar="N", help="Repetitions; default 3, or 2 if quick.")]
Plan = Annotated[bool, typer.Option("--plan", help="Only say what would run, and how long that takes.")]


@app.command("calibrate")
@runs_workload(without=("load", "arrivals", "master", "explore"))
def calibrate(
    workload: Annotated[
        str, typer.Argument(help="A name from `list`, file.py:function, or a prototype file (*.yaml).")
    ],
    settings: dict[str, Any],
    duration: Duration = "45s",
    warmup: Warmup = "15s",
    resume: Resume = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Make the few short runs that tell the model most, as a set for `predict`; the first has the given settings."""
    from streamgauge.experiment.calibrate_model import calibrate_model
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = calibrate_model(workload, duration=duration, warmup=warmup, resume=resume, monitor=monitor, **settings)
    if json_:
        print_json(found.document())
    else:
        from streamgauge.report.model_calibration import print_model_calibration

        print_model_calibration(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])


@app.command("evaluate")
def evaluate(
    workloads: Workloads = None,
    quick: Quick = False,
    repeat: Repeat = None,
    plan: Plan = False,
    resume: Resume = None,
    runs: Runs = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Measure configurations, predict each from every other, and tell the errors; ends with 6 when an aim is missed."""
    from streamgauge.experiment.evaluate import choose_protocol, evaluation_workloads
    from streamgauge.experiment.evaluate import evaluate as measure
    from streamgauge.report.evaluation import plan_document, plan_text, print_evaluation
    from streamgauge.report.progress import progress_display

    protocol = choose_protocol(quick=quick, repeat=repeat)
    chosen = evaluation_workloads(workloads or (), quick=quick)
    if plan:
        if json_:
            print_json(plan_document(chosen, protocol))
        else:
            typer.echo(plan_text(chosen, protocol))
        return
    typer.echo(plan_text(chosen, protocol), err=True)
    try:
        with progress_display(quiet=quiet) as monitor:
            found = measure(chosen, quick=quick, repeat=repeat, resume=resume, runs=runs, monitor=monitor)
    except KeyboardInterrupt as interrupt:
        for note in getattr(interrupt, "__notes__", ()):
            typer.echo(f"interrupted: {note}", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if json_:
        print_json(found.document())
    else:
        print_evaluation(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
