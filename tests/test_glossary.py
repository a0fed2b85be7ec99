"""The glossary has an entry for every noun of the public API and of run.json."""

import re
from pathlib import Path

import pytest

import streamgauge
from made_runs.samples import evidence
from made_runs.stored_runs import store_run
from streamgauge.conclude.summary import summarise

TEXT = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text()
TERMS = {term.strip().lower() for found in re.findall(r"^\*\*([^*]+)\*\*", TEXT, re.M) for term in found.split(",")}
UNITS = re.compile(r"_(per_s|s|us|bytes)$")
# Verbs and the words for "all of them" or "one of them" in front of a noun.
VERBS = {"attach", "compare", "examine", "fit", "generate", "list", "load", "make", "open", "predict", "run", "verify"}
VERBS |= {"all", "import", "repeat", "result", "sustain"}
VERSION = "__version__"


def nouns(name: str) -> str:
    """Return the words of a name without verbs, in the singular and without a unit."""
    words = re.findall(r"[A-Z]?[a-z]+", UNITS.sub("", name))
    kept = [word.lower() for word in words if word.lower() not in VERBS]
    return " ".join(kept)


def has_entry(name: str, terms: set[str] = TERMS, text: str = TEXT) -> bool:
    noun = nouns(name)
    singular = re.sub(r"s$", "", noun)
    return not noun or f"`{name}`" in text or bool({noun, singular} & terms)


def run_json(folder: Path) -> list[str]:
    return sorted({*store_run(folder, evidence()).document, *summarise(evidence())})


@pytest.mark.parametrize("name", sorted(set(streamgauge.__all__) - {VERSION}))
def test_the_glossary_has_every_noun_of_the_public_api(name):
    assert has_entry(name)


def test_the_glossary_has_every_noun_of_run_json(tmp_path):
    assert [name for name in run_json(tmp_path) if not has_entry(name)] == []


def test_a_noun_without_an_entry_is_noticed():
    assert has_entry("Comparisons", {"comparison"}, "")
    assert not has_entry("Comparisons", {"verdict"}, "")
    assert has_entry("core_use", set(), "as in `core_use`")
