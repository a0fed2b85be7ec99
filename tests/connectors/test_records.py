"""What travels through a broker is exactly what the embedded stream makes, and reads back as that."""

import json

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.connectors.kafka.reading import event_numbers, read_values, used_fields
from streamgauge.connectors.kafka.records import KEY, Layout, keys, never_null, record_fields, renderer
from streamgauge.errors import UsageError
from streamgauge.events import event_streams
from streamgauge.events.ysb import EVENTS, YsbEvents
from streamgauge.experiments.generate import json_lines

LOAD_US = 1_436_918_400_000_000
STREAMS = event_streams()


def arrivals(count: int = 300, first: int = 0) -> Arrivals:
    return Arrivals.spaced(np.arange(first, first + count), load_us=LOAD_US, period_us=1000)


@pytest.mark.parametrize(
    "parameters",
    [
        YsbEvents(),
        YsbEvents(draws="random", skew=True, late=True),
        YsbEvents(campaigns=7, ads_per_campaign=3),
        YsbEvents(campaigns=12_347, ads_per_campaign=3),
    ],
    ids=["periodic", "random", "odd period", "period too long for a table"],
)
def test_fast_texts_are_those_of_the_slow_definition(parameters):
    some = arrivals(2_000, first=29_500)
    slow = EVENTS.arrays(parameters, 3, some)["value"]
    assert EVENTS.lines(parameters, 3, some) == [text.encode() for text in slow]


@pytest.mark.parametrize("name", sorted(set(STREAMS) - {"ysb"}))
def test_records_are_the_lines_that_generate_writes(name):
    stream = STREAMS[name]
    some = arrivals()
    made = renderer(stream, stream.parameters(), seed=5, format="json")(some)
    table = stream.table(stream.parameters(), seed=5, arrivals=some)
    assert b"".join(value + b"\n" for value in made) == json_lines(table)


@pytest.mark.parametrize("name", sorted(STREAMS))
@pytest.mark.parametrize("form", ["json", "binary"])
def test_events_come_back_from_their_records(name, form):
    stream = STREAMS[name]
    some = arrivals()
    values = renderer(stream, stream.parameters(), seed=5, format=form)(some)
    names = [field.name for field in record_fields(stream)]
    table = stream.table(stream.parameters(), seed=5, arrivals=some).select(names)
    assert read_values(stream, values, form, names).to_pylist() == table.to_pylist()


def test_a_record_of_ysb_is_the_text_of_yahoos_generator():
    (value,) = renderer(EVENTS, YsbEvents(), seed=1, format="json")(arrivals(1))
    assert list(json.loads(value)) == [field.name for field in record_fields(EVENTS)]
    assert value.startswith(b'{"user_id": "')
    assert 240 < len(value) < 265


def test_the_binary_form_is_smaller_than_the_text():
    some = arrivals()
    sizes = {
        form: sum(map(len, renderer(EVENTS, YsbEvents(), seed=1, format=form)(some))) for form in ("json", "binary")
    }
    assert sizes["binary"] < 0.65 * sizes["json"]


def test_a_key_tells_number_and_intended_time():
    some = arrivals(3, first=7)
    assert [KEY.unpack(key) for key in keys(some)] == [(7 + i, LOAD_US + (7 + i) * 1000) for i in range(3)]
    assert event_numbers([*keys(some), None, b"foreign"]).tolist() == [7, 8, 9]


@pytest.mark.parametrize("form", ["json", "binary"])
def test_malformed_records_are_left_out_of_a_recount(form):
    values = renderer(EVENTS, YsbEvents(), seed=1, format=form)(arrivals(5))
    late = json.dumps(dict.fromkeys((field.name for field in EVENTS.fields), "9" * 19)).encode()
    broken = [b"", b"{", b"5", b"\xff\xfe", b'{"ad_id": "x"}', late, values[0][:-1], *values]
    needed = never_null(EVENTS, YsbEvents())
    assert len(needed) == 7
    assert read_values(EVENTS, broken, form, ["ad_id"], needed).num_rows == 5


def test_nulls_negative_numbers_and_long_texts_survive_the_binary_form():
    nexmark = STREAMS["nexmark"]
    layout = Layout.of(STREAMS["keyed"].fields)
    table = pa.table(
        {
            "number": pa.array([-1, None], pa.int64()),
            "key": pa.array([-(2**63), 2**63 - 1], pa.int64()),
            "value": pa.array([0, 1], pa.int64()),
            "side": pa.array([-(2**31), None], pa.int32()),
            "created": pa.array([-1, LOAD_US], pa.timestamp("us", "UTC")),
        }
    )
    assert layout.decode(layout.encode(table)).to_pylist() == table.to_pylist()
    texts = Layout.of([field for field in nexmark.fields if field.name in ("id", "name", "city")])
    odd = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["ä" * 30_000, None], "city": ["", "\n"]})
    assert texts.decode(texts.encode(odd)).to_pylist() == odd.to_pylist()
    with pytest.raises(UsageError, match="65,535"):
        texts.encode(odd.set_column(1, "name", pa.array(["ä" * 40_000, ""])))


def test_only_fields_that_a_reference_names_are_read():
    assert used_fields(EVENTS, "SELECT ad_id FROM events WHERE event_type = 'view'") == ("ad_id", "event_type")
    assert used_fields(EVENTS, None) == tuple(field.name for field in record_fields(EVENTS))
