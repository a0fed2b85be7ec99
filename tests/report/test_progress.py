import pytest

from streamgauge.report.terminal.progress import LiveProgress, PlainProgress, progress_display, progress_line
from streamgauge.running.monitor import NoMonitor, Snapshot


def test_a_line_says_only_what_is_known():
    assert progress_line(Snapshot("starting Spark", 0.2, 0.2)) == "[    0 s] starting Spark: 0 s"
    line = progress_line(Snapshot("warm-up", 12.0, 3.0, processed_rate_per_s=5_000.0, backlog_events=0))
    assert line == "[   12 s] warm-up: 3 s, processed 5k/s, backlog 0"


def test_plain_lines_come_with_each_phase_and_every_five_seconds(capsys):
    progress = PlainProgress()
    for second in range(13):
        progress.show(Snapshot("warm-up" if second < 6 else "measure", float(second), 0.0))
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split("]")[0] for line in err.splitlines()] == ["[    0 s", "[    5 s", "[    6 s", "[   11 s"]
    assert "\x1b" not in err
    assert "\r" not in err


def test_where_standard_error_is_no_terminal_lines_are_plain():
    with progress_display(quiet=False) as monitor:
        assert isinstance(monitor, PlainProgress)


def test_a_quiet_run_shows_nothing(capsys):
    with progress_display(quiet=True) as monitor:
        assert isinstance(monitor, NoMonitor)
        monitor.show(Snapshot("measure", 1.0, 1.0))
    assert capsys.readouterr() == ("", "")


def test_a_live_line_is_renewed_in_place():
    class Live:
        def update(self, text):
            self.text = text

    live = Live()
    LiveProgress(live).show(Snapshot("measure", 1.0, 1.0, backlog_events=7))
    assert live.text.plain == "[    1 s] measure: 1 s, backlog 7"


@pytest.mark.parametrize("quiet", [True, False])
def test_other_commands_tell_their_steps_on_standard_error_unless_quiet(capsys, quiet):
    from streamgauge.report.terminal.generation import generation_progress
    from streamgauge.report.terminal.progress import step_progress

    step_progress("verify", quiet=quiet)("ysb")
    report_events = generation_progress(quiet=quiet)
    report_events(10, 30)
    report_events(20, 30)
    lines = ["verify: ysb", "generate: 10 of 30 events", "generate: 30 of 30 events"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ([] if quiet else lines)
