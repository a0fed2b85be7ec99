"""The reference page tells all there is."""

import re
from pathlib import Path

from streamgauge.bundle import FOLDER
from streamgauge.suite import load_suite, read_suite
from streamgauge.suite.reading import FILE_KEYS, RUN_KEYS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/suite-file.md").read_text()
LINE = re.compile(r"^\| (.*?) \|", re.MULTILINE)


def test_every_key_has_a_row():
    rows = LINE.findall(PAGE)
    assert {f"`{name}`" for name in (*FILE_KEYS, *RUN_KEYS)} <= set(rows)


def test_the_example_of_the_page_can_be_read():
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert read_suite(example, name="example.yaml").size == 4 * 3 + 2


def test_the_ready_suites_of_the_page_exist():
    sentence = PAGE.splitlines()[3]
    named = set(re.findall(r"`(\w+)`", sentence)) - {"suites"}
    assert named == {load_suite(path).name for path in (FOLDER / "suites").glob("*.yaml")}
