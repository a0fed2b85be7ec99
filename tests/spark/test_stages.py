"""The stages that are told of a prototype are those of Spark's plan."""

import pytest

from prototype.applications import ALL
from spark.test_prototypes import _built, _conf, _plan
from streamgauge.prototype.graph.application import Application
from streamgauge.prototype.graph.stages import PlannedStage, spark_stages


def _redistributed(application: Application, stage: PlannedStage) -> int:
    """Return into how many partitions a stage puts its tuples."""
    name = stage.chains[0].components[-1] if stage.way == "handed over" else stage.receivers[0]
    return application.component(name).parallelism


# Shared shuffles, tuples that are handed over, and windows of windows.
@pytest.mark.parametrize("name", ["star", "hashed", "fork", "windows"])
def test_stages_end_where_the_plan_redistributes_tuples(session, name):
    application = ALL[name]
    with session.with_conf(_conf(application)):
        plan = _plan(_built(session, application)[0])
    planned = [node.partitions for node in plan.walk() if node.partitions is not None and node.children]
    told = [_redistributed(application, stage) for stage in spark_stages(application)[:-1]]
    assert sorted(told) == sorted(planned)
