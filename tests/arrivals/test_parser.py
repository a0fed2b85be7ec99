from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.arrivals import (
    Burst,
    Constant,
    Poisson,
    Ramp,
    ReverseSawtooth,
    Sawtooth,
    Scaled,
    Sine,
    Square,
    Steps,
    Sum,
    Then,
    Trace,
    parse_law,
)
from streamgauge.arrivals.notation import read_value, write_file, write_value
from streamgauge.arrivals.parser import _QUOTED, MAX_PARTS
from streamgauge.errors import StreamgaugeError, UsageError

from .samples import certain_laws, composed, poissons

RATE_PER_S = 50_000.0


def parse(text, **options):
    return parse_law(text, rate_per_s=RATE_PER_S, **options)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("constant", Constant(RATE_PER_S)),
        ("constant()", Constant(RATE_PER_S)),
        ("  constant ( rate = 200k/s ) ", Constant(200_000.0)),
        ("steps(10k, 20k, 40k, each=10s)", Steps((10_000.0, 20_000.0, 40_000.0), 10.0)),
        ("steps(each=2min, 0, 1.5M)", Steps((0.0, 1_500_000.0), 120.0)),
        ("steps(5)", Steps((5.0,), 10.0)),
        ("ramp", Ramp(0.0, RATE_PER_S, 60.0)),
        ("ramp(from=0, to=200k, over=60s)", Ramp(0.0, 200_000.0, 60.0)),
        ("square", Square(RATE_PER_S / 10, RATE_PER_S, 60.0)),
        ("square(low=10k, high=100k, phase=20s)", Square(10_000.0, 100_000.0, 20.0)),
        ("square(high=100)", Square(10.0, 100.0, 60.0)),
        ("burst", Burst(RATE_PER_S, 10 * RATE_PER_S, 10.0, 2.0)),
        ("burst(rate=10k)", Burst(10_000.0, 100_000.0, 10.0, 2.0)),
        (
            "burst(rate=0, burst_rate=7, interval=500ms, duration=1s, offset=3s)",
            Burst(0.0, 7.0, 0.5, 1.0, 3.0),
        ),
        ("sine", Sine(RATE_PER_S, 60.0)),
        ("sine(peak=200k, phase=20s)", Sine(200_000.0, 20.0)),
        ("sine(phase=20 s,\n\toffset=0)", Sine(RATE_PER_S, 20.0)),
        ("sawtooth(peak=2k)", Sawtooth(2_000.0)),
        ("reverse-sawtooth(phase=5min)", ReverseSawtooth(RATE_PER_S, 300.0)),
        ("poisson", Poisson(RATE_PER_S, 1)),
        ("poisson(rate=50, seed=-8)", Poisson(50.0, -8)),
        ("2 * constant", Scaled(Constant(RATE_PER_S), 2.0)),
        ("constant * 0.5 * 1e+1", Scaled(Scaled(Constant(RATE_PER_S), 0.5), 10.0)),
        ("constant+sine+ramp", Sum((Constant(RATE_PER_S), Sine(RATE_PER_S), Ramp(0.0, RATE_PER_S)))),
        ("constant+2*sine", Sum((Constant(RATE_PER_S), Scaled(Sine(RATE_PER_S), 2.0)))),
        ("(constant + sine) * 2", Scaled(Sum((Constant(RATE_PER_S), Sine(RATE_PER_S))), 2.0)),
        ("((constant))", Constant(RATE_PER_S)),
        (
            "constant + sine for 20s then ramp for 1min then constant",
            Then(
                Sum((Constant(RATE_PER_S), Sine(RATE_PER_S))),
                20.0,
                Then(Ramp(0.0, RATE_PER_S), 60.0, Constant(RATE_PER_S)),
            ),
        ),
        (
            "(constant for 1s then sine) for 2s then ramp",
            Then(Then(Constant(RATE_PER_S), 1.0, Sine(RATE_PER_S)), 2.0, Ramp(0.0, RATE_PER_S)),
        ),
    ],
)
def test_laws_are_read_as_they_are_written(text, law):
    assert parse(text) == law


def test_random_laws_without_a_seed_get_the_given_one_and_those_after_it():
    law = parse("poisson + poisson(seed=3) + poisson for 1s then poisson", seed=9)
    assert [piece.law.seed for piece in law.pieces()] == [9, 3, 10, 11]
    assert parse("poisson + poisson", seed=2**63 - 1).laws[1].seed == -(2**63) + 1


def test_a_trace_is_read_from_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("load.csv", "my load (2), \\new.csv"):
        Path(name).write_text("time_s,rate_per_s\n0,5\n1,6\n")
        wanted = Trace.read(name, scale=2.0, loop=True)
        assert parse(wanted.describe()) == wanted
    assert parse("trace(file=load.csv, scale=2, loop=yes)").describe() == (
        "trace(file=load.csv, scale=2, speed=1, loop=yes)"
    )


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("constant", "constant(rate=50k)"),
        ("burst", "burst(rate=50k, burst_rate=500k, interval=10s, duration=2s, offset=0s)"),
        ("2*poisson", "poisson(rate=50k, seed=1) * 2"),
        ("(constant for 1s then ramp) + constant", None),
    ],
)
def test_a_description_writes_every_parameter(text, described):
    law = parse(text)
    assert described is None or law.describe() == described
    assert parse_law(law.describe(), rate_per_s=1.0, seed=77) == law


@settings(max_examples=60, deadline=None)
@given(composed(st.one_of(certain_laws.filter(lambda law: not isinstance(law, Trace)), poissons)))
def test_a_description_parses_to_an_equal_law(law):
    if law.max_rate_per_s(float("inf")) > 0:
        assert parse_law(law.describe(), rate_per_s=1.0, seed=77) == law


@given(st.floats(1e-6, 1e9), st.floats(0.01, 2e6), st.floats(1e-9, 1e9))
def test_numbers_are_read_exactly_as_they_were_written(rate_per_s, time_s, factor):
    for field, value in (("peak_per_s", rate_per_s), ("phase_s", time_s), ("scale", factor)):
        assert read_value(field, write_value(field, value)) == value


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1))
def test_names_of_files_survive_writing(name):
    written = write_file(name)
    assert written == name or _QUOTED.fullmatch(written)


MISTAKES = [
    "",
    "constnt",
    "sinus(peak=2k)",
    "zzz",
    "sine(peek=2k)",
    "sine(foo=1)",
    "sine(peak=2k, peak=3k)",
    "sine(2k)",
    "sine(peak=)",
    "sine(,)",
    "sine(peak=2k,)",
    "sine(peak=2k",
    "sine(",
    "(sine + constant",
    "(sine constant)",
    "sine)",
    "sine(peak=20s)",
    "sine(peak=-5)",
    "sine(peak=nan)",
    "sine(peak=inf)",
    "sine(peak=1e400)",
    "sine(peak=2G)",
    "sine(peak=0)",
    "sine(phase=20)",
    "sine(phase=20k)",
    "sine(phase=0s)",
    "sine(phase=-3s)",
    "sine(phase=1ms)",
    "sine(phase=31h) + sine(phase=9999h)",
    "steps",
    "steps(each=3s)",
    "steps(10k, fast, each=3s)",
    "steps(0, 0)",
    "square(low=20, high=10)",
    "burst(rate=500M)",
    "constant(rate=0)",
    "constant(rate=0) for 10s then constant(rate=0) * 3",
    "poisson(seed=1.5)",
    "poisson(rate=0)",
    "trace",
    'trace(file="load.csv)',
    "trace(file=missing.csv)",
    "trace(file=load.csv, loop=maybe)",
    "trace(file=load.csv, scale=0)",
    "10k",
    "2 * 3",
    "(2 * 3) + sine",
    "sine * sine",
    "sine * 20s",
    "sine * -1",
    "sine * 0",
    "constant(rate=1G) * 2",
    "constant(rate=600M) + constant(rate=600M)",
    "sine +",
    "+ sine",
    "sine sine",
    "sine & constant",
    "sine for 20s",
    "sine for 20s + constant",
    "sine for then constant",
    "sine for 20 then constant",
    "sine for 0s then constant",
    "sine for 20s then",
    "for 20s then sine",
    "\tconstant +\n sinn",
]


def test_every_mistake_is_shown_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("load.csv").write_text("time_s,rate_per_s\n0,5\n1,6\n")
    found = []
    for text in MISTAKES:
        with pytest.raises(StreamgaugeError) as caught:
            parse(text)
        assert isinstance(caught.value, UsageError)
        assert "^" in caught.value.what or not text
        found.append(f"{caught.value}\n")
    assert "\n".join(found) == (Path(__file__).parent / "mistakes.txt").read_text()


def test_an_error_names_the_place_that_the_caller_says():
    with pytest.raises(UsageError, match=r"app\.yaml:3: unknown arrival law"):
        parse("sinn", where="app.yaml:3")


@pytest.mark.parametrize(
    "text", ["(" * 5000, "constant" + " * 1" * 5000, "constant for 1s then " * 5000, "2 * " * 5000]
)
def test_endless_laws_are_refused_and_not_tried(text):
    with pytest.raises(UsageError, match="too many parts"):
        parse(text)


@pytest.mark.parametrize("joint", [" + ", " for 1s then "])
def test_as_many_parts_as_are_allowed_work(joint):
    law = parse(joint.join(["constant(rate=10)"] * MAX_PARTS))
    assert parse(law.describe()) == law
    assert law.schedule(10.0).total == pytest.approx(10 * 10 if "then" in joint else 10_000, abs=1)
