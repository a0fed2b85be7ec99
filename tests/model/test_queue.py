"""One queue: formulas against textbooks, simulations against formulas and exact values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.model.queue import (
    TupleGate,
    constant,
    erlang_c,
    exponential,
    lognormal,
    mg1_wait_s,
    mm1_sojourn_s,
    mmc_wait_s,
    simulate_queue,
    waits,
)

TIMES = st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=60)


def rng():
    return np.random.default_rng(20200401)


# Gross, Shortle, Thompson and Harris, Fundamentals of Queueing Theory: rho / (mu - lambda) and the like.
@pytest.mark.parametrize(("load", "sojourn"), [(0.1, 1 / 0.9), (0.5, 2.0), (0.9, 10.0)])
def test_m1_one_server_has_the_textbook_sojourn(load, sojourn):
    assert mm1_sojourn_s(load, 1.0) == pytest.approx(sojourn)
    assert mm1_sojourn_s(load * 7, 7.0) == pytest.approx(sojourn / 7)


# Tables of Erlang's C formula.
@pytest.mark.parametrize(
    ("offered", "servers", "waiting"),
    [(1.0, 2, 1 / 3), (2.0, 3, 4 / 9), (5.0, 6, 0.5875), (8.0, 10, 0.4092), (0.5, 1, 0.5), (20.0, 24, 0.2981)],
)
def test_m1_erlangs_formula_has_the_tabled_values(offered, servers, waiting):
    assert erlang_c(offered, servers) == pytest.approx(waiting, abs=5e-5)


def test_m1_constant_service_halves_the_wait():
    exponential_wait = mg1_wait_s(0.8, 1.0, 1.0)
    assert exponential_wait == pytest.approx(mm1_sojourn_s(0.8, 1.0) - 1.0)
    assert mg1_wait_s(0.8, 1.0, 0.0) == pytest.approx(exponential_wait / 2)


def test_m1_several_servers_with_one_are_one_server():
    assert mmc_wait_s(0.7, 1.0, 1) == pytest.approx(mm1_sojourn_s(0.7, 1.0) - 1.0)


@pytest.mark.parametrize("load", [1.0, 1.5])
def test_a_queue_that_is_overloaded_has_no_mean(load):
    with pytest.raises(ValueError, match="no mean"):
        mm1_sojourn_s(load, 1.0)


@given(TIMES, st.floats(0, 10))
def test_two_running_sums_are_lindleys_recursion(pairs, first):
    found = waits([a for a, _ in pairs], [s for _, s in pairs], first_s=first)
    expected = [first]
    for interarrival, service in pairs:
        expected.append(max(0.0, expected[-1] + service - interarrival))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_m2_a_simulated_single_server_has_the_mean_of_the_formula(load):
    result = simulate_queue(exponential(1.0), exponential(load), 2_000_000, rng=rng())
    assert result.sojourn_s == pytest.approx(mm1_sojourn_s(1.0, 1 / load), rel=0.02)
    result = simulate_queue(exponential(1.0), constant(load), 1_000_000, rng=rng())
    assert result.wait_s == pytest.approx(mg1_wait_s(1.0, load, 0.0), rel=0.02)
    result = simulate_queue(exponential(1.0), lognormal(load, 0.7), 1_000_000, rng=rng())
    assert result.wait_s == pytest.approx(mg1_wait_s(1.0, load, 0.7), rel=0.02)


@pytest.mark.parametrize("servers", [2, 5])
def test_m2_simulated_servers_have_the_mean_of_erlangs_formula(servers):
    load = 0.8
    result = simulate_queue(exponential(1.0), exponential(load * servers), 2_000_000, rng=rng(), servers=servers)
    assert result.wait_s == pytest.approx(mmc_wait_s(1.0, 1 / (load * servers), servers), rel=0.03)


def test_m2_lists_wait_for_each_other():
    # Mean sojourn of M^X/M/1 with lists of I: (I + 1) / (2 mu (1 - rho)).
    result = simulate_queue(exponential(5.0), exponential(1.0), 1_000_000, rng=rng(), list_size=3)
    assert result.tuples == 3_000_000
    assert result.sojourn_s == pytest.approx(5.0, rel=0.02)


# Exact values of the Markov chain of lists that are collected until k are there or a timer fires.
@pytest.mark.parametrize(
    ("lists_per_s", "flushes_per_s", "served_per_s", "list_size", "limit", "sojourn"),
    [
        (0.5, 1, 1, 1, 1, 2.0),
        (0.2, 1, 1, 3, 1, 5.0),
        (0.1, 1, 10, 1, 100, 1.11011),
        (1, 1, 10, 1, 100, 1.20342),
        (5, 1, 10, 1, 100, 1.75356),
        (9, 1, 10, 1, 100, 3.64499),
        (5, 1, 10, 1, 5, 0.64898),
        (0.5, 1, 10, 4, 100, 1.47961),
        (0.1, 2, 10, 1, 100, 0.60518),
        (1, 2, 5, 1, 100, 0.82549),
        (1, 2, 2.5, 1, 100, 1.29332),
    ],
)
def test_m2_the_gate_has_the_exact_mean(lists_per_s, flushes_per_s, served_per_s, list_size, limit, sojourn):
    gate = TupleGate(limit, 1 / flushes_per_s)
    arrivals, service = exponential(1 / lists_per_s), exponential(1 / served_per_s)
    result = simulate_queue(arrivals, service, 300_000, rng=rng(), list_size=list_size, gate=gate)
    assert result.sojourn_s == pytest.approx(sojourn, rel=0.02)


def test_a_timer_without_chance_is_waited_for_half_its_interval():
    gate = TupleGate(10**9, 2.0, "periodic")
    result = simulate_queue(exponential(0.5), constant(0.0), 200_000, rng=rng(), gate=gate)
    assert result.sojourn_s == pytest.approx(1.0, rel=0.01)


def test_a_gate_for_one_list_is_no_gate():
    plain = simulate_queue(exponential(1.0), exponential(0.5), 50_000, rng=rng())
    gated = simulate_queue(exponential(1.0), exponential(0.5), 50_000, rng=rng(), gate=TupleGate(1, 5.0))
    assert gated.sojourn_s == pytest.approx(plain.sojourn_s, rel=0.05)


def test_a_gate_leads_to_one_server():
    with pytest.raises(ValueError, match="one server"):
        simulate_queue(constant(1.0), constant(1.0), 10, rng=rng(), servers=2, gate=TupleGate(1, 1.0))


def test_constant_times_never_wait():
    result = simulate_queue(constant(1.0), constant(1.0), 200_000, rng=rng())
    assert (result.wait_s, result.sojourn_s) == (0.0, 1.0)


def test_the_same_seed_gives_the_same_answer():
    runs = [simulate_queue(exponential(1.0), exponential(0.9), 10_000, rng=rng()) for _ in range(2)]
    assert runs[0] == runs[1]
