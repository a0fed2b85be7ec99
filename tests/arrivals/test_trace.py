import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.arrivals import Trace, parse_law
from streamgauge.errors import InvalidExperimentError, UsageError

RATES = "time_s,rate_per_s\n100,10\n101,30\n103,0\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def to_file(text, name="load.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return to_file


def mistake(file):
    with pytest.raises(InvalidExperimentError) as caught:
        Trace.read(file)
    return str(caught.value)


def test_a_rate_holds_until_the_next_row_and_the_last_one_as_long_as_the_one_before(write):
    trace = Trace.read(write("time_s,rate_per_s\n100,10\n101,30\n103,20\n"))
    assert trace.rate_at([0.0, 0.99, 1.0, 2.9, 3.0, 4.9, 5.0, 99.0]).tolist() == [10, 10, 30, 30, 20, 20, 0, 0]
    assert trace.integral([1.0, 3.0, 4.0, 5.0, 99.0]).tolist() == [10, 70, 90, 110, 110]
    schedule = trace.schedule(60.0)
    assert schedule.time_us.tolist() == [0, 1_000_000, 3_000_000, 5_000_000, 60_000_000]
    assert schedule.count.tolist() == [0, 10, 70, 110, 110]
    assert trace.mean_rate_per_s(5.0) == 22.0
    assert (trace.max_rate_per_s(1.0), trace.max_rate_per_s(9.0)) == (10.0, 30.0)


def test_a_trace_that_ends_offers_nothing_and_one_that_loops_starts_again(write):
    file = write(RATES)
    once, again = Trace.read(file), Trace.read(file, loop=True)
    assert once.schedule(20.0).total == 70
    assert again.schedule(20.0).total == 280
    assert again.rate_at([5.5, 6.5, 9.0]).tolist() == [10.0, 30.0, 0.0]
    assert (once.mean_rate_per_s(), again.mean_rate_per_s()) == (0.0, 14.0)


def test_scale_raises_the_rate_and_speed_shortens_the_time(write):
    trace = Trace.read(write(RATES), scale=3.0, speed=2.0)
    assert trace.rate_at([0.0, 0.5, 1.5]).tolist() == [30.0, 90.0, 0.0]
    assert trace.schedule(10.0).total == 105


def test_single_events_are_counted_in_every_10_ms(write):
    file = write("time_s\n5.000\n5.001\n5.001\n5.0251\n6.5\n")
    schedule = Trace.read(file).schedule(10.0)
    assert schedule.total == 5
    assert schedule.times_us(np.arange(5)).tolist() == [0, 3333, 6666, 20_000, 1_500_000]
    # Twice as fast, all times are half as late; the last gap is repeated before the next turn.
    assert Trace.read(file, speed=2.0).schedule(10.0).times_us([3, 4]).tolist() == [10_000, 750_000]
    assert Trace.read(file, loop=True).schedule(5.96).total == 10
    assert Trace.read(file, scale=2.0).schedule(10.0).total == 10


def test_events_may_have_timestamps(write):
    plain = Trace.read(write("time_s\n0\n0.5\n61.25\n", "seconds.csv"))
    stamped = write("timestamp\n2024-05-01T12:00:00\n2024-05-01 12:00:00.500Z\n2024-05-01T14:01:01.25+02:00\n")
    assert Trace.read(stamped).schedule(100.0) == plain.schedule(100.0)


def test_parquet_files_are_read_whatever_their_name(write):
    rates = pa.table({"time_s": [100, 101, 103], "rate_per_s": [10.0, 30.0, 0.0], "note": ["a", "b", "c"]})
    pq.write_table(rates, "load.parquet")
    pq.write_table(rates, "load.data")
    wanted = Trace.read(write(RATES)).schedule(9.0)
    assert Trace.read("load.parquet").schedule(9.0) == Trace.read("load.data").schedule(9.0) == wanted
    stamps = pa.array([0, 1_500_000, 1_700_000], pa.timestamp("us"))
    pq.write_table(pa.table({"timestamp": stamps}), "events.parquet")
    assert Trace.read("events.parquet").schedule(9.0).times_us([1, 2]).tolist() == [1_500_000, 1_700_000]


def test_csv_may_have_a_byte_order_mark_blanks_quotes_and_an_empty_end(write):
    text = '\ufefftime_s, rate_per_s ,host\r\n"100", 10,a\r\n101,30,b\r\n103,0,c\r\n\r\n\r\n'
    assert Trace.read(write(text)).schedule(9.0) == Trace.read(write(RATES, "plain.csv")).schedule(9.0)


def test_rows_closer_than_10_ms_share_a_knot_and_lose_no_events(write):
    rows = "".join(f"{k / 1000},{1000 * (k % 3)}\n" for k in range(3000))
    trace = Trace.read(write("time_s,rate_per_s\n" + rows), loop=True)
    schedule = trace.schedule(30.0)
    assert len(schedule.time_us) <= 3_001
    assert np.all(np.abs(schedule.count - trace.integral(schedule.time_us / 1e6)) <= 1)
    assert schedule.total == 30_000


def test_a_changed_file_is_read_again(write):
    before = Trace.read(write(RATES)).schedule(9.0).total
    assert Trace.read(write("time_s,rate_per_s\n0,1000\n1,1000\n")).schedule(9.0).total == 2000 != before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "load.csv: is empty"),
        ("\n\n", "load.csv: is empty"),
        ("time_s,rate_per_s\n", "load.csv: has no rows"),
        ("time_s,rate_per_s\n0,5\n", "load.csv: has one row"),
        ("time,rate\n0,5\n1,5\n", "load.csv: has the columns time, rate"),
        ("time_s,host\n0,a\n1,b\n", "load.csv: has the columns time_s, host"),
        ("0,5\n1,5\n2,5\n", "load.csv: has the columns 0, 5"),
        ("time_s,rate_per_s\n0,5\n1,\n2,5\n", "load.csv:3: rate_per_s is missing"),
        ("time_s,rate_per_s\n0,5\n\n2,5\n", "load.csv:3: time_s is missing"),
        ("time_s,rate_per_s\n0,5\n1,NaN\n2,5\n", "load.csv:3: rate_per_s is nan"),
        ("time_s,rate_per_s\n0,5\n1,inf\n2,5\n", "load.csv:3: rate_per_s is inf"),
        ("time_s,rate_per_s\n0,5\nnan,5\n2,5\n", "load.csv:3: time_s is nan"),
        ("time_s,rate_per_s\n0,5\n1,many\n2,5\n", 'load.csv:3: rate_per_s "many" is not a number'),
        ("time_s,rate_per_s\n0,5\n1,-5\n2,5\n", "load.csv:3: rate_per_s is -5"),
        ("time_s,rate_per_s\n0,5\n1,2e9\n2,5\n", "load.csv:3: rate_per_s is 2e9"),
        ("time_s,rate_per_s\n0,5\n2,5\n1,5\n", "load.csv:4: time_s goes back from 2 to 1"),
        ("time_s,rate_per_s\n0,5\n1,5\n1,6\n", "load.csv:4: time_s is 1 again"),
        ("time_s,rate_per_s\n0,5\n1,5,7\n", "load.csv:3: has 3 values instead of 2"),
        ("time_s\n3\n2\n", "load.csv:3: time_s goes back from 3 to 2"),
        ("timestamp\n2024-05-01\nyesterday\n", 'load.csv:3: timestamp "yesterday" is not a time such as'),
        (b"\xff\xfe\x00\x01", "load.csv: is neither CSV nor Parquet"),
        (b"PAR1 and nothing else", "load.csv: cannot be read as Parquet"),
    ],
)
def test_a_file_that_is_no_load_is_refused_with_its_line(write, text, message):
    found = mistake(write(text))
    assert found.startswith(message)
    assert found.count("\n  ") == 1


def test_a_mistake_in_a_parquet_file_is_named_by_its_row(write):
    pq.write_table(pa.table({"time_s": [0.0, 1.0, 2.0], "rate_per_s": [1.0, None, 3.0]}), "load.parquet")
    assert mistake("load.parquet").startswith("load.parquet, row 2: rate_per_s is missing")
    pq.write_table(pa.table({"time_s": [0.0, 1.0, 2.0], "rate_per_s": [1.0, 3.0, None]}), "load.parquet")
    assert mistake("load.parquet").startswith("load.parquet, row 3: rate_per_s is missing")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 0.0}, "scale is 0"),
        ({"speed": float("nan")}, "speed is nan"),
        ({"scale": 1e8}, "the highest rate is 3G/s"),
        ({"speed": 1000.0, "loop": True}, "the trace lasts 5 ms"),
    ],
)
def test_l5_parameters_that_make_no_load_are_refused(write, parameters, message):
    with pytest.raises(UsageError, match=message):
        Trace.read(write(RATES), **parameters)


def test_a_trace_without_events_is_refused_where_it_stands_alone(write):
    write("time_s,rate_per_s\n0,0\n1,0\n")
    with pytest.raises(UsageError, match="the law never offers an event"):
        parse_law("trace(file=load.csv)", rate_per_s=1.0)
    assert parse_law("trace(file=load.csv) + constant", rate_per_s=1.0).schedule(5.0).total == 5


def test_a_folder_is_not_a_trace(tmp_path):
    with pytest.raises(UsageError, match="is not a file"):
        Trace.read(str(tmp_path))
