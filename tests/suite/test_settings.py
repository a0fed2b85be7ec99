"""The settings of a suite are those of a run: same names, same defaults, same limits."""

import inspect

import pytest

from streamgauge.arrivals.notation import MAX_SEED
from streamgauge.errors import UsageError
from streamgauge.experiment.settings import parse_settings
from streamgauge.located import Place, Scalar, read_value
from streamgauge.suite.settings import GROUPS, SETTINGS

# A file that is shared does not say where servers are and how to log in.
NOT_IN_SUITES = {"kafka", "format", "kafka_options", "external_load", "redis", "explore"}
PARAMETERS = inspect.signature(parse_settings).parameters


def scalar(text: str) -> Scalar:
    return Scalar(text, read_value(text), Place(1, 1))


def test_a_suite_knows_the_settings_of_a_run():
    of_a_run = {*PARAMETERS, "events", "set"} - NOT_IN_SUITES
    assert {*SETTINGS, *GROUPS} == of_a_run


def test_defaults_are_those_of_a_run():
    known = {name: s.default for name, s in SETTINGS.items() if s.default is not None}
    assert known == {name: PARAMETERS[name].default for name in known}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("cores", text) for text in ("0", "1", "1024", "1025")),
        *(("shuffle_partitions", text) for text in ("0", "1", "100000", "100001")),
        *(("source_partitions", text) for text in ("0", "1", "100000", "100001")),
        *(("seed", str(seed)) for seed in (MAX_SEED, MAX_SEED + 1, -MAX_SEED, -MAX_SEED - 1)),
        *(("duration", text) for text in ("0", "1s", "999ms", "31 h", "1000 h")),
        *(("warmup", text) for text in ("0", "1", "0s", "-1s")),
        *(("rate", text) for text in ("0", "1G", "1.1G", "10k/s", "k")),
        *(("load", text) for text in ("open", "offline", "online", "closed")),
        *(("max_rows_per_batch", text) for text in ("0", "1", "1.5", "20k", "1.5k")),
    ],
)
def test_a_run_takes_what_a_suite_takes_and_refuses_what_it_refuses(name, text):
    setting = SETTINGS[name]
    try:
        parse_settings(**{name: int(text) if setting.kind == "whole" else text})
    except UsageError:
        with pytest.raises(UsageError):
            setting.read(scalar(text))
    else:
        parse_settings(**{name: setting.read(scalar(text))})
