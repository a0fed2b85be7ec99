"""Applications as bare graphs, for tests of drawings."""

import random

from streamgauge.prototype.graph.application import Application, Data, Flow, PrototypeTask, Source

Edges = list[tuple[str, str]]


def graph(*tasks: tuple[str, str], sources: str = "s") -> Application:
    """Build an application from names and their parents, one letter each; levels are as deep as possible."""
    levels = dict.fromkeys(sources, 1)
    made = []
    for name, parents in tasks:
        levels[name] = 1 + max(levels[parent] for parent in parents)
        made.append(PrototypeTask(name, 4, tuple(parents), "balanced", 4.5, level=levels[name]))
    return Application("graph", "pipeline", tuple(Source(name, 4, Data(), Flow()) for name in sources), tuple(made))


def edges(application: Application) -> set[tuple[str, str]]:
    return {(parent, task.name) for task in application.tasks for parent in task.parents}


def random_graph(seed: int) -> Application:
    """Draw a graph of up to fourteen components with up to three parents each, most of them with long edges."""
    rng = random.Random(seed)
    names = "abcdefghijklmn"[: rng.randint(4, 14)]
    count = rng.randint(1, 3)
    tasks = [
        (name, "".join(rng.sample(names[:k], min(k, rng.randint(1, 3)))))
        for k, name in enumerate(names)
        if k >= count
    ]  # fmt: skip
    return graph(*tasks, sources=names[:count])


LINEAR = graph(("a", "s"), ("b", "a"), ("c", "b"))
DIAMOND = graph(("a", "s"), ("b", "s"), ("j", "ab"), ("k", "j"), ("l", "k"))
STAR = graph(("h", "rs"), ("u", "h"), ("l", "h"), ("v", "u"), ("w", "v"), sources="rs")
# Two edges skip levels, and it can be drawn without a crossing, but not in the order of the file.
SKIPPING = graph(("a", "s"), ("b", "a"), ("c", "bs"), ("d", "ac"))
# Three tasks with two of three parents each: no drawing in two levels is without crossings.
TANGLED = graph(("c", "ab"), ("d", "bx"), ("e", "ax"), sources="abx")
