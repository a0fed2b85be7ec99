"""Does Spark execute what the file describes? Every task once, in as many partitions as it has instances."""

from collections.abc import Iterator

from streamgauge.errors import RunFailedError
from streamgauge.prototype.graph.application import Application, PrototypeTask
from streamgauge.workloads.executed_plan import PlanNode

STATEFUL, WATERMARK = "StateStoreSave", "EventTimeWatermark"


def mark(task: str) -> str:
    """Return the text that marks a task in Spark's plan."""
    return f"task {task}"


def partitions_of(node: PlanNode) -> int | None:
    """Return in how many partitions a step runs; None where that is for the source to say."""
    if node.partitions is not None:
        return node.partitions
    counts = [partitions_of(child) for child in node.children]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def find_mismatches(application: Application, plan: PlanNode) -> list[str]:
    """Return in words where the executed plan is not what the application describes."""
    found = [*_wrong_tasks(application, plan), *_wrong_windows(application, plan)]
    return [*found, *_unending_windows(plan)] if application.has_windows_of_windows else found


def _wrong_tasks(application: Application, plan: PlanNode) -> Iterator[str]:
    for task in application.tasks:
        found = [node for node in plan.walk() if mark(task.name) in node.texts]
        if len(found) != 1:
            yield f"{task.name} is executed {f'{len(found)} times' if found else 'nowhere'} instead of once"
            continue
        yield from _wrong_partitions(task, partitions_of(found[0]), "")


def _wrong_windows(application: Application, plan: PlanNode) -> Iterator[str]:
    """Look at the steps that keep windows: each stands above the task whose windows they are."""
    tasks = {mark(task.name): task for task in application.tasks}
    for node in plan.walk():
        if node.name.startswith(STATEFUL):
            below = next((tasks[text] for step in node.walk() for text in step.texts if text in tasks), None)
            if below is not None:
                yield from _wrong_partitions(below, partitions_of(node), "the windows of ")


def _unending_windows(plan: PlanNode) -> Iterator[str]:
    """Look for windows that no watermark reaches: what is below them is shared with a branch that comes first."""
    for node in plan.walk():
        is_reached = any(step.name.startswith(WATERMARK) for step in node.walk())
        if node.name.startswith(STATEFUL) and not is_reached:
            yield "there are windows of windows, and windows beside a fork that Spark would never close"


def _wrong_partitions(task: PrototypeTask, executed: int | None, what: str) -> Iterator[str]:
    if executed is not None and executed != task.parallelism:
        yield f"{what}{task.name} runs in {executed} partitions instead of {task.parallelism}"


def refuse_other_plan(application: Application, plan: PlanNode, *, where: str) -> None:
    """Raise when Spark executes something else than the application: its numbers would be those of that."""
    wrong = find_mismatches(application, plan)
    if wrong:
        raise RunFailedError(
            f"Spark does not execute what the file describes: {'; '.join(wrong)}",
            where=where,
            remedy="leave --shuffle-partitions out, and settings of Spark's optimizer and of adaptive execution",
        )
