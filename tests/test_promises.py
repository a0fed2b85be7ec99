"""Every numbered promise of "How it measures" has a test that is named after it: `test_l1_…` holds promise L1."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "how-it-measures.md"

# How many promises there are of each kind: load, time, throughput, statistics, output, faults, evidence, models, tool.
NUMBERS = {"L": 5, "T": 6, "C": 5, "S": 7, "V": 4, "F": 7, "E": 7, "M": 5, "K": 8}
PROMISES = [f"{kind}{number}" for kind, last in NUMBERS.items() for number in range(1, last + 1)]

NOT_REQUIRED = {
    "S6": "no history of results is kept yet",
    "K4": "there is no REST interface yet",
    "K7": "the own overhead is measured by the benchmarks, which take too long for a test",
    "K8": "a soak of one hour takes too long for a test",
}
REQUIRED = [promise for promise in PROMISES if promise not in NOT_REQUIRED]


def numbered_tests(text: str) -> list[tuple[str, str]]:
    """Return the promise and the name of every numbered test function of a module, nested ones included."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    found = [(re.match(r"test_([a-z]\d+)_.", function.name), function.name) for function in functions]
    return [(match[1].upper(), name) for match, name in found if match]


def held() -> dict[str, list[str]]:
    """Return the tests of each promise as FILE::NAME; NEXMark's queries have numbers of their own."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for promise, name in numbered_tests(path.read_text(encoding="utf-8")):
            if promise[0] in NUMBERS:
                found.setdefault(promise, []).append(f"{path.relative_to(TESTS)}::{name}")
    return found


HELD = held()


def rows_of_the_page() -> dict[str, str]:
    """Return the table of promises: the rest of the row by its number."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## Promises and their tests")
    return dict(re.findall(r"^\| ([A-Z]\d) \| (.+) \|$", table, re.MULTILINE))


def test_the_walk_over_tests_sees_numbered_functions_and_no_others():
    text = (
        "def test_l1_of_a_module(): pass\n"
        "class TestAll:\n    async def test_k12_of_a_class(self): pass\n"
        "def test_plain(): pass\n"
        "def test_s3(): pass\n"
        "def helper_t1_of_nothing(): pass\n"
        "NAME = 'test_c1_in_a_text'\n"
    )
    assert sorted(numbered_tests(text)) == [("K12", "test_k12_of_a_class"), ("L1", "test_l1_of_a_module")]


@pytest.mark.parametrize("promise", REQUIRED)
def test_a_promise_has_a_test(promise):
    assert promise in HELD, f"no test is named test_{promise.lower()}_…"


def test_no_test_names_a_promise_that_was_never_made():
    assert {promise: HELD[promise] for promise in HELD if promise not in PROMISES} == {}


def test_what_is_not_required_is_a_promise_and_says_why():
    assert set(NOT_REQUIRED) <= set(PROMISES)
    assert all(NOT_REQUIRED.values())


def test_the_page_lists_every_promise_with_tests_that_exist():
    rows = rows_of_the_page()
    assert list(rows) == PROMISES
    known = {name.rpartition("::")[0] for names in HELD.values() for name in names}
    for promise, row in rows.items():
        files = re.findall(r"`tests/([^`]+)`", row)
        assert set(files) <= known, promise
        missing = [file for file in files if not any(name.startswith(f"{file}::") for name in HELD.get(promise, ()))]
        assert missing == [], f"{promise} has no test there"
        assert bool(files) == (promise in HELD), promise
