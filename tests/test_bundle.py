"""Files of the package are found by name, from any folder."""

import pytest

from streamgauge.bundle import FOLDER, bundled, locate, summary
from streamgauge.errors import UsageError
from streamgauge.lookup import find_workload, resolve_workload


@pytest.mark.parametrize(("kind", "ending"), [("suite", "yaml"), ("prototype", "yaml"), ("example", "py")])
def test_every_file_has_a_name_of_its_own_and_says_what_it_is(kind, ending):
    files = sorted((FOLDER / f"{kind}s").rglob(f"*.{ending}"))
    assert sorted(bundled(kind).values()) == files
    assert all(summary(path) for path in files)


def test_the_files_nearest_to_the_top_come_first():
    names = list(bundled("suite"))
    assert names.index("surge") < names.index("arrival-shapes")


@pytest.mark.parametrize(
    ("reference", "what", "remedy"),
    [
        ("suite:smok", 'no suite "smok"', "did you mean `smoke`"),
        ("prototype:dimond", 'no prototype "dimond"', "did you mean `diamond`"),
        ("suite:", 'no suite ""', "known names: arrival-shapes, "),
        ("suite:../suites/smoke", "no suite", "smoke"),
        ("suite:a\nb", "no suite", "known names"),
        ("example:my_qery", 'no example "my_qery"', "did you mean `my_query`"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_the_closest(reference, what, remedy):
    with pytest.raises(UsageError, match=what) as refusal:
        locate(reference)
    assert remedy in str(refusal.value.remedy)


def test_a_prototype_of_the_package_is_a_workload_whose_name_holds_on_every_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_workload("prototype:ysb").name == "prototype:ysb"


def test_an_example_of_the_package_is_a_function_like_one_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = resolve_workload("example:my_query:build", None, import_code=False)
    assert (found.name, found.events.name) == ("example:my_query:build", "ysb")
    with pytest.raises(UsageError, match="does not name a function"):
        resolve_workload("example:my_query", None)
