"""`model calibrate|evaluate`: what belongs to the model behind `predict`."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import conclude, interrupts_shown, measure_and_conclude, print_answer
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet, Resume, Runs, Workload
from streamgauge.printable import echo

app = typer.Typer(help="The model behind `predict`.", no_args_is_help=True, rich_markup_mode=None)

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
@takes_options("calibrate")
def calibrate(
    workload: Workload,
    settings: dict[str, Any],
    resume: Resume = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Run the few short runs that help the model most, as a set for `predict`; the first has the given settings."""
    from streamgauge.predicting.calibrate import calibrate_model
    from streamgauge.report.terminal.model_calibration import print_model_calibration

    measure_and_conclude(
        calibrate_model, print_model_calibration, workload, quiet=quiet, as_json=json_, resume=resume, **settings
    )


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
    """Measure configurations, predict each from every other, and report errors; ends with 6 when an aim is missed."""
    from streamgauge.predicting.evaluate import evaluate as measure
    from streamgauge.predicting.evaluate import evaluation_workloads
    from streamgauge.predicting.protocol import choose_protocol
    from streamgauge.report.terminal.evaluation import plan_document, plan_text, print_evaluation
    from streamgauge.report.terminal.progress import progress_display

    protocol = choose_protocol(quick=quick, repeat=repeat)
    chosen = evaluation_workloads(workloads or (), quick=quick)
    text = plan_text(chosen, protocol)
    if plan:
        print_answer(text, echo, lambda _: plan_document(chosen, protocol), as_json=json_)
        return
    echo(text, err=True)
    with interrupts_shown(), progress_display(quiet=quiet) as monitor:
        found = measure(chosen, quick=quick, repeat=repeat, resume=resume, runs=runs, monitor=monitor)
    conclude(found, print_evaluation, as_json=json_)
