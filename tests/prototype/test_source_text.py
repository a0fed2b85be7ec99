"""The source of functions with all that they use, and nothing else."""

import ast
from pathlib import Path

import pytest

from streamgauge.prototype.source_text import SourceText, names_of, used_names

MODULE = "streamgauge.prototype.runtime"


def source_of(name: str, module: str = MODULE) -> SourceText:
    found = SourceText()
    found.add(module, name)
    return found


def defined(found: SourceText) -> list[str]:
    return [ast.parse(text).body[0].name for text in found.functions]


def test_a_function_comes_after_those_that_it_calls():
    assert defined(source_of("by_value")) == ["value_instance", "by_value"]


def test_functions_of_other_modules_of_the_package_are_part_of_the_text():
    found = source_of("zipf_index")
    assert {"draw_in_slots", "slot_widths", "pick", "zipf_borders"} < set(defined(found))
    assert "SLOTS = 4096" in "\n".join(found.constants)
    assert "streamgauge" not in "\n".join([found.import_lines(), *found.constants, *found.functions])


def test_imports_inside_functions_come_to_the_top_and_annotations_lose_their_quotes():
    (text,) = source_of("divide", "streamgauge.events.columns").functions
    assert text.startswith("def divide(dividend: Column, divisor: int | Column) -> Column:\n")
    assert "import" not in text
    assert source_of("divide", "streamgauge.events.columns").import_lines().splitlines() == [
        "",
        "from pyspark.sql import Column",
        "from pyspark.sql import functions as F",
    ]


def test_a_constant_keeps_the_comment_above_it_and_comes_once():
    found = SourceText()
    for name in ("INDEX", "SOURCE"):
        found.add("streamgauge.prototype.graph.values", name)
    assert found.constants == ["# What sources and tasks draw numbers for.\nINDEX, SOURCE, ARRIVAL = 1, 2, 3"]


def test_a_variable_with_the_name_of_a_function_is_not_that_function():
    assert used_names(ast.parse("def f(text):\n    number = text\n    return number")) == []


@pytest.mark.parametrize("name", sorted(names_of(MODULE)))
def test_every_function_of_the_runtime_can_stand_alone(name):
    found = source_of(name)
    text = "\n\n".join([found.import_lines(), *found.constants, *found.functions]) if found.functions else ""
    namespace: dict[str, object] = {}
    exec(compile(text, str(Path(name)), "exec"), namespace)
    free = {used for node in ast.parse(text).body for used in used_names(node)}
    assert free <= {*namespace, *dir(__builtins__), *__builtins__}
