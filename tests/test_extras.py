"""Optional packages: one that is missing or too old is named with the extra that brings it."""

import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.extras import EXTRAS, explain, require


@pytest.mark.parametrize(("module", "extra"), [("pyspark", "spark"), ("confluent_kafka", "kafka"), ("redis", "redis")])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EnvironmentNotReadyError, match="is not installed") as error:
        require(module)
    assert error.value.remedy == f'pip install "streamgauge[{extra}]"'


@pytest.mark.parametrize(
    ("version", "is_refused"), [("3.5.9", True), ("4.1.4", True), ("4.2.0", False), ("10.0", False)]
)
def test_a_spark_without_the_sources_that_runs_need_is_too_old(monkeypatch, version, is_refused):
    spark = ModuleType("pyspark")
    spark.__version__ = version
    monkeypatch.setitem(sys.modules, "pyspark", spark)
    if not is_refused:
        assert require("pyspark") is spark
        return
    with pytest.raises(EnvironmentNotReadyError, match=rf"PySpark {version} is too old: 4\.2 or newer is needed"):
        require("pyspark")


def test_a_part_that_an_old_package_lacks_is_explained_and_other_modules_are_not():
    found = explain(ModuleNotFoundError("x", name="pyspark.sql.datasource"))
    assert str(found).startswith("PySpark is too old: it has no pyspark.sql.datasource")
    assert explain(ModuleNotFoundError("x", name="json5")) is None
    assert explain(ModuleNotFoundError("x")) is None


def test_the_extras_are_those_of_the_package_and_no_optional_package_is_a_requirement():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for module, extra in EXTRAS.items():
        wanted = module.replace("_", "-")
        assert any(line.startswith(wanted) for line in extras[extra.name])
        assert not any(line.startswith(wanted) for line in project["dependencies"])
        assert extra.name in extras["all"][0]
    assert f"pyspark>={'.'.join(map(str, EXTRAS['pyspark'].minimum))}" in extras["spark"]
