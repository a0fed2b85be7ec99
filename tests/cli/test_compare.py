import json

import pytest

from cli.test_process import imported
from made_runs.samples import evidence
from made_runs.shelf import Shelf, slower


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return Shelf(tmp_path_factory.mktemp("compare") / "runs", seed=2)


@pytest.fixture(scope="module")
def sides(shelf):
    """Six runs, six others like them, and six that take 1.6 times as long."""
    return [shelf.several(6, factor) for factor in (1.0, 1.0, 1.6)]


@pytest.fixture
def compare(call, shelf):
    return lambda *arguments: call("compare", "--runs", str(shelf.root), *arguments)


def test_a_change_for_the_worse_ends_with_6_and_is_one_document(compare, sides):
    result = compare(sides[0], sides[2], "--json")
    assert (result.code, result.document["verdict"]) == (6, "worse")
    assert result.document["metrics"] == result.document["comparisons"][0]["metrics"]
    assert {"name", "a", "b", "change", "low", "high", "significant"} <= set(result.document["metrics"][0])


def test_better_and_no_change_end_with_0_and_undecided_with_7(compare, sides):
    assert compare(sides[2], sides[0]).code == 0
    assert compare(sides[0], sides[1]).code == 0
    few = [",".join(side.split(",")[:2]) for side in sides]
    result = compare(few[0], few[2])
    assert result.code == 7
    assert "2 and 2 runs cannot show a change; 4 and as many can" in " ".join(result.out.split())


def test_the_terminal_shows_the_verdict_first_then_words_and_the_numbers_of_the_document(compare, sides):
    lines = [line for line in compare(sides[0], sides[2]).out.splitlines() if line]
    document = compare(sides[0], sides[2], "--json").document
    assert lines[0] == "WORSE  ysb, B against A"
    words = " ".join(" ".join(lines).split())
    for sentence in document["comparisons"][0]["words"]:
        assert sentence in words
    row = next(line for line in lines if line.startswith("batch duration mean")).split()
    metric = next(m for m in document["metrics"] if m["name"] == "batch_duration_s.mean")
    assert row[3:7] == [f"{1000 * metric['a']:.3g}", "ms", f"{1000 * metric['b']:.3g}", "ms"]
    assert row[7] == f"{100 * metric['change']:+.0f}"
    assert row[-1] == "worse"


def test_markdown_has_the_same_words_and_tables_of_even_width(compare, sides):
    result = compare(sides[0], sides[2], "--format", "md")
    assert result.code == 6
    assert result.out.startswith("### Worse: ysb, B against A\n")
    document = compare(sides[0], sides[2], "--json").document
    for sentence in document["comparisons"][0]["words"]:
        assert f"- {sentence}\n" in result.out
    rows = [line.count("|") for line in result.out.splitlines() if line.startswith("| ") and "batch" in line]
    assert rows == [7]


def test_several_sides_end_with_the_verdict_over_all(compare, shelf, sides):
    result = compare(*sides)
    assert result.code == 6
    assert result.out.endswith("\nWORSE  over all 2 comparisons: 1 no change, 1 worse\n")
    assert compare(*sides, "--format", "md").out.startswith("## Worse\n")


def test_what_differs_and_what_is_doubtful_is_shown(compare, shelf):
    a = shelf.one()
    b = shelf.store(
        slower(evidence(limit=400), 1.0), master="local[1]", max_rows_per_batch=None, environment={"java": "21"}
    )
    result = compare(a, b)
    text = " ".join(result.out.split())
    assert "compared is master: local[2] against local[1]" in text
    assert "Java: 17 against 21" in text
    assert "B: one run with the verdict fail" in text


def test_names_of_others_are_no_mark_up(compare, shelf):
    hostile = "<b>|x"
    sets = [shelf.set_of([(hostile, shelf.one()), (hostile, shelf.one())]) for _ in range(2)]
    text = compare(*sets, "--format", "md").out
    assert r"\<b\>\|x, 2 runs" in text
    assert hostile in compare(*sets).out


def test_different_workloads_end_with_3(compare, shelf):
    result = compare(shelf.one(), shelf.one(workload="nexmark-q1"), "--json")
    assert result.code == 3
    assert "workload is ysb in A and nexmark-q1 in B" in result.document["error"]["what"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs two sides"),
        (["RUN"], "needs two sides"),
        (["RUN", "RUN"], "both sides are the run"),
        (["RUN", "nothing"], "unknown run"),
        (["RUN", "RUN", "--confidence", "sure"], "is no share"),
        (["RUN", "RUN", "--format", "markdown"], "is not a format"),
    ],
)
def test_wrong_usage_ends_with_2_and_helps(call, tmp_path, arguments, words):
    run_id = Shelf(tmp_path / "runs").one()
    result = call("compare", *(run_id if word == "RUN" else word for word in arguments))
    assert result.code == 2
    assert words in result.err
    assert len(result.err.splitlines()) > 1


def test_a_damaged_run_is_told_without_a_traceback(call, tmp_path):
    shelf = Shelf(tmp_path / "runs")
    a, b = shelf.one(), shelf.one()
    path = tmp_path / "runs" / b / "run.json"
    document = json.loads(path.read_text())
    for configuration in (None, {"speed": 3}):
        path.write_text(json.dumps(document | {"configuration": configuration}))
        result = call("compare", a, b)
        assert result.code == 3
        assert "Traceback" not in result.err
    (tmp_path / "runs" / b / "schedule.npy").write_bytes(b"x")
    path.write_text(json.dumps(document))
    assert call("compare", a, b).code == 3


def test_k3_compare_imports_no_spark(tmp_path):
    shelf = Shelf(tmp_path / "runs")
    assert imported(["compare", shelf.one(), shelf.one()], tmp_path) == set()
