"""Where keys are known, rows per partition follow for any number of partitions, and for other keys."""

from dataclasses import replace

import numpy as np
import pytest

from model.made_up import run_of, sample_of_run, three_stages
from streamgauge.model import (
    Keys,
    OutputCurve,
    Settings,
    explained_stages,
    fit_model,
    fold,
    partition_of,
    predict,
    with_keys,
)

NUMBERS = np.arange(1000)
EVEN = Keys((NUMBERS,), np.ones(1000))
SKEWED = Keys((NUMBERS,), 1.0 / (1 + NUMBERS) ** 1.2)


@pytest.fixture(scope="module")
def model():
    """A query measured on 4 partitions, without partial aggregation; only its second stage is skewed."""
    query = three_stages()
    first, second, third = query.stages
    second, third = (replace(stage, shares=tuple(keys.shares(4))) for stage, keys in ((second, SKEWED), (third, EVEN)))
    stages = (replace(first, output=OutputCurve(1.0)), second, third)
    run = run_of(replace(query, stages=stages), 1, shuffle_partitions=4)
    return fit_model([sample_of_run(run)])


def test_shares_are_the_weights_of_the_keys_that_are_sent_to_a_partition():
    keys = Keys((np.array(["a", "b", "c"]),), np.array([1.0, 2.0, 5.0]))
    expected = np.bincount(partition_of(3, ["a", "b", "c"]), [1 / 8, 2 / 8, 5 / 8], 3)
    assert keys.shares(3) == pytest.approx(expected)


def test_shares_of_keys_fold_as_measured_ones_do():
    assert fold(SKEWED.shares(12), 4) == pytest.approx(SKEWED.shares(4))


def test_stages_are_found_whose_rows_were_spread_by_the_keys(model):
    assert explained_stages(model, SKEWED) == (1,)
    assert explained_stages(model, EVEN) == (2,)
    assert explained_stages(model, Keys((np.array(["a"]),), np.array([1.0]))) == ()


def test_known_keys_tell_partitions_that_do_not_fold(model):
    settings = Settings(rate_per_s=100_000.0, cores=2, shuffle_partitions=3)
    known = with_keys(with_keys(model, (1,), SKEWED), (2,), EVEN)
    assert known.query.stages[1].shares_for(3) == pytest.approx(SKEWED.shares(3))
    assert all(query.stages[1].shares_for(3) == pytest.approx(SKEWED.shares(3)) for query in known.draws)
    assert not predict(model, settings, replications=10).inside
    assert predict(known, settings, replications=10).inside


def test_one_key_makes_one_task_do_all_the_work(model):
    settings = Settings(rate_per_s=100_000.0, cores=2, shuffle_partitions=4)
    spread, single = (
        predict(with_keys(model, (1,), keys), settings, replications=20)
        for keys in (EVEN, Keys((NUMBERS[:1],), np.ones(1)))
    )
    assert single.sustainable_rate_per_s.value < 0.9 * spread.sustainable_rate_per_s.value
    assert single.latency_mean_s.value > 1.05 * spread.latency_mean_s.value


@pytest.mark.parametrize(("off", "explained"), [(0.019, (1,)), (0.021, ())])
def test_keys_explain_stages_behind_an_exchange_whose_rows_are_spread_alike_within_a_fiftieth(model, off, explained):
    shares = EVEN.shares(2)
    moved = tuple((shares + np.array([off, -off])).tolist())
    source, second, third = model.query.stages
    # The source has the shares of the keys by chance, and one partition says nothing.
    stages = (replace(source, shares=tuple(shares)), replace(second, shares=moved), replace(third, shares=(1.0,)))
    assert explained_stages(replace(model, query=replace(model.query, stages=stages)), EVEN) == explained
