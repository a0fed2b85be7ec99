"""Texts of others are shown, never obeyed."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamgauge
from streamgauge.printable import echo, on_one_line, printable

PACKAGE = Path(streamgauge.__file__).parent


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[32mPASS\x1b[0m",
        "FAIL\rPASS",
        "FAIL\b\b\b\bPASS",
        "\x9b32mPASS",
        "\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
        "\x1b]0;title\x07",
        "\u202ePASS\u202c",
        "\u2066PASS\u2069",
        "a\u2028b",
        "half \udc9b",
        "\x00\x7f\u200b\ufeff",
    ],
)
def test_nothing_that_a_terminal_obeys_is_left(text):
    cleaned = printable(text)
    assert cleaned.isprintable()
    assert "\N{REPLACEMENT CHARACTER}" in cleaned
    cleaned.encode()


@pytest.mark.parametrize(
    "text",
    ["größe: 5 µs ≤ 1 s", "two\nlines\tand a tab", "👩\u200d💻", "\u0645\u06cc\u200c\u0634\u0648\u062f", "a\u00a0b"],
)
def test_what_people_write_stays_as_it_is(text):
    assert printable(text) == text


@given(st.text())
def test_cleaning_twice_changes_nothing_and_keeps_the_length(text):
    assert printable(printable(text)) == printable(text)
    assert len(printable(text)) == len(text)


@given(st.text())
def test_a_name_stays_on_its_line(text):
    assert len(on_one_line(text).splitlines()) <= 1


def test_what_is_printed_is_clean(capsys):
    echo("\x1b[2Jgone", err=True)
    echo("fine", nl=False)
    assert capsys.readouterr() == ("fine", "\N{REPLACEMENT CHARACTER}[2Jgone\n")


def _direct_prints(tree: ast.AST) -> list[str]:
    """Return the calls that reach the terminal on a way of their own."""
    ways = {"typer.echo", "print", "sys.stderr.write", "sys.stdout.write", "Console", "click.echo", "typer.secho"}
    return [
        ast.unparse(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ways
    ]


def test_the_search_for_direct_prints_finds_them():
    assert _direct_prints(ast.parse("typer.echo(name)\nConsole(stderr=True)\nout.print(x)\n")) == [
        "typer.echo",
        "Console",
    ]


def test_commands_and_reports_print_in_one_way():
    paths = [path for room in ("cli", "report") for path in sorted((PACKAGE / room).rglob("*.py"))]
    found = {str(p.relative_to(PACKAGE)): calls for p in paths if (calls := _direct_prints(ast.parse(p.read_text())))}
    # JSON escapes by itself.
    assert found == {"cli/options.py": ["typer.echo"]}
