"""Loads cost processor time on Spark, whichever process pays it."""

import pytest

from streamgauge.engine.spark.jobs import cpu_ns_of
from streamgauge.engine.spark.session import Session
from streamgauge.prototype.calibration import FORMS, WorkForm
from streamgauge.prototyping.calibrate import _measure


@pytest.mark.parametrize("form", FORMS)
def test_ten_times_the_load_costs_about_ten_times_as_much(session: Session, form: WorkForm) -> None:
    measure = _measure(session, form)
    # The first jobs compile the load and start the worker; tenths of a second drown what is left of that.
    for cycles in (50_000, 500_000):
        measure(300, cycles)
    less, more = (measure(2_000, cycles) - measure(0, cycles) for cycles in (50_000, 500_000))
    assert less > 0
    assert 4 < more / less < 25


def test_only_the_jobs_of_the_action_are_counted(session: Session) -> None:
    rows = session.spark.range(0, 3_000_000, 1, 1).selectExpr("sum(hash(id))")
    rows.collect()
    counted = cpu_ns_of(session, rows.collect)
    rows.collect()
    assert counted > 0
    assert cpu_ns_of(session, lambda: None) == 0
