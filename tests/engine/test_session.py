from types import SimpleNamespace

import psutil
import pytest

from streamgauge.engine.session import SessionSettings, spark_conf


def java_options(settings, scratch):
    return spark_conf(settings, scratch)["spark.driver.extraJavaOptions"].split()


@pytest.mark.parametrize(("memory_gib", "heap", "region"), [(24, "4g", "16m"), (12, "3g", "8m"), (4, "1g", "4m")])
def test_the_regions_of_a_measured_heap_are_a_256th_of_it_or_the_next_smaller_power_of_two(
    monkeypatch, tmp_path, memory_gib, heap, region
):
    memory = SimpleNamespace(total=memory_gib * 2**30, available=memory_gib * 2**30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    options = java_options(SessionSettings("local[2]", {}), tmp_path)
    assert {f"-Xms{heap}", f"-XX:G1HeapRegionSize={region}"} <= set(options)


def test_a_session_that_measures_nothing_keeps_the_usual_heap(tmp_path):
    options = java_options(SessionSettings("local[2]", {}, event_log=False), tmp_path)
    assert not any(option.startswith(("-Xms", "-XX:G1HeapRegionSize")) for option in options)
