from pathlib import Path

import pytest

from streamgauge.arrivals import Constant, draw_law, parse_law

LAWS = [
    "sine(peak=200k, phase=20s)",
    "steps(10k, 20k, 40k, each=10s)",
    "burst(rate=10k, burst_rate=100k, interval=10s, duration=2s)",
    "reverse-sawtooth(peak=1k) for 30s then constant(rate=0) for 10s then ramp(to=500, over=20s)",
]


def test_laws_are_drawn_as_in_the_repository():
    drawn = [f"{text}\n{draw_law(parse_law(text, rate_per_s=1000.0), 60.0)}\n" for text in LAWS]
    assert "\n".join(drawn) == (Path(__file__).parent / "drawings.txt").read_text()


@pytest.mark.parametrize(("width", "height"), [(72, 12), (40, 5), (1, 1)])
def test_a_drawing_keeps_to_its_size(width, height):
    lines = draw_law(parse_law("sine", rate_per_s=123_456.0), 3_600.0, width=width, height=height).splitlines()
    assert max(map(len, lines)) == max(width, 24)
    assert len(lines) == max(height, 2) + 2


def test_what_is_offered_is_seen_however_little_it_is():
    law = parse_law("constant(rate=1) for 30s then constant(rate=100k)", rate_per_s=1.0)
    assert draw_law(law, 60.0).splitlines()[-3].split("┤")[1].startswith("▁▁▁")


def test_a_load_without_events_is_an_empty_drawing():
    assert "█" not in draw_law(Constant(0.0), 10.0)
