"""The graph of a prototype as a drawing of the page: from left to right where there is room, else downwards."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len, set_cell_size

from streamgauge.prototype.graph.application import Component, PrototypeTask, Source
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.layout import GraphLayout, Node, lay_out
from streamgauge.report.content import application as words
from streamgauge.report.html.chart import Missing
from streamgauge.store import StoredRun

Direction = Literal["across", "down"]
# All in pixels of the drawing, except the room for text, which is in characters.
BOX_WIDTH, ROOM = 190, 27
NAME_HEIGHT, LINE_HEIGHT, PADDING = 18, 16, 11
BAR_HEIGHT = 4
LANE_GAP = 22
LEVEL_GAP = {"across": 82, "down": 48}
ARROW = 7
# Deeper graphs would become too small from left to right.
MAX_LEVELS_ACROSS = 6


@dataclass(frozen=True)
class GraphBox:
    """A component: its texts with their places, and the share of the largest load that it bears."""

    x: float
    y: float
    width: float
    height: float
    style: str
    name: str
    lines: tuple[tuple[float, str], ...]
    share: float
    title: str


@dataclass(frozen=True)
class GraphArrow:
    """Where tuples arrive: the head of an arrow, and the routing beside it."""

    data: str
    routing: str
    x: float
    y: float
    anchor: str


@dataclass(frozen=True)
class Drawing:
    """A graph in one direction; `words` describe it to those who do not see it."""

    direction: Direction
    is_only: bool
    width: float
    height: float
    boxes: tuple[GraphBox, ...]
    lines: tuple[str, ...]
    arrows: tuple[GraphArrow, ...]
    words: str


@dataclass(frozen=True)
class ApplicationPart:
    """What the page says about the application of a run."""

    drawings: tuple[Drawing, ...]
    totals: list[tuple[str, str]]
    stages: list[tuple[str, str]]
    rows: list[tuple[str, ...]]
    warnings: tuple[str, ...]
    columns: tuple[str, ...] = words.COMPONENT_COLUMNS
    tuples_meaning: str = words.TUPLES_MEANING
    is_missing: bool = field(default=False, init=False)


@dataclass(frozen=True)
class _Plan:
    """The measures of a drawing: along the levels, and across them along the lanes."""

    costs: Costs
    layout: GraphLayout
    direction: Direction
    texts: Mapping[str, list[str]]

    @property
    def box_height(self) -> float:
        most = max(len(lines) for lines in self.texts.values())
        return 2 * PADDING + NAME_HEIGHT + LINE_HEIGHT * most + BAR_HEIGHT

    def _size(self) -> tuple[float, float]:
        """Return the size of a box along the levels and along the lanes."""
        sizes = (BOX_WIDTH, self.box_height)
        return sizes if self.direction == "across" else sizes[::-1]

    def _turned(self, along: float, aside: float) -> tuple[float, float]:
        """Return x and y of a place."""
        return (along, aside) if self.direction == "across" else (aside, along)

    def _span(self, node: Node) -> tuple[float, float, float]:
        """Return where a node begins and ends along the levels, and its middle along the lanes."""
        length, breadth = self._size()
        begin = (node.level - 1) * (length + LEVEL_GAP[self.direction])
        return begin, begin + length, breadth / 2 + node.lane * (breadth + LANE_GAP)

    @property
    def size(self) -> tuple[float, float]:
        length, breadth = self._size()
        along = len(self.layout.levels) * (length + LEVEL_GAP[self.direction]) - LEVEL_GAP[self.direction]
        return self._turned(along, breadth + (self.layout.lanes - 1) * (breadth + LANE_GAP))

    def box(self, node: Node, component: Component, share: float) -> GraphBox:
        begin, _, middle = self._span(node)
        x, y = self._turned(begin, middle - self._size()[1] / 2)
        first = y + PADDING + NAME_HEIGHT - 5
        texts = [component.name, *self.texts[component.name]]
        places = [first, *(first + LINE_HEIGHT * k + 2 for k in range(1, len(texts)))]
        return GraphBox(
            x=x,
            y=y,
            width=BOX_WIDTH,
            height=self.box_height,
            style="source" if isinstance(component, Source) else "task",
            name=_shortened(component.name, ROOM - 3),
            lines=tuple(zip(places[1:], texts[1:], strict=True)),
            share=share,
            title=_component_words(component, self.costs),
        )

    def lines(self) -> Iterator[str]:
        """Yield a curve for each line between two levels, and a straight one through each level that is passed."""
        for nets in self.layout.nets:
            for net in nets:
                for parent in net.parents:
                    yield from (self._curve(parent, child) for child in net.children)
        for node in (node for nodes in self.layout.levels for node in nodes if node.is_passed):
            begin, end, middle = self._span(node)
            yield "M{:g} {:g}L{:g} {:g}".format(*self._turned(begin, middle), *self._turned(end, middle))

    def _curve(self, parent: Node, child: Node) -> str:
        start, end = self._span(parent)[1], self._span(child)[0] - (0 if child.is_passed else ARROW)
        sides, half = (self._span(parent)[2], self._span(child)[2]), (start + end) / 2
        points = [(start, sides[0]), (half, sides[0]), (half, sides[1]), (end, sides[1])]
        flat = [number for along, aside in points for number in self._turned(along, aside)]
        return "M{:g} {:g}C{:g} {:g} {:g} {:g} {:g} {:g}".format(*flat)

    def arrow(self, node: Node, routing: str) -> GraphArrow:
        tip, middle = self._span(node)[0], self._span(node)[2]
        corners = [(tip, middle), (tip - ARROW - 1, middle - 4.5), (tip - ARROW - 1, middle + 4.5)]
        data = "M" + "L".join("{:g} {:g}".format(*self._turned(*corner)) for corner in corners) + "Z"
        if self.direction == "across":
            return GraphArrow(data, routing, tip - ARROW - 4, middle - 6, "end")
        return GraphArrow(data, routing, middle + 9, tip - 4, "start")


def _shortened(text: str, room: int) -> str:
    return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1).rstrip()}…"


def _component_words(component: Component, costs: Costs) -> str:
    facts = ", ".join(words.component_facts(component, costs))
    origin = f"; from {words.parents_text(component)}" if isinstance(component, PrototypeTask) else ""
    return f"{component.name}: {facts}{origin}"


def _shares(costs: Costs) -> dict[str, float]:
    """Return the load that all tuples of a source tuple put on each task, as shares of the largest one.

    Cycles and time are comparable only where the cost of a cycle is known.
    """
    tasks = costs.application.tasks
    timed = [costs.cpu_us(task) for task in tasks]
    measure: Callable[[PrototypeTask], float | None] = costs.cycles if None in timed else costs.cpu_us
    loads = {task.name: costs.times(task) * (measure(task) or 0.0) for task in tasks}
    largest = max(loads.values(), default=0.0)
    return {name: load / largest if largest else 0.0 for name, load in loads.items()}


def draw_application(costs: Costs, direction: Direction, *, is_only: bool = False) -> Drawing:
    """Draw the graph; its places are in pixels from the upper left corner."""
    application = costs.application
    texts = {
        one.name: [_shortened(line, ROOM) for line in words.wrap_facts(words.component_facts(one, costs), ROOM)]
        for one in application.components
    }
    plan = _Plan(costs, lay_out(application), direction, texts)
    nodes = {node.name: node for level in plan.layout.levels for node in level if not node.is_passed}
    shares = _shares(costs)
    width, height = plan.size
    return Drawing(
        direction=direction,
        is_only=is_only,
        width=width,
        height=height,
        boxes=tuple(plan.box(nodes[one.name], one, shares.get(one.name, 0.0)) for one in application.components),
        lines=tuple(plan.lines()),
        arrows=tuple(plan.arrow(nodes[task.name], task.routing) for task in application.tasks),
        words=". ".join(_component_words(one, costs) for one in application.components),
    )


def application_part(costs: Costs) -> ApplicationPart:
    """Return what the page shows of an application."""
    is_deep = costs.application.depth > MAX_LEVELS_ACROSS
    directions: tuple[Direction, ...] = ("down",) if is_deep else ("across", "down")
    return ApplicationPart(
        drawings=tuple(draw_application(costs, direction, is_only=is_deep) for direction in directions),
        totals=words.total_rows(costs),
        stages=words.stage_rows(costs),
        rows=words.component_rows(costs),
        warnings=costs.application.warnings,
    )


def stored_application(stored: StoredRun) -> ApplicationPart | Missing | None:
    """Return what the page shows of the application of a run; None for a run of anything else than a prototype."""
    costs = words.stored_costs(stored)
    if costs == "unreadable":
        return Missing("Application", words.UNREADABLE)
    return None if costs is None else application_part(costs)
