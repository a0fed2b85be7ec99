"""The reference page tells all there is, and its numbers are those of the rules."""

import re
from pathlib import Path

import pytest

from streamgauge.prototype import read_application
from streamgauge.prototype.file.document import LIMITS, OLDER_ROOTS
from streamgauge.prototype.file.rules import filter_level, spread_parallelism, spread_work
from streamgauge.prototype.file.vocabulary import ANY_TASK, DATA, DATASTREAM, FLOW, WINDOWING, WORKFLOW, Group, Key

from .test_document import EXAMPLES

PAGE = (Path(__file__).parents[2] / "docs/reference/prototype-file.md").read_text()


def section(title: str) -> str:
    """Return a part of the page, from its title to the next one of the same or a higher level."""
    level = len(title) - len(title.lstrip("#"))
    body = PAGE[PAGE.index(f"\n{title}\n") + 1 + len(title) :]
    return re.split(rf"^#{{1,{level}}} ", body, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables, without heads and lines."""
    found = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in found if not set("".join(cells)) <= set("-| ")]


def keys(group: Group, before: str = "") -> dict[str, Key]:
    """Return the keys of a group by their path; windows and streams have tables of their own."""
    found: dict[str, Key] = {}
    for member in group.members:
        if isinstance(member, Key):
            found[before + member.name] = member
        elif member not in (DATA, FLOW, WINDOWING) or before == ".":
            found |= keys(member, f"{before}{member.name}.")
    return found


EXTERNAL = DATASTREAM.group("external")
TABLES = [
    (
        "## What sources emit",
        {f"{group.name}.{name}": key for group in (DATA, FLOW) for name, key in keys(group).items()},
    ),
    ("### A topic instead", keys(Group("", "", (EXTERNAL.group("kafka"),)))),
    ("## Workflow", keys(WORKFLOW)),
    ("## Pipeline", {name: key for name, key in keys(ANY_TASK).items() if "." not in name and name != "type"}),
    ("## Windows", {f"windowing.{name}": key for name, key in keys(WINDOWING).items()}),
]


@pytest.mark.parametrize(("title", "expected"), TABLES, ids=[title.strip("# ") for title, _ in TABLES])
def test_every_key_has_a_row_with_its_default_and_extensions_are_marked(title, expected):
    found = {row[0].strip("`"): row for row in rows(section(title)) if row[0].startswith("`")}
    assert set(expected) <= set(found)
    for name, key in expected.items():
        value, default, meaning = found[name][-3:]
        shown = "" if key.default is None else str(key.default).lower() if key.kind == "flag" else str(key.default)
        assert default.strip("`") == shown
        assert meaning.startswith("extension:") == key.is_ours
        assert all(f"`{choice}`" in value for choice in key.choices)
        assert all(f"`{choice}` is an extension" in meaning for choice in key.our_choices)


def test_the_tables_of_instances_are_those_of_the_rules():
    body = rows(section("### Instances"))
    table = [row for row in body if row[0].isdigit() and len(row) == 6]
    assert len(table) == 7
    for components, total, *spreads in table:
        for balancing, spread in zip(("balanced", "increasing", "decreasing", "pyramid"), spreads, strict=True):
            assert " ".join(map(str, spread_parallelism(int(total), int(components), balancing))) == spread
    head, spread = body[-2:]
    for variabilities, text in zip(head[1:], spread[1:], strict=True):
        for variability in map(float, variabilities.split(" to ")):
            assert " ".join(map(str, spread_parallelism(18, 5, "increasing", variability))) == text


def test_the_table_of_loads_is_that_of_the_rules():
    table = [row for row in rows(section("### Load")) if row[0].startswith("`")]
    assert len(table) == 4
    for balancing, *loads in table:
        assert tuple(map(float, loads)) == spread_work(10.0, 4, balancing.strip("`"))


def test_the_table_of_levels_is_that_of_the_rules():
    depths, filters, windows = (row[1:] for row in rows(section("### Which level filters, which task windows")))
    assert [filter_level(int(depth)) for depth in depths] == list(map(int, filters))
    for depth, level in zip(depths, windows, strict=True):
        application = read_application(f"workflow: {{depth: {depth}, windowing: {{enabled: true}}}}", name="some.yaml")
        assert [task.level for task in application.tasks if task.window] == [int(level)]


def test_every_obsolete_name_is_listed():
    page = section("## Files written for NAMB")
    groups = (DATA, FLOW, WORKFLOW, ANY_TASK)
    older = [name for group in groups for key in keys(group).values() for name in (*key.older, *key.older_values)]
    assert {"reliable", "resizedata", "sinusoidal"} <= set(older)
    assert [name for name in (*older, *OLDER_ROOTS) if name not in page] == []


def test_limits_of_the_page_are_those_of_the_reader():
    for number in (LIMITS.size_bytes, LIMITS.lines, LIMITS.values, LIMITS.levels):
        assert f"{number:,} " in section("## Mistakes")


def test_the_example_of_the_page_is_the_word_count_of_the_examples():
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    shown = read_application(example, name="wordcount.yaml")
    ready = read_application((EXAMPLES / "wordcount.yaml").read_text(), name="wordcount.yaml")
    assert (shown.sources, shown.tasks) == (ready.sources, ready.tasks)


def test_the_examples_of_the_page_exist():
    (sentence,) = [line for line in PAGE.splitlines() if line.startswith("Ready prototypes are ")]
    assert set(re.findall(r"`([\w-]+)`", sentence)) == {path.stem for path in Path(EXAMPLES).glob("*.yaml")}
