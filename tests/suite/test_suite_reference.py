"""The reference page tells all there is."""

import re
from pathlib import Path

from streamgauge.suite import METRICS, load_suite, read_suite
from streamgauge.suite.reading import FILE_KEYS, RUN_KEYS
from streamgauge.suite.settings import GROUPS, SETTINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/suite-file.md").read_text()
LINE = re.compile(r"^\| (.*?) \|", re.MULTILINE)


def listed_metrics() -> set[str]:
    """Return the metrics of the table, those that it lists as groups with members unfolded."""
    found = set()
    table = PAGE[PAGE.index("| metric | unit |") :].partition("\n\n")[0]
    for row in LINE.findall(table):
        names = re.findall(r"`([\w.]+)`", row)
        groups = [name for name in names if name.endswith(".")]
        members = [name for name in names if not name.endswith(".")]
        found |= {f"{group}{member}" for group in groups for member in members} if groups else set(members)
    return found


def test_every_metric_is_listed_and_no_other():
    assert listed_metrics() == set(METRICS)


def test_every_key_and_setting_has_a_row():
    rows = LINE.findall(PAGE)
    assert {f"`{name}`" for name in (*FILE_KEYS, *RUN_KEYS, *SETTINGS, *GROUPS)} <= set(rows)


def test_defaults_of_the_page_are_those_of_the_settings():
    for name, setting in SETTINGS.items():
        if setting.default is not None:
            (row,) = re.findall(rf"^\| `{name}` \| [^|]+ \| (.*?) \|$", PAGE, re.MULTILINE)
            assert row.strip("`") == str(setting.default).lower() or row.strip("`") == str(setting.default)


def test_the_example_of_the_page_can_be_read():
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert read_suite(example, name="example.yaml").size == 4 * 3 + 2


def test_the_ready_suites_of_the_page_exist():
    sentence = PAGE.splitlines()[3]
    named = set(re.findall(r"`(\w+)`", sentence)) - {"suites"}
    assert named == {load_suite(path).name for path in (ROOT / "suites").glob("*.yaml")}
