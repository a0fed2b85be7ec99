import pytest

from streamgauge.errors import UsageError
from streamgauge.settings.run_settings import parse_settings


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("rate", "abc"),
        ("rate", "0"),
        ("rate", "-5"),
        ("rate", "2G"),
        ("duration", "5 sek"),
        ("duration", "30"),
        ("duration", "0s"),
        ("duration", "999ms"),
        ("duration", "31000h"),
        ("arrivals", "foo"),
        ("arrivals", ""),
        ("warmup", "-1s"),
        ("warmup", "x"),
        ("drain", "1 day"),
        ("trigger", "xx"),
        ("trigger", "-1ms"),
        ("cores", 0),
        ("cores", -1),
        ("cores", 1025),
        ("shuffle_partitions", 0),
        ("shuffle_partitions", 100_001),
        ("source_partitions", -3),
        ("max_rows_per_batch", "0"),
        ("max_rows_per_batch", "many"),
        ("max_rows_per_batch", "1.5"),
        ("seed", 2**63),
        ("seed", -(2**64)),
        ("source", "kafak"),
        ("sink", "foo"),
        ("mode", "realtime"),
        ("load", "closed"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_option(option, value):
    with pytest.raises(UsageError) as caught:
        parse_settings(**{option: value})
    assert caught.value.where == f"--{option.replace('_', '-')}"
    assert str(value) in caught.value.what
    assert caught.value.remedy


def test_cores_and_master_exclude_each_other():
    with pytest.raises(UsageError) as caught:
        parse_settings(cores=2, master="local[2]")
    assert "--cores" in str(caught.value)
    assert "--master" in str(caught.value)


def test_a_run_of_absurd_size_is_refused():
    with pytest.raises(UsageError, match="more than") as caught:
        parse_settings(rate="1G", duration="700h")
    assert caught.value.where == "--rate"


def test_everything_has_a_default():
    settings = parse_settings(cores=2)
    assert (settings.rate_per_s, settings.warmup_s, settings.duration_s) == (50_000.0, 10.0, 30.0)
    assert (settings.load_s, settings.drain_s, settings.trigger_s) == (40.0, 30.0, 0.0)
    assert (settings.source, settings.sink, settings.mode) == ("embedded", "noop", "micro-batch")
    assert settings.master == "local[2]"
    assert settings.verify


def test_text_and_numbers_mean_the_same():
    assert parse_settings(rate="2k", duration="1min", max_rows_per_batch="5k") == parse_settings(
        rate=2000, duration=60.0, max_rows_per_batch=5000
    )


def test_a_master_is_taken_as_it_is():
    assert parse_settings(master="spark://host:7077").master == "spark://host:7077"


@pytest.mark.parametrize(("trigger", "target_s"), [("0s", 3.0), ("1s", 3.0), ("5s", 10.0)])
def test_under_overload_a_batch_may_take_three_seconds_or_two_triggers(trigger, target_s):
    assert parse_settings(trigger=trigger).admission_target_s == target_s


def test_the_law_is_the_one_that_was_asked_for():
    law = parse_settings(rate="5k", arrivals="constant").law
    assert law.mean_rate_per_s() == 5000.0
    assert law.describe() == "constant(rate=5k)"


def test_the_stored_document_gives_the_same_settings_again():
    settings = parse_settings(rate="5k", conf={"spark.ui.enabled": "false"})
    assert type(settings)(**settings.document()) == settings


@pytest.mark.parametrize(("load", "rate_per_s"), [("open", 50_000.0), ("offline", 500_000.0), ("online", 500_000.0)])
def test_the_default_rate_fits_the_load(load, rate_per_s):
    assert parse_settings(load=load).rate_per_s == rate_per_s
    assert parse_settings(load=load, rate="7k").rate_per_s == 7000.0


def test_an_offline_load_may_take_ten_times_as_long_as_its_events_span():
    assert parse_settings(load="offline", duration="20s", warmup="5s").deadline_s == 250.0
    assert parse_settings(load="offline", duration="20s", warmup="5s", drain="10min").deadline_s == 600.0
    assert (
        parse_settings(load="open", drain="7s").deadline_s
        == parse_settings(load="online", drain="7s").deadline_s
        == 7.0
    )
