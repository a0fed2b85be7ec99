"""Which runs a reference means."""

import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.store import resolve_groups


def test_a_run_is_one_group_by_id_beginning_path_and_latest(shelf):
    run_id = shelf.one()
    for reference in (run_id, run_id[:-1], str(shelf.root / run_id), "latest"):
        (group,) = resolve_groups(shelf.root, reference)
        assert [run.run_id for run in group.runs] == [run_id]
        assert group.name == run_id[16:]


def test_a_list_of_runs_is_one_group_however_long(shelf):
    reference = shelf.several(12)
    assert len(reference) > 255
    (group,) = resolve_groups(shelf.root, reference)
    assert [run.run_id for run in group.runs] == reference.split(",")
    assert group.name.endswith(" and 11 more")


def test_a_run_named_twice_is_no_repetition(shelf):
    run_id = shelf.one()
    with pytest.raises(UsageError, match="named twice"):
        resolve_groups(shelf.root, f"{run_id},{shelf.one()},{shelf.root / run_id}")


def test_a_list_without_runs_is_refused(shelf):
    with pytest.raises(UsageError, match="names no run"):
        resolve_groups(shelf.root, ",")


def test_a_set_has_a_group_per_configuration_and_repetitions_belong_together(shelf):
    ids = [shelf.one() for _ in range(4)]
    names = ("ysb[cores=1]#1", "ysb[cores=2]#1", "ysb[cores=1]#2", "ysb[cores=2]")
    set_id = shelf.set_of(zip(names, ids, strict=True))
    groups = {g.name: [run.run_id for run in g.runs] for g in resolve_groups(shelf.root, set_id)}
    assert groups == {"ysb[cores=1]": [ids[0], ids[2]], "ysb[cores=2]": [ids[1], ids[3]]}


def test_a_set_without_names_is_one_group(shelf):
    set_id = shelf.set_of([(None, shelf.one()), (None, shelf.one())], kind="repeat")
    (group,) = resolve_groups(shelf.root, set_id)
    assert len(group.runs) == 2
    assert group.name == set_id[16:]


def test_a_configuration_is_chosen_by_its_name_or_a_part_of_it(shelf):
    names = ("ysb[cores=1]", "ysb[cores=2]", "ysb")
    set_id = shelf.set_of([(name, shelf.one()) for name in names])
    for part, name in (("ysb[cores=2]", names[1]), ("ysb[cores=1", names[0]), ("cores=2", names[1]), ("ysb", "ysb")):
        assert [g.name for g in resolve_groups(shelf.root, f"{set_id}:{part}")] == [name]
    with pytest.raises(UsageError, match="part of 2 names") as caught:
        resolve_groups(shelf.root, f"{set_id}:ysb[")
    assert "ysb[cores=1], ysb[cores=2]" in caught.value.remedy
    for wrong in ("cores=3", ""):
        with pytest.raises(UsageError) as caught:
            resolve_groups(shelf.root, f"{set_id}:{wrong}")
        assert caught.value.remedy == "known names: ysb[cores=1], ysb[cores=2], ysb"


def test_a_name_with_commas_is_a_name_and_no_list(shelf):
    set_id = shelf.set_of([("ysb[rate=10k,cores=1]", shelf.one()), ("ysb[rate=10k,cores=2]", shelf.one())])
    (group,) = resolve_groups(shelf.root, f"{set_id}:ysb[rate=10k,cores=2]")
    assert group.name == "ysb[rate=10k,cores=2]"


def test_a_beginning_of_runs_and_sets_is_ambiguous_and_an_unknown_word_gets_a_suggestion(shelf):
    run_id = shelf.one()
    set_id = shelf.set_of([("ysb", run_id)])
    with pytest.raises(UsageError, match="beginning of runs and of sets"):
        resolve_groups(shelf.root, run_id[:8])
    with pytest.raises(UsageError, match="unknown run or set") as caught:
        resolve_groups(shelf.root, "x" + set_id)
    assert set_id in caught.value.remedy
    with pytest.raises(UsageError, match="unknown set"):
        resolve_groups(shelf.root, "nothing:ysb")


def test_runs_of_a_set_that_are_gone_are_named_and_an_empty_set_is_refused(shelf):
    run_id = shelf.one()
    (group,) = resolve_groups(shelf.root, shelf.set_of([("ysb", run_id), ("ysb", "20200101T000000-ysb-dead")]))
    assert ([run.run_id for run in group.runs], group.missing) == ([run_id], ("20200101T000000-ysb-dead",))
    with pytest.raises(InvalidExperimentError, match="has no runs"):
        resolve_groups(shelf.root, shelf.set_of([]))
