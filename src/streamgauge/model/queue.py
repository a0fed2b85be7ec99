"""One queue: textbook formulas, and a simulator of G/G/c with lists of tuples and a gate that collects them.

The single server is Lindley's recursion, solved for millions of arrivals by two running sums: the wait of arrival n is
U(n) - min U(k), k <= n, where U adds up service times less interarrival times (Lindley 1952). Several servers
are the recursion of Kiefer and Wolfowitz (1955), one step per arrival for many independent queues at once.

Tuples arrive in lists, and a gate collects lists until `limit` of them are there or a timer fires, as in the queues of
Storm's executors (Cooper, Performance Modelling of Distributed Stream Processing Topologies, Newcastle 2020).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats

Sampler = Callable[[np.random.Generator, int | tuple[int, ...]], Floats]

# Arrivals that are drawn at a time stay in the processor's cache.
_CHUNK = 65_536
# At most as many independent queues share a step of the recursion for several servers. Each starts empty, so it has
# to be long; queues that run near their limit need longer ones still.
_QUEUES = 4_096
_LONG = 20_000


def mm1_sojourn_s(arrivals_per_s: float, served_per_s: float) -> float:
    """Return the mean time in an M/M/1 system.

    >>> mm1_sojourn_s(0.5, 1.0)
    2.0
    """
    _check_load(arrivals_per_s / served_per_s)
    return 1 / (served_per_s - arrivals_per_s)


def erlang_c(offered: float, servers: int) -> float:
    """Return the probability that an arrival waits in M/M/c (Erlang 1917); `offered` is arrivals times mean service.

    >>> round(erlang_c(1.0, 2), 6)
    0.333333
    """
    _check_load(offered / servers)
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def mmc_wait_s(arrivals_per_s: float, served_per_s: float, servers: int) -> float:
    """Return the mean time before service in M/M/c.

    >>> round(mmc_wait_s(1.0, 1.0, 2), 6)
    0.333333
    """
    return erlang_c(arrivals_per_s / served_per_s, servers) / (servers * served_per_s - arrivals_per_s)


def mg1_wait_s(arrivals_per_s: float, service_s: float, service_cv: float) -> float:
    """Return the mean time before service in M/G/1 (Pollaczek 1930, Khinchine 1932).

    >>> mg1_wait_s(0.5, 1.0, 0.0), mg1_wait_s(0.5, 1.0, 1.0)
    (0.5, 1.0)
    """
    load = arrivals_per_s * service_s
    _check_load(load)
    return load * service_s * (1 + service_cv**2) / (2 * (1 - load))


def _check_load(load: float) -> None:
    if not 0 <= load < 1:
        raise ValueError(f"a queue with a load of {load:g} has no mean")


def exponential(mean_s: float) -> Sampler:
    """Draw times that know nothing of the past."""
    return lambda rng, size: rng.standard_exponential(size) * mean_s


def constant(value_s: float) -> Sampler:
    """Return times that are all the same."""
    return lambda _rng, size: np.full(size, float(value_s))


def lognormal(mean_s: float, cv: float) -> Sampler:
    """Draw log-normal times."""
    sigma = math.sqrt(math.log1p(cv**2))
    return lambda rng, size: mean_s * np.exp(sigma * rng.standard_normal(size) - sigma**2 / 2)


@dataclass(frozen=True)
class TupleGate:
    """Collects lists until there are `limit` of them, or until a timer fires that knows nothing of them.

    The timer fires every `flush_s`, or, when `timer` is exponential, at random with that mean.
    """

    limit: int
    flush_s: float
    timer: Literal["exponential", "periodic"] = "exponential"


@dataclass(frozen=True)
class QueueResult:
    """Means over all tuples: before service, and in the system; the time in a gate counts as before service."""

    tuples: int
    wait_s: float
    sojourn_s: float


def waits(interarrival_s: npt.ArrayLike, service_s: npt.ArrayLike, *, first_s: float = 0.0) -> Floats:
    """Return the wait of each arrival at one server, which finds `first_s` of work when the first one comes.

    `interarrival_s[k]` is the time from arrival k to arrival k + 1. There is one value more than arrivals: the wait of
    the arrival after the last, with which a longer series goes on.

    >>> waits([1.0, 1.0, 5.0], [3.0, 3.0, 1.0]).tolist()
    [0.0, 2.0, 4.0, 0.0]
    """
    steps = np.asarray(service_s, dtype=np.float64) - np.asarray(interarrival_s, dtype=np.float64)
    path = np.empty(len(steps) + 1)
    path[0] = first_s
    np.cumsum(steps, out=path[1:])
    path[1:] += first_s
    # The work that is there at first is no lower bound of the path, so the minimum starts with 0.
    lowest = np.minimum.accumulate(path)
    np.minimum(lowest, 0.0, out=lowest)
    path -= lowest
    return path


def simulate_queue(
    interarrival: Sampler,
    service: Sampler,
    arrivals: int,
    *,
    rng: np.random.Generator,
    servers: int = 1,
    list_size: int = 1,
    gate: TupleGate | None = None,
) -> QueueResult:
    """Simulate a first-come-first-served queue from empty; `arrivals` counts lists, `service` is that of one tuple."""
    if gate is not None:
        if servers != 1:
            raise ValueError("a gate leads to one server")
        return _gated(interarrival, service, arrivals, list_size, gate, rng)
    if servers == 1:
        return _single(interarrival, service, arrivals, list_size, rng)
    return _several(interarrival, service, arrivals, list_size, servers, rng)


def _single(
    interarrival: Sampler, service: Sampler, arrivals: int, list_size: int, rng: np.random.Generator
) -> QueueResult:
    waited_s, served_s, before_s, first_s = 0.0, 0.0, 0.0, 0.0
    for start in range(0, arrivals, _CHUNK):
        number = min(_CHUNK, arrivals - start)
        work_s, inside_s, own_s = _lists(service, number, list_size, rng)
        found = waits(interarrival(rng, number), work_s, first_s=first_s)
        first_s = float(found[-1])
        waited_s += float(found[:-1].sum()) * list_size
        before_s += inside_s
        served_s += own_s
    return _means(arrivals * list_size, waited_s + before_s, served_s)


def _lists(service: Sampler, number: int, list_size: int, rng: np.random.Generator) -> tuple[Floats, float, float]:
    """Draw the work of lists; return also the time that tuples wait for others of their list, and their own service."""
    if list_size == 1:
        work_s = service(rng, number)
        return work_s, 0.0, float(work_s.sum())
    tuples_s = service(rng, (number, list_size))
    behind = np.arange(list_size - 1, -1, -1)
    return tuples_s.sum(axis=1), float((tuples_s @ behind).sum()), float(tuples_s.sum())


def _means(tuples: int, waited_s: float, served_s: float) -> QueueResult:
    return QueueResult(tuples, waited_s / tuples, (waited_s + served_s) / tuples)


def _gated(
    interarrival: Sampler, service: Sampler, arrivals: int, list_size: int, gate: TupleGate, rng: np.random.Generator
) -> QueueResult:
    arrived_s = np.cumsum(interarrival(rng, arrivals))
    released_s = _released(arrived_s, gate, rng)
    work_s, inside_s, served_s = _lists(service, arrivals, list_size, rng)
    gaps_s = np.append(np.diff(released_s), 0.0)
    waited_s = float((released_s - arrived_s + waits(gaps_s, work_s)[:-1]).sum()) * list_size
    return _means(arrivals * list_size, waited_s + inside_s, served_s)


def _released(arrived_s: Floats, gate: TupleGate, rng: np.random.Generator) -> Floats:
    """Return when each list leaves the gate: with the one that fills it, or when the timer fires.

    The timer empties the gate, so lists between two firings fill it on their own, `limit` at a time.
    """
    fired_s = _firings(float(arrived_s[-1]), gate, rng)
    turn = np.searchsorted(fired_s, arrived_s)
    is_first = np.append(True, turn[1:] != turn[:-1])
    opening = np.flatnonzero(is_first)
    lists_before = np.arange(len(turn)) - np.repeat(opening, np.diff(np.append(opening, len(turn))))
    filled_by = np.arange(len(turn)) + gate.limit - 1 - lists_before % gate.limit
    last = np.minimum(filled_by, len(turn) - 1)
    is_filled = (filled_by < len(turn)) & (turn[last] == turn)
    return np.where(is_filled, arrived_s[last], fired_s[turn])


def _firings(until_s: float, gate: TupleGate, rng: np.random.Generator) -> Floats:
    """Return the times at which the timer fires, the first one after the end included."""
    if gate.timer == "periodic":
        return np.asarray((np.arange(math.ceil(until_s / gate.flush_s) + 2) + rng.random()) * gate.flush_s, np.float64)
    fired_s = np.array([0.0])
    while fired_s[-1] <= until_s:
        expected = (until_s - fired_s[-1]) / gate.flush_s
        number = math.ceil(expected + 4 * math.sqrt(expected) + 16)
        fired_s = np.append(fired_s, fired_s[-1] + np.cumsum(rng.standard_exponential(number) * gate.flush_s))
    return fired_s


def _several(
    interarrival: Sampler, service: Sampler, arrivals: int, list_size: int, servers: int, rng: np.random.Generator
) -> QueueResult:
    """Many queues at once; the work that every server has left is kept in ascending order."""
    queues = max(1, min(_QUEUES, arrivals // _LONG))
    steps = math.ceil(arrivals / queues)
    left_s = np.zeros((servers, queues))
    waited_s = served_s = 0.0
    for _ in range(steps):
        for _ in range(list_size):
            work_s = service(rng, queues)
            waited_s += float(left_s[0].sum())
            served_s += float(work_s.sum())
            carried = left_s[0] + work_s
            for k in range(servers - 1):
                later = left_s[k + 1]
                np.minimum(carried, later, out=left_s[k])
                carried = np.maximum(carried, later)
            left_s[-1] = carried
        left_s -= interarrival(rng, queues)
        np.maximum(left_s, 0.0, out=left_s)
    return _means(steps * queues * list_size, waited_s, served_s)
