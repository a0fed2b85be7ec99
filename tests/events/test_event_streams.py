import pytest

from streamgauge.errors import UsageError
from streamgauge.events import event_stream, event_streams


def test_every_stream_has_a_summary_fields_with_meanings_and_described_parameters():
    for name, stream in event_streams().items():
        assert stream.name == name
        assert stream.summary
        assert stream.fields
        assert all(f.meaning and f.type in ("string", "timestamp", "bigint", "int") for f in stream.fields)
        assert all(field.description for field in stream.parameters.model_fields.values())


def test_a_stream_is_found_by_its_name():
    assert event_stream("ysb").name == "ysb"


def test_an_unknown_stream_gets_the_closest_one():
    with pytest.raises(UsageError) as caught:
        event_stream("hibensh", where="--events")
    assert caught.value.what == 'unknown event stream "hibensh"'
    assert caught.value.where == "--events"
    assert caught.value.remedy == "did you mean `hibench`?"
