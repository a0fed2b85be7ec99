"""A load that was not kept, or a sink that differs from a recount, decides the verdict."""

import re

import numpy as np
import pytest

from made_runs.samples import evidence
from measure.test_batch import progress
from streamgauge.conclude.evidence import External
from streamgauge.conclude.summary import summarise
from streamgauge.connectors.kafka.delivery import Delivery
from streamgauge.measure import counted_batch
from streamgauge.running.recount import judge
from streamgauge.running.verify import Differences
from streamgauge.verdict import Verdict

KEPT = Delivery(sent=25_000)
SAME = Differences(10, 10, 0, 0, 0, {})


def question(summary, name):
    return next(finding for finding in summary["findings"] if finding["question"] == name)


def test_a_load_that_was_kept_leaves_the_verdict_alone():
    found = summarise(evidence(external=External(delivery=KEPT, records=25_000)))
    assert found["verdict"] == "pass"
    assert (found["records"], found["malformed_records"], found["delivery"]["late"]) == (25_000, 0, 0)


@pytest.mark.parametrize(
    ("delivery", "said"),
    [
        (Delivery(25_000, 2_000, 3.0, late_in={5: 1_000, 24: 1_000}), "fell behind: 10.00% .* whole load by 3 s"),
        (Delivery(sent=25_000, failed=7, failure="gone"), "did not take 7 events: gone"),
        (None, "did not report"),
    ],
)
def test_a_load_that_was_not_kept_makes_the_verdict_unknown(delivery, said):
    found = summarise(evidence(external=External(delivery=delivery)))
    assert found["verdict"] == "unknown"
    assert re.search(said, question(found, "generator")["reason"])


def test_events_that_are_late_during_the_warm_up_are_forgiven():
    late = Delivery(sent=25_000, late=2_099, max_late_s=3.0, late_in={0: 1_000, 4: 900, 5: 199})
    found = summarise(evidence(external=External(delivery=late)))
    assert (found["verdict"], question(found, "generator")["verdict"]) == ("pass", "pass")
    assert question(found, "generator")["reason"].startswith("1.00% of the events due after the warm-up")


def test_malformed_records_are_told():
    found = summarise(evidence(external=External(delivery=KEPT, records=25_003, malformed=3)))
    assert any("3 of 25,003 records were malformed" in warning for warning in found["warnings"])


def test_a_recount_that_agrees_passes():
    assert judge(SAME, np.arange(100), offered=100, events=100).verdict is Verdict.PASS


def test_planted_faults_are_found_by_the_recount():
    wrong = judge(Differences(10, 10, 1, 1, 0, {}), np.arange(100), offered=100, events=100)
    assert (wrong.verdict, wrong.rows_missing) == (Verdict.FAIL, 1)
    lost = judge(SAME, np.arange(99), offered=100, events=99)
    assert (lost.verdict, lost.events_lost, lost.events_doubled) == (Verdict.UNKNOWN, 1, 0)
    doubled = judge(SAME, np.append(np.arange(100), 5), offered=100, events=101)
    assert (doubled.verdict, doubled.events_lost, doubled.events_doubled) == (Verdict.UNKNOWN, 0, 1)
    empty = judge(Differences(0, 0, 0, 0, 0, {}), np.arange(100), offered=100, events=100)
    assert empty.verdict is Verdict.UNKNOWN


def test_a_wrong_sink_fails_the_run():
    wrong = judge(Differences(10, 9, 1, 0, 0, {}), np.arange(100), offered=100, events=100)
    found = summarise(evidence(external=External(delivery=KEPT, recount=wrong)))
    assert found["verdict"] == "fail"
    assert found["recount"]["rows_missing"] == 1


def test_a_batch_of_a_topic_counts_its_own_events_and_what_the_topic_still_held():
    offsets = [{"t": {"0": 5, "1": 5}}, {"t": {"0": 10, "1": 9}}, {"t": {"0": 12, "1": 9}}]
    source = dict(zip(("startOffset", "endOffset", "latestOffset"), offsets, strict=True)) | {"numInputRows": 9}
    found = counted_batch(progress(sources=[source]), 100, 8)
    assert found is not None
    assert (found.first, found.last, found.left) == (100, 108, 2)
    assert counted_batch(progress(durationMs={"triggerExecution": 5}, sources=[source]), 0, 0) is None
