"""What a report is about: the runs and sets that its references mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.errors import StreamgaugeError
from streamgauge.report.content.comparison import side_name
from streamgauge.report.content.configuration import title
from streamgauge.report.content.set_tables import ReportedSet
from streamgauge.report.content.sets import MAX_OVERLAID, describe_set
from streamgauge.store import StoredRun, StoredSet, is_set, list_runs, open_member, open_run_or_set, resolve_groups

if TYPE_CHECKING:
    from streamgauge.conclude.comparison import Comparisons

# Sets whose runs are replicates of configurations, so that statistics can compare them.
_REPLICATED = ("suite", "repeat")


@dataclass(frozen=True)
class Subject:
    """Runs to show in full, sets to describe, groups of runs that are compared, and the runs of those by group."""

    runs: tuple[StoredRun, ...] = ()
    sets: tuple[ReportedSet, ...] = ()
    compared: "Comparisons | None" = None
    overlaid: tuple[tuple[str, StoredRun], ...] = ()
    name: str = "runs"

    @property
    def shown_runs(self) -> list[StoredRun]:
        """The runs that have a section of their own; one that two sets name has one."""
        if not self.sets:
            return list(self.runs)
        ends = [run for one in self.sets for run in one.sections]
        return list({run.run_id: run for run in (*self.runs, *ends)}.values())

    @property
    def is_one_set(self) -> bool:
        """The report is about nothing but one set."""
        return len(self.sets) == 1 and not self.runs

    @property
    def is_side_by_side(self) -> bool:
        """Single runs stand beside each other."""
        return len(self.runs) > 1 and not self.sets

    @property
    def title(self) -> str:
        """What the report is about, in words."""
        if self.compared is not None:
            names = list(dict.fromkeys(name for name, _ in self.overlaid))
            return f"Comparison of {' and '.join(names)}" if 0 < len(names) <= 3 else "Comparison of groups of runs"
        if self.is_one_set:
            return self.sets[0].title
        if self.sets:
            return f"Report on {len(self.sets) + len(self.runs)} results"
        return title(self.runs[0]) if len(self.runs) == 1 else f"Comparison of {len(self.runs)} runs"

    @property
    def run_ids(self) -> list[str]:
        """The runs that the report is about, each once."""
        ids = [run.run_id for run in self.runs]
        ids += [run_id for one in self.sets for run_id in one.stored.run_ids]
        return list(dict.fromkeys([*ids, *(run.run_id for _, run in self.overlaid)]))


def read_set(root: Path, stored: StoredSet) -> ReportedSet:
    """Read the runs of a set; those that are gone or damaged are named."""
    there = {listing.run_id for listing in list_runs(root)}
    runs: dict[str, StoredRun] = {}
    missing = [(run_id, "it is no longer there") for run_id in dict.fromkeys(stored.run_ids) if run_id not in there]
    for run_id in (run_id for run_id in stored.run_ids if run_id in there):
        try:
            runs[run_id] = open_member(root, run_id)
        except StreamgaugeError as error:
            missing.append((run_id, error.what))
    return describe_set(stored, runs, missing)


def _is_group(root: Path, reference: str) -> bool:
    """Return whether a reference is a list of runs, or one configuration of a set."""
    return "," in reference or (":" in reference and is_set(root, reference.partition(":")[0]))


def _name(found: Sequence[StoredRun | StoredSet]) -> str:
    ids = [one.run_id if isinstance(one, StoredRun) else one.set_id for one in found]
    return ids[0] if len(ids) == 1 else f"{ids[0]}-and-{len(ids) - 1}-more"


def _compared(root: Path, references: Sequence[str]) -> Subject:
    from streamgauge.conclude.comparison import compare

    found = compare(references, runs=root)
    groups = {
        side_name(label, group.name): group
        for pair in found.comparisons
        for label, group in zip(pair.labels, (pair.a, pair.b), strict=True)
    }
    drawn = tuple((name, run) for name, group in groups.items() for run in group.runs)
    return Subject(
        compared=found,
        overlaid=drawn if len(drawn) <= MAX_OVERLAID else (),
        name=f"comparison-{drawn[0][1].run_id}" if drawn else "comparison",
    )


def _configuration(root: Path, reference: str) -> Subject:
    """Show the runs of one configuration of a set beside each other."""
    runs = tuple(run for group in resolve_groups(root, reference) for run in group.runs)
    return Subject(runs=runs, name=_name(runs))


def find_subject(root: Path, references: Sequence[str]) -> Subject:
    """Find what references mean: runs, sets, or groups of replicated runs, which are compared."""
    asked = list(dict.fromkeys(references)) or ["latest"]
    if len(asked) == 1 and "," in asked[0]:
        asked = list(dict.fromkeys(filter(None, asked[0].split(","))))
    if any(_is_group(root, reference) for reference in asked):
        return _compared(root, asked) if len(asked) > 1 else _configuration(root, asked[0])
    found = list({one.path: one for one in (open_run_or_set(root, reference) for reference in asked)}.values())
    sets = [one for one in found if isinstance(one, StoredSet)]
    if len(found) > 1 and sets and all(one.kind in _REPLICATED for one in sets):
        return _compared(root, asked)
    runs = tuple(one for one in found if isinstance(one, StoredRun))
    return Subject(runs=runs, sets=tuple(read_set(root, one) for one in sets), name=_name(found))
