import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.events.hibench import HibenchEvents
from streamgauge.events.stream import Parameters
from streamgauge.workloads.parameters import describe_parameters, parse_parameters
from streamgauge.workloads.ysb.ysb import YsbParameters


def parse(values, model=YsbParameters):
    return parse_parameters(model, values, owner="ysb")


def test_parameters_are_read_from_text_as_from_values():
    text = parse({"campaigns": "7", "skew": "true", "draws": "random", "window_s": "5"})
    assert text == parse({"campaigns": 7, "skew": True, "draws": "random", "window_s": 5})
    assert (text.campaigns, text.skew, text.draws, text.ads) == (7, True, "random", 70)


def test_what_is_not_given_has_its_default():
    assert parse({}) == YsbParameters()


def test_an_unknown_parameter_gets_the_closest_name():
    with pytest.raises(UsageError) as caught:
        parse({"capaigns": "3"})
    assert caught.value.what == 'ysb has no parameter "capaigns"'
    assert caught.value.where == "--set"
    assert caught.value.remedy == "did you mean `campaigns`?"
    assert caught.value.exit_code == 2


def test_all_unknown_parameters_are_named_at_once():
    with pytest.raises(UsageError, match='"capaigns", "scew"'):
        parse({"capaigns": "3", "scew": "true"})


def test_a_model_without_parameters_says_so():
    with pytest.raises(UsageError) as caught:
        parse({"x": 1}, Parameters)
    assert caught.value.remedy == "ysb has no parameters"


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ({"campaigns": "0"}, "campaigns: whole number 1 to 1,000,000"),
        ({"campaigns": "1000001"}, "campaigns: whole number 1 to 1,000,000"),
        ({"campaigns": "3.5"}, "campaigns: whole number 1 to 1,000,000"),
        ({"campaigns": ""}, "campaigns: whole number 1 to 1,000,000"),
        ({"window_s": "10s"}, "window_s: whole number 1 to 3,600"),
        ({"draws": "zufall"}, "draws: deterministic, random"),
        ({"skew": "perhaps"}, "skew: true, false"),
    ],
)
def test_l5_a_value_outside_its_domain_is_refused_with_the_domain(values, domain):
    with pytest.raises(InvalidExperimentError) as caught:
        parse(values)
    ((name, value),) = values.items()
    assert caught.value.what == f'{name}="{value}" is outside its domain'
    assert caught.value.where == "--set"
    assert caught.value.remedy == domain
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("value", ["nan", "inf", "-0.1", "3.1", "x"])
def test_a_number_that_is_not_finite_is_outside_every_domain(value):
    with pytest.raises(InvalidExperimentError) as caught:
        parse({"zipf": value}, HibenchEvents)
    assert caught.value.remedy == "zipf: number 0.0 to 3.0"


def test_all_mistakes_are_shown_at_once():
    with pytest.raises(InvalidExperimentError) as caught:
        parse({"campaigns": "0", "ads_per_campaign": "101", "skew": "true"})
    assert caught.value.what == 'campaigns="0" is outside its domain; ads_per_campaign="101" is outside its domain'
    assert caught.value.remedy.count("whole number") == 2


def test_descriptions_list_parameters_in_their_order():
    described = describe_parameters(YsbParameters)
    assert [p.name for p in described][:3] == ["campaigns", "ads_per_campaign", "draws"]
    assert described[0].default == 100
    assert described[0].domain == "whole number 1 to 1,000,000"
