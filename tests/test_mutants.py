"""The script that plants faults: what it changes, and that its list of reviewed mutants is about code that exists."""

import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "mutants"


@pytest.fixture(scope="module")
def mutants():
    loader = importlib.machinery.SourceFileLoader("mutants_script", str(SCRIPT))
    spec = importlib.util.spec_from_loader("mutants_script", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants_script"] = module
    loader.exec_module(module)
    return module


TEXT = '''"""About `a < b`."""
LIMIT = 5


def cut(values: list[int], first: int = 2) -> list[int] | None:
    """Return what is not below 3."""
    if not values and first < LIMIT:
        return None
    total = -first + 1
    total += 2
    return values[total:]
'''


def changed_lines(mutants, tmp_path, monkeypatch, text):
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    path = tmp_path / "cut.py"
    path.write_text(text)
    return mutants.mutants_of(path)


def test_every_mutant_is_a_program_with_one_change(mutants, tmp_path, monkeypatch):
    found = changed_lines(mutants, tmp_path, monkeypatch, TEXT)
    for mutant in found:
        compile(mutant.text, mutant.file, "exec")
        differ = [a for a, b in zip(TEXT.splitlines(), mutant.text.splitlines(), strict=True) if a != b]
        assert differ == [mutant.before]
    assert len({mutant.text for mutant in found}) == len(found)


def test_conditions_signs_constants_slices_and_results_are_changed(mutants, tmp_path, monkeypatch):
    after = {mutant.after.strip() for mutant in changed_lines(mutants, tmp_path, monkeypatch, TEXT)}
    assert {
        "def cut(values: list[int], first: int = 3) -> list[int] | None:",
        "if (not values or first < LIMIT):",
        "if not values and (first <= LIMIT):",
        "if not values and (first >= LIMIT):",
        "if values and first < LIMIT:",
        "total = first + 1",
        "total = (-first - 1)",
        "total = -first + 2",
        "total -= 2",
        "return values[(total + 1):]",
        "return None",
    } <= after


def test_texts_annotations_and_constants_of_modules_stay(mutants, tmp_path, monkeypatch):
    before = {mutant.before for mutant in changed_lines(mutants, tmp_path, monkeypatch, TEXT)}
    assert not [line for line in before if "LIMIT = 5" in line or "About" in line or "below" in line]


OWNER = """from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Cut:
    first: int = 2

    @property
    def doubled(self):
        return self.first * 3


@cache
def wrapped(value, factor=7):
    return value + factor
"""


@pytest.mark.parametrize(
    ("after", "value"),
    [
        ("first: int = 3", (3, 9, 8)),
        ("return (self.first / 3)", (2, 2 / 3, 8)),
        ("return (value - factor)", (2, 6, -6)),
        ("def wrapped(value, factor=8):", (2, 6, 9)),
    ],
)
def test_a_planted_mutant_changes_what_others_have_imported(mutants, tmp_path, monkeypatch, after, value):
    path = tmp_path / "measure" / "cut.py"
    path.parent.mkdir()
    path.write_text(OWNER)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    real = types.ModuleType("streamgauge.measure.cut")
    real.__file__ = str(path)
    monkeypatch.setitem(sys.modules, real.__name__, real)
    exec(compile(OWNER, str(path), "exec"), vars(real))
    cut, wrapped = real.Cut, real.wrapped
    assert (cut().first, cut().doubled, wrapped(1)) == (2, 6, 8)
    (mutant,) = [mutant for mutant in mutants.mutants_of(path) if mutant.after.strip() == after]
    mutants.plant(mutant)
    mutants.forget()
    assert (cut().first, cut().doubled, wrapped(1)) == value


def test_tests_are_chosen_by_the_function_that_is_changed(mutants, tmp_path, monkeypatch):
    path = tmp_path / "cut.py"
    path.write_text(OWNER)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    lines = {mutant.after.strip(): mutants.lines_around(mutant) for mutant in mutants.mutants_of(path)}
    assert lines["return (self.first / 3)"] == range(9, 12)
    assert lines["return (value - factor)"] == range(14, 17)
    # A default may be used by any test.
    assert 1 in lines["first: int = 3"]
    assert 1 in lines["def wrapped(value, factor=8):"]


def test_reviewed_mutants_exist_and_have_a_reason(mutants):
    existing = {mutant.key for mutant in mutants.all_mutants(mutants.PACKAGES)}
    known = mutants.reviewed()
    assert not [key for key in known if key not in existing], "the line has changed: review the mutant again"
    assert all(known.values())


def test_a_test_that_makes_a_dataclass_uses_its_defaults(mutants, tmp_path, monkeypatch):
    path = tmp_path / "cut.py"
    path.write_text(OWNER)
    real = types.ModuleType("streamgauge.measure.cut")
    real.__file__ = str(path)
    monkeypatch.setitem(sys.modules, real.__name__, real)
    exec(compile(OWNER, str(path), "exec"), vars(real))
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    monkeypatch.setattr(mutants, "forget", lambda: None)
    monkeypatch.setattr(mutants, "passes", lambda _item: real.Cut().first == 2)
    (default,) = [mutant for mutant in mutants.mutants_of(path) if mutant.after.strip() == "first: int = 3"]
    known = mutants.known_of(None)
    assert known.passed
    assert any(file == "cut.py" and line in mutants.lines_around(default) for file, line in known.called)
