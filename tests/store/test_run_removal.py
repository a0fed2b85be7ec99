import json
import os
import shutil
from pathlib import Path

import pytest

from streamgauge.errors import EnvironmentNotReadyError, UsageError
from streamgauge.store import list_runs, remove_run, sweep_scratch


def orphan(path: Path, **fields: object) -> None:
    """Make a run look as if its process had been killed."""
    document = json.loads((path / "run.json").read_text())
    gone = {"process": {**document["process"], "started_s": 1.0}}
    (path / "run.json").write_text(json.dumps({**document, **gone, **fields}))


def test_only_the_named_run_is_removed(root, make):
    keep, drop = make(), make()
    drop.finish("finished")
    assert remove_run(root, drop.run_id) == drop.path
    assert [run.run_id for run in list_runs(root)] == [keep.run_id]


@pytest.mark.parametrize("version", [1, 99])
def test_a_running_run_is_not_removed_whatever_its_schema(root, make, version):
    writer = make()
    writer.update(schema_version=version)
    with pytest.raises(UsageError) as caught:
        remove_run(root, writer.run_id)
    assert caught.value.what == f"run {writer.run_id} is still running"
    assert caught.value.remedy == f"stop it first with Ctrl-C or `kill -INT {os.getpid()}`"
    assert (writer.path / "run.json").exists()


def test_killed_and_damaged_runs_can_be_removed(root, make):
    killed, damaged, headless = make(), make(), make()
    orphan(killed.path)
    (damaged.path / "run.json").write_text("{")
    (headless.path / "run.json").unlink()
    for writer in (killed, damaged, headless):
        remove_run(root, writer.run_id)
    assert list(root.iterdir()) == []


def test_what_does_not_look_like_a_run_is_not_removed(root, tmp_path):
    (root / "thesis").mkdir(parents=True)
    (root / "thesis" / "text.md").write_text("years of work")
    with pytest.raises(UsageError, match="not a run directory"):
        remove_run(root, str(root / "thesis"))
    with pytest.raises(UsageError, match="unknown run"):
        remove_run(root, "thesis")
    for reference in (str(root), f"{root}/.."):
        with pytest.raises(UsageError, match="does not lie in this folder of runs"):
            remove_run(root, reference)
    assert (root / "thesis" / "text.md").exists()


def test_links_are_not_followed_out_of_the_root(root, make, tmp_path):
    writer = make()
    writer.finish("finished")
    outside = tmp_path / "outside"
    shutil.move(writer.path, outside)
    (root / "link").symlink_to(outside)
    for reference in ("link", str(root / "link"), str(outside)):
        with pytest.raises(UsageError, match="does not lie in this folder of runs"):
            remove_run(root, reference)
    assert (outside / "run.json").exists()


def test_a_link_inside_a_run_is_removed_but_not_its_target(root, make, tmp_path):
    target = tmp_path / "data"
    target.mkdir()
    (target / "file").write_text("keep")
    writer = make()
    writer.finish("finished")
    (writer.path / "data").symlink_to(target)
    remove_run(root, "latest")
    assert (target / "file").read_text() == "keep"


def test_a_root_that_is_itself_a_link_works(root, make, tmp_path):
    make().finish("finished")
    (tmp_path / "alias").symlink_to(root)
    remove_run(tmp_path / "alias", "latest")
    assert list_runs(root) == []


def test_a_removal_that_the_system_refuses_is_reported(root, make, monkeypatch):
    writer = make()
    writer.finish("finished")

    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(EnvironmentNotReadyError, match="cannot remove the run: Permission denied"):
        remove_run(root, writer.run_id)


def test_scratch_of_dead_runs_is_swept_and_nothing_else(root, make):
    alive, dead, damaged = make(), make(), make()
    for writer in (alive, dead, damaged):
        (writer.work / "checkpoint").mkdir()
    orphan(dead.path)
    (damaged.path / "run.json").write_text("{")
    before = {path.name for path in dead.path.iterdir()}
    assert sweep_scratch(root) == [dead.work]
    assert {path.name for path in dead.path.iterdir()} == before - {"work"}
    assert alive.work.is_dir()
    assert damaged.work.is_dir()
    assert sweep_scratch(root) == []


def test_scratch_behind_a_link_is_not_swept(root, make, tmp_path):
    target = tmp_path / "outside"
    target.mkdir()
    writer = make()
    orphan(writer.path)
    writer.work.rmdir()
    writer.work.symlink_to(target)
    other = make()
    orphan(other.path)
    shutil.move(other.path, tmp_path / "moved")
    (root / "link").symlink_to(tmp_path / "moved")
    assert sweep_scratch(root) == []
    assert target.is_dir()
    assert (tmp_path / "moved" / "work").is_dir()


def test_a_missing_root_has_nothing_to_sweep(root):
    assert sweep_scratch(root) == []
