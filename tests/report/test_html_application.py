"""The application of a run in the HTML report."""

import re

import pytest

from made_runs.stored_runs import store_run
from prototype.graphs import DIAMOND, SKIPPING, STAR, edges, graph
from report.rendered import render_markdown
from report.test_html_report import HOSTILE, Page, healthy_evidence, page
from streamgauge.bundle import FOLDER
from streamgauge.prototype import load_application
from streamgauge.prototype.graph.costs import Costs
from streamgauge.report.html.application import (
    ARROW,
    MAX_LEVELS_ACROSS,
    Drawing,
    application_part,
    draw_application,
)
from streamgauge.report.html.page import environment

EXAMPLES = FOLDER / "prototypes"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
DIRECTIONS = ("across", "down")


@pytest.fixture(scope="module")
def text():
    return (EXAMPLES / "diamond.yaml").read_text()


def stored(tmp_path, text, **parameters):
    return store_run(
        tmp_path / "runs",
        healthy_evidence(),
        workload="diamond.yaml",
        configuration={"parameters": {"load_form": "native", "application": text, "ns_per_cycle": None} | parameters},
    )


def corners(box):
    return box.x, box.y, box.x + box.width, box.y + box.height


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_the_markdown_report_has_components_and_stages_too(tmp_path, text):
    lines = render_markdown([stored(tmp_path, text)]).splitlines()
    start = lines.index("## Application")
    assert any(line.startswith("| task_1 |") for line in lines[start:])
    assert any(line.startswith("| stage 1 |") for line in lines[start:])
    plain = render_markdown([store_run(tmp_path / "plain", healthy_evidence())])
    assert "Application" not in plain
    broken = render_markdown([stored(tmp_path / "broken", "nonsense: 1")])
    assert "this version cannot read it" in broken


# The section


def test_the_report_of_a_prototype_has_its_graph_and_its_components(tmp_path, text):
    read = page(stored(tmp_path, text))
    section = read.all("section", "application")[0]
    assert [e["text"] for e in read.elements if e["tag"] == "h3" and e["text"] == "Application"] == ["Application"]
    drawings = read.all("svg", "graph")
    assert len(drawings) == 2
    for drawing in drawings:
        label = drawing["attributes"]["aria-label"]
        assert drawing["attributes"]["role"] == "img"
        for name in ("source", *(f"task_{k}" for k in range(1, 6))):
            assert f"{name}: 4 instances" in label
        assert "from task_1 and task_2 (balanced)" in label
    words = " ".join(section["text"].split())
    assert "depth 5 levels" in words
    assert "components 6: 1 source, 5 tasks" in words
    assert "stage 2 8 partitions: task_1 and task_2, then round robin to task_3" in words


def test_other_runs_have_no_application(tmp_path):
    other = store_run(
        tmp_path / "runs", healthy_evidence(), configuration={"parameters": {"application": "workflow: {}"}}
    )
    assert not page(other).all("section", "application")
    assert not page(store_run(tmp_path / "runs", healthy_evidence(), workload="gone.yaml")).all("svg", "graph")


@pytest.mark.parametrize("broken", ["pipeline: {tasks: []}", "", "workflow: {depth: many}", HOSTILE])
def test_a_file_that_cannot_be_read_is_told_in_words(tmp_path, broken):
    read = page(stored(tmp_path, broken))
    assert "this version cannot read it" in read.all("section", "application")[0]["text"]
    assert not read.all("svg", "graph")


def test_loads_are_shown_as_time_when_the_run_stored_the_cost_of_a_cycle(tmp_path, text):
    assert "3k cycles = 6 µs" in page(stored(tmp_path, text, ns_per_cycle=2.0)).all("svg", "graph")[0]["text"]
    assert "µs" not in page(stored(tmp_path, text)).all("section", "application")[0]["text"]


def test_warnings_of_the_file_are_told(tmp_path, text):
    read = page(stored(tmp_path, text.replace("workflow:", "dataflow:")))
    assert "obsolete name" in read.all("section", "application")[0]["text"]


def test_the_command_that_repeats_the_run_leaves_out_what_nobody_can_set(tmp_path, text):
    code = " ".join(e["text"] for e in page(stored(tmp_path, text, load_form="arrow")).all("code"))
    assert "streamgauge run diamond.yaml" in code
    assert "--set load_form=arrow" in code
    assert "application" not in code
    assert "ns_per_cycle" not in code


def test_the_graph_needs_no_other_file_and_no_script(tmp_path, text):
    read = page(stored(tmp_path, text))
    inside = [e for e in read.elements if "svg" in e["parents"] or e["tag"] == "svg"]
    assert {e["tag"] for e in inside} <= {"svg", "g", "path", "rect", "text", "title"}
    assert not [e for e in inside if any(name.startswith("on") for name in e["attributes"])]
    assert not [e for e in inside if {"style", "fill", "stroke", "href"} & set(e["attributes"])]


def test_names_are_shown_as_they_are():
    application = graph(("t", "s"))
    hostile = type(application)(
        HOSTILE,
        "pipeline",
        application.sources,
        (type(application.tasks[0])(HOSTILE, 1, ("s",), level=2),),
        warnings=(HOSTILE,),
    )
    template = environment().from_string(
        '{% from "application.jinja" import application %}{{ application(part, "a") }}'
    )
    read = Page(f"<body>{template.render(part=application_part(Costs(hostile)))}</body>")
    assert not read.all("script")
    assert HOSTILE in read.words()


# The drawing


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("application", [DIAMOND, STAR, SKIPPING])
def test_boxes_are_inside_and_do_not_overlap(application, direction):
    drawn = draw_application(Costs(application), direction)
    for k, box in enumerate(drawn.boxes):
        left, top, right, bottom = corners(box)
        assert left >= 0 <= top
        assert right <= drawn.width
        assert bottom <= drawn.height
        assert not any(overlap(corners(box), corners(other)) for other in drawn.boxes[:k])


def touched(drawn: Drawing, x: float, y: float) -> set[str]:
    near = ARROW + 0.1
    return {
        box.name
        for box in drawn.boxes
        if box.x - near <= x <= box.x + box.width + 0.1 and box.y - near <= y <= box.y + box.height + 0.1
    }


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("application", [DIAMOND, STAR])
def test_lines_begin_and_end_at_the_boxes_that_they_connect(application, direction):
    drawn = draw_application(Costs(application), direction)
    found = set()
    for line in drawn.lines:
        numbers = [float(number) for number in NUMBER.findall(line)]
        (parent,), (child,) = touched(drawn, *numbers[:2]), touched(drawn, *numbers[-2:])
        found.add((parent, child))
    assert found == edges(application)


def test_a_line_passes_a_level_without_touching_a_box():
    drawn = draw_application(Costs(SKIPPING), "down")
    passes = [line for line in drawn.lines if "L" in line]
    assert len(passes) == 4
    for line in passes:
        x, top, _, bottom = (float(number) for number in NUMBER.findall(line))
        assert top < bottom
        assert not touched(drawn, x, (top + bottom) / 2)


def test_levels_go_across_on_a_wide_screen_and_down_on_a_narrow_one():
    across, down = (draw_application(Costs(DIAMOND), direction) for direction in DIRECTIONS)
    assert across.width > across.height
    assert down.height > down.width
    assert [box.x for box in across.boxes] == sorted(box.x for box in across.boxes)
    assert [box.y for box in down.boxes] == sorted(box.y for box in down.boxes)


def test_a_deep_graph_goes_down_on_every_screen():
    names = "abcdefghijk"[:MAX_LEVELS_ACROSS]
    deep = graph(*zip(names, "s" + names, strict=False))
    drawings = application_part(Costs(deep)).drawings
    assert [(drawing.direction, drawing.is_only) for drawing in drawings] == [("down", True)]


def test_the_bar_of_a_component_is_its_part_of_the_largest_load():
    drawn = draw_application(Costs(load_application(EXAMPLES / "diamond.yaml")), "across")
    shares = {box.name: box.share for box in drawn.boxes}
    # The join gets every tuple twice, and twice 1,920 cycles are the most.
    assert shares["task_3"] == 1.0
    assert shares["task_1"] == pytest.approx(3000 / 3840)
    assert shares["source"] == 0.0


def test_a_long_name_is_cut_in_the_box_and_whole_in_its_title():
    application = graph(("t", "s"))
    long = type(application)(
        "x", "pipeline", application.sources, (type(application.tasks[0])("n" * 60, 1, ("s",), level=2),)
    )
    box = draw_application(Costs(long), "down").boxes[1]
    assert box.name.endswith("…")
    assert box.title.startswith("n" * 60)
