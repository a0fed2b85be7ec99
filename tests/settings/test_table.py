"""One table: whatever offers settings has those of its rows, with their names, defaults and limits."""

import inspect
import json
import re
import runpy
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import streamgauge as sg
from streamgauge.bundle import FOLDER
from streamgauge.cli.load_options import help_text
from streamgauge.cli.main import app
from streamgauge.errors import UsageError
from streamgauge.lookup import USUAL_EVENTS
from streamgauge.predicting.calibrate import calibrate_model
from streamgauge.settings.run_settings import RunSettings, parse_settings
from streamgauge.settings.table import COMMANDS, GROUPS, KEYS, SETTINGS, refuse_unknown, renamed, settings_of
from streamgauge.store.run_document import _Configuration, problems_in
from streamgauge.units import MAX_SEED
from streamgauge.workloads.modes import MODES

ROOT = Path(__file__).parents[2]
WRITER = runpy.run_path(str(ROOT / "scripts/settings"))
FUNCTIONS = {
    "run": sg.run, "sustain": sg.sustain, "scale": sg.scale, "surge": sg.surge, "fault": sg.fault, "load": sg.load,
    "generate": sg.generate, "verify": sg.verify, "calibrate": calibrate_model,
}  # fmt: skip


def options(command: str) -> set[str]:
    """Return the options of a command, positive ones only."""
    tree = typer.main.get_command(app).commands
    found = tree["model"].commands[command] if command == "calibrate" else tree[command]
    return {name for parameter in found.params for name in parameter.opts if name.startswith("--")}


@pytest.mark.parametrize("path", WRITER["written"](), ids=lambda path: path.name)
def test_what_is_written_from_the_table_is_up_to_date(path):
    assert path.read_text() == WRITER["written"]()[path], "run scripts/settings"


def test_a_run_stores_every_setting_under_the_name_of_its_row():
    stored = {one.name for one in fields(RunSettings)}
    assert stored == {setting.field for name, setting in SETTINGS.items() if name not in ("cores", "parameters")}


def test_a_stored_run_is_checked_setting_by_setting_within_the_limits_of_the_table():
    known = {one.name for one in fields(RunSettings)} | {"parameters"}
    assert set(_Configuration.model_fields) == known
    for seed in (-MAX_SEED, MAX_SEED):
        assert problems_in({"configuration": parse_settings(seed=seed, cores=1).document()}) == []
    assert problems_in({"configuration": {"seed": MAX_SEED + 1}})


def test_defaults_of_a_stored_run_are_those_of_the_table():
    """Only `explore` differs: runs of versions that did not store it did not explore."""
    parsed = parse_settings(cores=1).document()
    defaults = {one.name: one.default for one in fields(RunSettings) if one.name in parsed}
    of_table = {setting.field: parsed[setting.field] for setting in SETTINGS.values() if setting.default is not None}
    assert {name: value for name, value in of_table.items() if name not in ("duration_s", "explore")} == {
        name: defaults[name] for name in of_table if name not in ("duration_s", "explore")
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_an_option_for_each_of_its_settings(command):
    assert {setting.option for setting in settings_of(command)} <= options(command)
    others = {setting.option for setting in SETTINGS.values()} - {setting.option for setting in settings_of(command)}
    own = {"scale": {"--cores", "--shuffle-partitions"}, "fault": {"--sink"}}
    assert others & options(command) == own.get(command, set())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_function_lists_each_of_its_settings_for_notebooks(command):
    parameters = inspect.signature(FUNCTIONS[command]).parameters
    assert {setting.name for setting in settings_of(command)} <= set(parameters)
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values())


def test_the_help_of_an_option_is_that_of_the_table():
    command = typer.main.get_command(app).commands["sustain"]
    shown = {parameter.opts[0]: parameter.help for parameter in command.params if parameter.opts[0].startswith("--")}
    assert shown["--duration"] == help_text(SETTINGS["duration"], "sustain")
    assert shown["--duration"].endswith("default 50s.")


def test_choices_that_other_rooms_name_are_those_of_the_table():
    assert SETTINGS["mode"].choices == MODES
    assert SETTINGS["events"].default_in_words() == f"`{USUAL_EVENTS}`"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("cores", value) for value in (0, 1, 1024, 1025, True, "2")),
        *(("shuffle_partitions", value) for value in (0, 1, 100_000, 100_001)),
        *(("seed", seed) for seed in (MAX_SEED, MAX_SEED + 1, -MAX_SEED, -MAX_SEED - 1)),
        *(("duration", text) for text in ("0", "1s", "999ms", "31 h", "1000 h")),
        *(("warmup", text) for text in ("0", "1", "0s", "-1s")),
        *(("rate", text) for text in ("0", "1G", "1.1G", "10k/s", "k")),
        *(("load", text) for text in ("open", "offline", "online", "closed")),
        *(("max_rows_per_batch", text) for text in ("0", "1", "1.5", "20k", "1.5k")),
        *(("verify", value) for value in (True, "yes")),
        *(("topic", value) for value in ("", 5)),
        *(("events", value) for value in ("ysb", "yzb")),
        *(("conf", value) for value in ({}, "spark.a=1")),
    ],
)
def test_a_row_and_a_run_agree_on_what_can_be_used(name, value):
    try:
        found = SETTINGS[name].read(value)
    except UsageError as refused:
        assert refused.where == SETTINGS[name].option
        assert refused.remedy
        with pytest.raises(UsageError):
            parse_settings(**{name: value})
    else:
        needed = {"source": "kafka"} if name == "topic" else {}
        assert parse_settings(**{name: found}, **needed) == parse_settings(**{name: value}, **needed)


def test_a_suite_file_has_no_addresses_and_no_logins():
    missing = {setting.name for setting in SETTINGS.values()} - {one.name for one in (KEYS | GROUPS).values()}
    assert missing == {"kafka", "record_format", "kafka_options", "external_load", "redis", "explore"}


# Old spellings


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("run", "latency", "timing"),
        ("run", "format", "record_format"),
        ("sustain", "latency", "limit"),
        ("load", "format", "record_format"),
        ("generate", "events", "count"),
        ("verify", "events", "count"),
        ("fault", "count", "length"),
    ],
)
def test_an_old_spelling_is_refused_in_python_with_the_new_one(command, old, new):
    assert renamed(command, old) == new
    with pytest.raises(UsageError, match=f"use {new}$") as caught:
        FUNCTIONS[command]("ysb", **{old: "1"})
    assert caught.value.exit_code == 2


def test_an_unknown_keyword_is_refused_with_the_closest_one():
    with pytest.raises(UsageError, match="did you mean `rate`"):
        sg.make_plan("ysb", rte="5k")
    with pytest.raises(UsageError, match='sustain has no setting "load"'):
        sg.sustain("ysb", load="offline")
    refuse_unknown("run", ["rate"], ["rate"])


# Editors and type checkers

SNIPPET = """
import streamgauge as sg

sg.run("ysb", rate="200k", duration=60.0, cores=2, timing="record", parameters={"campaigns": 3})
sg.sustain("ysb", limit="p99<1s", rate=5)
sg.generate("ysb", count="5k", seed=2)
sg.run("ysb", rte="200k")
sg.run("ysb", cores="2")
sg.run("ysb", timing="records")
sg.sustain("ysb", load="offline")
sg.verify(["ysb"], events=5)
reveal_type(sg.run("ysb").run_id)
"""


def test_a_type_checker_refuses_wrong_keywords_and_types(tmp_path):
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--follow-imports",
        "silent",
    ]
    result = subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "cache"), str(file)], capture_output=True, text=True, cwd=ROOT
    )
    lines = SNIPPET.splitlines()
    wrong = {int(number) for number in re.findall(r"snippet\.py:(\d+): error", result.stdout)}
    begin = lines.index('sg.run("ysb", rte="200k")') + 1
    assert wrong == set(range(begin, begin + 5)), result.stdout
    assert 'Revealed type is "str"' in result.stdout or 'Revealed type is "builtins.str"' in result.stdout


def test_the_package_lists_its_names_for_completion():
    assert set(sg.__all__) <= set(dir(sg))


def test_the_schema_in_the_repository_offers_every_key():
    document = json.loads((FOLDER / "suites/suite.schema.json").read_text())
    assert {*KEYS, *GROUPS} == set(document["properties"]["defaults"]["properties"])
