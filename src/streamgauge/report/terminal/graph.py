"""A layout drawn as text: boxes from the top to the bottom, and the lines between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from streamgauge.prototype.graph.layout import GraphLayout, Net, Node
from streamgauge.report.content.application import wrap_facts

# The widest text in a box, tried in this order until the drawing fits.
ROOMS = (36, 30, 25, 21, 17)
# How far ports of the same box are apart, and how far lines that arrive are moved where they would meet others.
PORT_STEP, SHIFT = 4, 2
_NORTH, _EAST, _SOUTH, _WEST = 1, 2, 4, 8
# By the sum of the directions in which a line goes on.
_LINES = " │─└││┌├─┘─┴┐┤┬┼"


@dataclass(frozen=True)
class Label:
    """What a box says: the name of the component, facts about it, and how tuples reach it."""

    name: str
    facts: tuple[str, ...]
    routing: str = ""


@dataclass
class _Canvas:
    """Cells of text, above lines that know whose they are: lines of different nets cross without a junction."""

    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    upright: dict[tuple[int, int], tuple[object, int]] = field(default_factory=dict)
    lying: dict[tuple[int, int], tuple[object, int]] = field(default_factory=dict)

    def write(self, row: int, column: int, text: str) -> None:
        for character in text:
            width = cell_len(character)
            self.cells[row, column if width else column - 1] = (
                character if width else self.cells.get((row, column - 1), "") + character
            )
            for more in range(1, width):
                self.cells[row, column + more] = ""
            column += width

    def draw_down(self, owner: object, column: int, top: int, bottom: int, *, ends: int = 0) -> None:
        """Draw a line down; `ends` has the directions in which it goes on beyond its ends."""
        for row in range(top, bottom + 1):
            bits = (_NORTH if row > top else ends & _NORTH) | (_SOUTH if row < bottom else ends & _SOUTH)
            known = self.upright.get((row, column), (owner, 0))[1]
            self.upright[row, column] = (owner, known | bits)

    def draw_across(self, owner: object, row: int, left: int, right: int) -> None:
        for column in range(left, right + 1):
            bits = (_WEST if column > left else 0) | (_EAST if column < right else 0)
            self.lying[row, column] = (owner, bits)

    def _cell(self, place: tuple[int, int]) -> str:
        if place in self.cells:
            return self.cells[place]
        upright, lying = self.upright.get(place), self.lying.get(place)
        if upright and lying and upright[0] == lying[0]:
            return _LINES[upright[1] | lying[1]]
        found = upright or lying
        return _LINES[found[1]] if found else " "

    def lines(self) -> list[str]:
        places = [*self.cells, *self.upright, *self.lying]
        rows, columns = (1 + max(place[k] for place in places) for k in (0, 1))
        return ["".join(self._cell((row, c)) for c in range(columns)).rstrip() for row in range(rows)]


@dataclass(frozen=True)
class _Wire:
    """A net in the space between two levels: where its lines leave and where they arrive."""

    net: Net
    tops: tuple[int, ...]
    bottoms: tuple[int, ...]

    @property
    def is_straight(self) -> bool:
        return len({*self.tops, *self.bottoms}) == 1

    @property
    def span(self) -> tuple[int, int]:
        return min(*self.tops, *self.bottoms), max(*self.tops, *self.bottoms)


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Return whether two lines on one row would touch."""
    return a[0] <= b[1] + 1 and b[0] <= a[1] + 1


def _tracks(wires: Sequence[_Wire]) -> list[int] | None:
    """Give each net that needs one a row; None when lines would run into each other.

    Where a line arrives under another one that leaves, the latter has to end first.
    """
    found: dict[int, int] = {k: -1 for k, wire in enumerate(wires) if wire.is_straight}
    before = {
        k: {j for j, other in enumerate(wires) if j != k and {*wire.bottoms} & {*other.tops}}
        for k, wire in enumerate(wires)
    }
    while len(found) < len(wires):
        ready = [k for k in before if k not in found and before[k] <= set(found)]
        if not ready:
            return None
        for k in ready:
            track = 1 + max((found[j] for j in before[k]), default=-1)
            while any(found[j] == track and _overlap(wires[j].span, wires[k].span) for j in found):
                track += 1
            found[k] = track
    return [found[k] for k in range(len(wires))]


@dataclass(frozen=True)
class _Drawing:
    """The measures of a drawing: columns of lanes, and the lines of text of each box."""

    layout: GraphLayout
    labels: Mapping[str, Label]
    texts: Mapping[str, list[str]]
    gutter: int
    inner: int

    @property
    def box_width(self) -> int:
        # Odd, so that there is a middle.
        return (self.inner + 4) | 1

    def column(self, node: Node) -> int:
        """Return the column of the middle of a node."""
        # Even, so that half of a lane is a whole number of columns.
        pitch = self.box_width + 3
        return self.gutter + self.box_width // 2 + round(node.lane * pitch)

    @property
    def width(self) -> int:
        ends = [
            self.column(n) + (2 + len(self.labels[n.name].routing) if n.level > 1 else 0)
            for nodes in self.layout.levels
            for n in nodes
        ]
        return max(self.gutter + round((self.layout.lanes - 1) * (self.box_width + 3)) + self.box_width, 1 + max(ends))

    def wires(self, nets: Sequence[Net], shift: int) -> list[_Wire]:
        """Place the ends of all lines between two levels; a node has one port for each of its nets."""
        ports: dict[tuple[Node, int], int] = {}
        for node in dict.fromkeys(parent for net in nets for parent in net.parents):
            own = [k for k, net in enumerate(nets) if node in net.parents]
            own.sort(key=lambda k: sum(child.lane for child in nets[k].children) / len(nets[k].children))
            step = min(PORT_STEP, (self.box_width - 3) // max(1, len(own) - 1))
            for place, k in enumerate(own):
                ports[node, k] = self.column(node) + step * place - step * (len(own) - 1) // 2
        return [
            _Wire(
                net,
                tuple(ports[parent, k] for parent in net.parents),
                tuple(self.column(child) - shift for child in net.children),
            )
            for k, net in enumerate(nets)
        ]

    def draw(self) -> list[str] | None:
        canvas, row = _Canvas(), 0
        arriving: dict[Node, int] = {}
        for k, nodes in enumerate(self.layout.levels):
            height = 2 + max((len(self.texts[n.name]) for n in nodes if not n.is_passed), default=1)
            wires: list[_Wire] = []
            tracks: list[int] | None = []
            if k < len(self.layout.nets):
                for shift in (0, SHIFT):
                    wires = self.wires(self.layout.nets[k], shift)
                    if (tracks := _tracks(wires)) is not None:
                        break
            if tracks is None:
                return None
            canvas.write(row + 1, 0, str(k + 1))
            leaving = [(p, top) for w in wires for p, top in zip(w.net.parents, w.tops, strict=True)]
            for node in nodes:
                ports = [top for parent, top in leaving if parent == node]
                self._draw_node(canvas, node, row, height, arriving.get(node), ports)
            row += height
            last = row + max(tracks, default=-1) + 1
            for wire, track in zip(wires, tracks, strict=True):
                self._draw_wire(canvas, wire, row, row + track, last)
                arriving.update(zip(wire.net.children, wire.bottoms, strict=True))
            row = last + 1
        return canvas.lines()

    def _draw_node(
        self, canvas: _Canvas, node: Node, row: int, height: int, arrival: int | None, ports: Sequence[int]
    ) -> None:
        middle, last = self.column(node), row + height - 1
        if node.is_passed:
            canvas.draw_down(node, middle, row, last, ends=_NORTH * (arrival == middle) | _SOUTH * (middle in ports))
            for line, columns in ((row, [middle, arrival or middle]), (last, [middle, *ports])):
                if len(set(columns)) > 1:
                    canvas.draw_across(node, line, min(columns), max(columns))
            if arrival is not None and arrival != middle:
                canvas.draw_down(node, arrival, row, row, ends=_NORTH)
            for port in ports:
                canvas.draw_down(node, port, last, last, ends=_SOUTH)
            return
        left, inner = middle - self.box_width // 2, self.box_width - 2
        edge = ["─"] * inner
        for port in ports:
            edge[port - left - 1] = "┬"
        canvas.write(row, left, f"┌{'─' * inner}┐")
        for k in range(1, height - 1):
            text = self.texts[node.name][k - 1] if k <= len(self.texts[node.name]) else ""
            canvas.write(row + k, left, f"│ {text}{' ' * (inner - 1 - cell_len(text))}│")
        canvas.write(last, left, f"└{''.join(edge)}┘")

    def _draw_wire(self, canvas: _Canvas, wire: _Wire, first: int, bus: int, last: int) -> None:
        for top in wire.tops:
            canvas.draw_down(wire, top, first, last if wire.is_straight else bus, ends=_NORTH)
        for child, bottom in zip(wire.net.children, wire.bottoms, strict=True):
            canvas.draw_down(wire, bottom, first if wire.is_straight else bus, last, ends=_SOUTH)
            if not child.is_passed:
                canvas.write(last, bottom, f"▼ {self.labels[child.name].routing}")
        if not wire.is_straight:
            canvas.draw_across(wire, bus, *wire.span)


def draw_graph(layout: GraphLayout, labels: Mapping[str, Label], width: int) -> str | None:
    """Draw boxes and lines; None where they do not fit into the width, or where lines cannot be kept apart."""
    gutter = len(str(len(layout.levels))) + 2
    for room in ROOMS:
        texts = {name: [label.name, *wrap_facts(label.facts, room)] for name, label in labels.items()}
        inner = max(cell_len(line) for lines in texts.values() for line in lines)
        drawing = _Drawing(layout, labels, texts, gutter, inner)
        if inner <= room and drawing.width <= width:
            lines = drawing.draw()
            return None if lines is None else "\n".join(lines)
    return None
