import pytest

from made_runs.modelled_runs import ModelledRun
from streamgauge.errors import UsageError
from streamgauge.predicting.calibrate import calibrate_model
from streamgauge.predicting.predict import predict
from streamgauge.store import open_set
from streamgauge.verdict import Verdict

SHORT = {"duration": "20s", "warmup": "3s", "cores": 2}


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    root, runs = tmp_path_factory.mktemp("runs"), ModelledRun()
    return (
        root,
        runs,
        calibrate_model("ysb", rate="100k", **SHORT, runs=root, measure=runs),
    )


def test_every_run_moves_one_setting_away_from_what_is_asked_for(calibrated):
    _, runs, _ = calibrated
    first, rate, trigger, cores, partitions = runs.calls
    assert first["rate"] == "100k"
    assert rate["rate"] > 150_000
    assert trigger["trigger"] == 2.0
    assert cores["cores"] == 1
    assert cores["rate"] <= 100_000
    assert partitions["shuffle_partitions"] == 8
    # All start alike: verification lets Java compile the query.
    assert not any("verify" in call for call in runs.calls)


def test_the_runs_are_a_set_that_predict_takes(calibrated):
    root, _, found = calibrated
    stored = open_set(root, found.set_id)
    assert stored.kind == "calibrate"
    assert len(stored.run_ids) == 5
    predicted = predict(found.set_id, rate="200k", runs=root)
    assert len(predicted.calibrated_from) == 5
    assert predicted.settings.cores == 2


def test_more_runs_make_the_limit_surer(calibrated):
    _, _, found = calibrated

    def width(prediction):
        limit = prediction.sustainable_rate_per_s
        return (limit.high - limit.low) / limit.value

    assert found.verdict is Verdict.PASS
    assert width(found.after) < width(found.before)


def test_a_calibration_that_was_broken_off_goes_on_where_it_ended(tmp_path):
    runs = ModelledRun()

    def breaks_off(**arguments):
        if len(runs.calls) == 2:
            raise KeyboardInterrupt
        return runs(**arguments)

    with pytest.raises(KeyboardInterrupt) as caught:
        calibrate_model("ysb", rate="100k", **SHORT, runs=tmp_path, measure=breaks_off)
    (set_id,) = [path.stem for path in (tmp_path / "sets").glob("*.json")]
    assert set_id in caught.value.__notes__[0]
    with pytest.raises(UsageError):
        calibrate_model("ysb", rate="90k", **SHORT, runs=tmp_path, measure=runs, resume=set_id)
    calibrate_model("ysb", rate="100k", **SHORT, runs=tmp_path, measure=runs, resume=set_id)
    assert len(runs.calls) == 5


def test_a_wrong_setting_is_refused_before_anything_is_stored(tmp_path):
    with pytest.raises(UsageError):
        calibrate_model("ysb", rate="none", runs=tmp_path, measure=ModelledRun())
    with pytest.raises(UsageError):
        calibrate_model("ybs", runs=tmp_path, measure=ModelledRun())
    assert list(tmp_path.iterdir()) == []
