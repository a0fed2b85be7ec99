"""Prototypes on the terminal."""

import io
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from prototype.graphs import DIAMOND, SKIPPING, STAR, TANGLED, edges, graph, random_graph
from streamgauge.bundle import FOLDER
from streamgauge.prototype import load_application
from streamgauge.prototype.graph.application import (
    Application,
    Data,
    Flow,
    PrototypeTask,
    Source,
    SourceTopic,
    TaskWindow,
)
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.layout import lay_out
from streamgauge.report.content.application import arrival_words, component_facts, describe_application, total_load_text
from streamgauge.report.terminal.application import print_application
from streamgauge.report.terminal.graph import ROOMS, Label, draw_graph

HERE = Path(__file__).parent
EXAMPLES = FOLDER / "prototypes"
NORTH, EAST, SOUTH, WEST = (-1, 0), (0, 1), (1, 0), (0, -1)
OPEN = {
    "│": {NORTH, SOUTH},
    "─": {EAST, WEST},
    "┌": {EAST, SOUTH},
    "┐": {SOUTH, WEST},
    "└": {NORTH, EAST},
    "┘": {NORTH, WEST},
    "├": {NORTH, EAST, SOUTH},
    "┤": {NORTH, SOUTH, WEST},
    "┬": {EAST, SOUTH, WEST},
    "┴": {NORTH, EAST, WEST},
    "┼": {NORTH, EAST, SOUTH, WEST},
}


def printed(application, width=100, ns_per_cycle=None, notes=(), encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    out = Console(file=file, width=width, highlight=False, markup=False, emoji=False)
    print_application(application, ns_per_cycle, notes, out)
    file.flush()
    text = file.buffer.getvalue().decode(encoding)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def drawing(application, width=10_000):
    labels = {
        one.name: Label(one.name, ("4 instances",), "" if isinstance(one, Source) else one.routing)
        for one in application.components
    }
    return draw_graph(lay_out(application), labels, width)


class Drawn:
    """A drawing read back: boxes by their names, and where the lines lead."""

    def __init__(self, text):
        self.cells = {(r, c): x for r, line in enumerate(text.splitlines()) for c, x in enumerate(line)}
        self.inside = {}
        for (row, column), cell in self.cells.items():
            if cell == "┌" and self.cells.get((row + 1, column + 1)) == " " and self._is_box(row, column):
                self._read_box(row, column)

    def _is_box(self, row, column):
        return self.cells.get((row + 1, column)) == "│" and self.cells.get((row + 1, column + 2), " ").isalnum()

    def _read_box(self, row, column):
        right = next(c for c in itertools.count(column + 1) if self.cells[row, c] == "┐")
        bottom = next(r for r in itertools.count(row + 1) if self.cells[r, column] == "└")
        name = "".join(self.cells[row + 1, c] for c in range(column + 1, right)).split()[0]
        for place in itertools.product(range(row, bottom + 1), range(column, right + 1)):
            self.inside[place] = name

    def _leads_to(self, place, direction):
        """Go one step along a line; an upright line goes over one that lies and has no junction with it."""
        after = (place[0] + direction[0], place[1] + direction[1])
        cell = self.cells.get(after, " ")
        if cell == "│" and direction in (EAST, WEST):
            return self._leads_to(after, direction)
        back = (-direction[0], -direction[1])
        return after if cell == "▼" or back in OPEN.get(cell, ()) else None

    def edges(self):
        """Walk from every port in the lower edge of a box to the arrows that it leads to."""
        found = set()
        for place, name in self.inside.items():
            if self.cells[place] == "┬":
                found |= {(name, end) for end in self._ends(place)}
        return found

    def _ends(self, port):
        ends, seen = set(), {port}
        waiting = [self._leads_to(port, SOUTH)]
        while waiting:
            place = waiting.pop()
            assert place is not None, "a line ends nowhere"
            if place in seen:
                continue
            seen.add(place)
            if self.cells[place] == "▼":
                ends.add(self.inside[place[0] + 1, place[1]])
                continue
            # Tuples go down; what leads up is where others come from.
            waiting += [self._leads_to(place, direction) for direction in OPEN[self.cells[place]] - {NORTH}]
        return ends


# The drawing


@pytest.mark.parametrize("application", [DIAMOND, STAR, SKIPPING, TANGLED])
def test_the_lines_of_a_drawing_are_the_edges_of_the_graph(application):
    assert Drawn(drawing(application)).edges() == edges(application)


@pytest.mark.parametrize("seed", range(80))
def test_lines_of_any_graph_are_kept_apart(seed):
    application = random_graph(seed)
    assert Drawn(drawing(application)).edges() == edges(application)


def test_the_walk_over_a_drawing_sees_an_edge_too_many():
    text = drawing(TANGLED)
    assert "│" in text
    joined = "\n".join(line.replace("─│─", "─┼─") for line in text.splitlines())
    assert Drawn(joined).edges() > edges(TANGLED)


def test_a_task_with_more_nets_than_room_for_ports_is_still_drawn():
    tasks = [("h", "s"), *((name, "s") for name in "abcdefgi")]
    tasks += [(name.upper(), f"h{name}") for name in "abcdefgi"]
    application = graph(*tasks)
    text = drawing(application)
    assert text is None or Drawn(text).edges() == edges(application)


def test_boxes_become_narrower_before_the_drawing_is_given_up():
    wide = max(map(len, printed(DIAMOND, 200).splitlines()[2:30]))
    narrow = printed(DIAMOND, 50)
    assert "┌" in narrow
    assert max(map(len, narrow.splitlines())) <= 50 < wide


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140])
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_nothing_is_wider_than_the_terminal(name, width):
    lines = printed(load_application(EXAMPLES / f"{name}.yaml"), width, 0.8).splitlines()
    assert max(map(len, lines)) <= width


def test_without_room_for_boxes_components_stand_below_each_other():
    text = printed(DIAMOND, 30)
    assert "┌" not in text
    assert "4 instances, 4.5k cycles" in text
    assert "from a and b (balanced)" in text


def test_a_name_without_room_for_a_box_is_written_in_full():
    name = "a" * 100
    application = graph(("a", "s"))
    long = replace(application, tasks=(replace(application.tasks[0], name=name),))
    assert name in "".join(printed(long, 80).split())


def test_a_terminal_without_unicode_gets_plain_characters():
    text = printed(load_application(EXAMPLES / "ysb-storm.yaml"), 80, 0.8, encoding="ascii")
    assert text.isascii()
    assert "+----" in text
    assert "v balanced" in text
    assert "6.9k cycles = 5.52 us" in text
    assert "?" not in text


def test_a_diamond_is_printed_as_in_the_file():
    text = printed(load_application(EXAMPLES / "diamond.yaml"), 80)
    assert text == (HERE / "diamond.txt").read_text()


def test_routing_is_written_at_the_end_of_each_edge():
    application = load_application(EXAMPLES / "ysb-storm.yaml")
    arrows = [line.split("▼")[1].strip() for line in printed(application).splitlines() if "▼" in line]
    assert arrows == [task.routing for task in application.tasks]


# What is said


def test_the_example_diamond_has_six_components_with_four_instances_each():
    document = describe_application(load_application(EXAMPLES / "diamond.yaml"))
    assert (document["depth"], len(document["components"]), document["instances"]) == (5, 6, 24)
    assert {component["instances"] for component in document["components"]} == {4}


def test_the_document_holds_the_graph():
    application = load_application(EXAMPLES / "star.yaml")
    document = describe_application(application, 0.5)
    assert {(edge["from"], edge["to"]) for edge in document["edges"]} == edges(application)
    by_name = {component["name"]: component for component in document["components"]}
    assert by_name["task_1"]["filtering"] == 0.5
    assert by_name["task_1"]["cpu_us"] == 1.0
    assert by_name["task_2"]["window"] == {"type": "sliding", "duration_s": 10, "interval_s": 5, "key": "instance"}
    assert by_name["source_1"]["mean_rate_per_s"] == 5000.0
    assert document["load_per_tuple"]["cycles"] == Costs(application).total_cycles
    assert [stage["number"] for stage in document["stages"]] == list(range(1, len(document["stages"]) + 1))
    assert all(stage["text"] for stage in document["stages"])


def test_warnings_of_the_file_and_other_notes_are_told():
    application = replace(DIAMOND, warnings=("line 3: dataflow is an obsolete name",))
    assert "! line 3: dataflow is an obsolete name" in printed(application)
    assert "! not so fast" in printed(application, notes=["not so fast"])
    document = describe_application(application, None, ["not so fast"])
    assert document["warnings"] == ["line 3: dataflow is an obsolete name", "not so fast"]


def test_loads_are_shown_as_time_when_the_cost_of_a_cycle_is_known():
    assert "4.5k cycles = 9 µs" in printed(DIAMOND, ns_per_cycle=2.0)
    assert "prototype calibrate" not in printed(DIAMOND, ns_per_cycle=2.0)
    assert "4.5k cycles" in printed(DIAMOND)
    assert "prototype calibrate" in printed(DIAMOND)


def task(**changes):
    return PrototypeTask("t", 2, ("s",), "hash", **changes)


def source(flow=None, parallelism=1, **changes):
    return Source("s", parallelism, Data(**changes), flow or Flow())


@pytest.mark.parametrize(
    ("component", "facts"),
    [
        (task(processing=4.5), ["2 instances", "4.5k cycles"]),
        (task(processing=0.0), ["2 instances", "no load"]),
        (task(processing=0.0, processing_us=20.0), ["2 instances", "20 µs"]),
        (task(processing=1.0, filtering=0.333), ["2 instances", "1k cycles", "keeps 33.3%"]),
        (task(processing=1.0, filtering=1.0), ["2 instances", "1k cycles"]),
        (task(processing=1.0, selectivity=2.5), ["2 instances", "1k cycles", "2.5 copies"]),
        (task(processing=1.0, resized_data=52), ["2 instances", "1k cycles", "cuts to 52 characters"]),
        (
            task(processing=1.0, sojourn_ms=0.2, parse_json=True),
            ["2 instances", "1k cycles", "waits 200 µs", "parses JSON"],
        ),
        (
            task(processing=1.0, batch_ms=30.0),
            ["2 instances", "1k cycles", "waits 30 ms per micro-batch"],
        ),
        (task(processing=1.0, window=TaskWindow("tumbling", 10, 10)), ["2 instances", "1k cycles", "10 s windows"]),
        (
            task(processing=1.0, window=TaskWindow("sliding", 10, 2, "value")),
            ["2 instances", "1k cycles", "10 s windows every 2 s per value"],
        ),
        (source(), ["1 instance", "1k/s", "100 values of 8 characters"]),
        (source(Flow(rate_per_s=0.0)), ["1 instance", "as fast as possible", "100 values of 8 characters"]),
        (
            source(Flow("sin", 2000.0), distribution="zipf"),
            ["1 instance", "sine to 2k/s", "100 values of 8 characters", "Zipf 1"],
        ),
        (Source("s", 1, Data(), Flow(), SourceTopic("broker:9092", name="clicks")), ["1 instance", "topic clicks"]),
    ],
)
def test_a_box_says_what_a_component_does(component, facts):
    sources = (component,) if isinstance(component, Source) else (source(),)
    tasks = (component,) if isinstance(component, PrototypeTask) else (task(),)
    assert component_facts(component, Costs(Application("a", "pipeline", sources, tasks))) == facts


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (source(), "1k/s all the time"),
        (source(Flow(rate_per_s=0.0)), "as fast as possible: all tuples are there at once"),
        (
            source(Flow("sin", 1000.0, phase_s=60.0)),
            "swings between 0 and 1k/s as a sine, once in 60 s; 500/s on average",
        ),
        (source(Flow("sawtooth", 1000.0)), "rises from 0 to 1k/s in 300 s, drops, and begins again; 500/s on average"),
        (
            source(Flow("revsawtooth", 1000.0, offset_s=5.0)),
            "falls from 1k/s to 0 in 300 s, jumps back, and begins again; 500/s on average; begins 5 s into its phase",
        ),
        (
            source(Flow("burst", 1000.0, interval_s=15.0, duration_s=5.0)),
            "1k/s for 15 s, then 10k/s for 5 s, again and again; 3.25k/s on average",
        ),
        (source(Flow(rate_scope="instance"), 3), "3k/s all the time; 3 instances with 1k/s each"),
        (
            Source("s", 1, Data(), Flow(), SourceTopic("broker:9092", name="clicks")),
            "whatever topic clicks at broker:9092 holds",
        ),
    ],
)
def test_the_arrival_law_is_told_in_words(made, words):
    assert arrival_words(made) == words


@pytest.mark.parametrize(
    ("tasks", "ns_per_cycle", "text"),
    [
        ([task(processing=4.5)], None, "4.5k cycles per tuple of the source"),
        ([task(processing=4.5)], 2.0, "4.5k cycles = 9 µs of one core per tuple of the source"),
        ([task(processing=0.0)], None, "no load per tuple of the source"),
        (
            [task(processing=4.5), replace(task(processing_us=3.0), name="u")],
            None,
            "4.5k cycles and 3 µs of one core per tuple of the source",
        ),
        (
            [task(processing=4.5), replace(task(processing_us=3.0), name="u")],
            2.0,
            "12 µs of one core per tuple of the source",
        ),
        (
            [task(processing=4.5, sojourn_ms=1.0, parse_json=True)],
            None,
            "4.5k cycles per tuple of the source; not counted: waiting and parsing JSON",
        ),
        ([task(processing=4.5, batch_ms=9.0)], None, "4.5k cycles per tuple of the source; not counted: waiting"),
    ],
)
def test_the_load_of_a_tuple_is_that_of_all_tasks(tasks, ns_per_cycle, text):
    application = Application("a", "pipeline", (source(),), tuple(tasks))
    assert total_load_text(Costs(application, ns_per_cycle)) == text


def test_rooms_are_tried_from_the_widest_on():
    assert list(ROOMS) == sorted(ROOMS, reverse=True)
