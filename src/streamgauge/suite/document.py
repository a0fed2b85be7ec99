"""Suite files: one YAML file that says what to run and what must hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamgauge.bundle import locate
from streamgauge.errors import StreamgaugeError, closest
from streamgauge.suite.matrix import CONFIRM_ABOVE, Configuration, PlannedRun, interleave
from streamgauge.suite.orders import Order, runs_lacking
from streamgauge.suite.reading import FILE_KEYS, SETTING_KEYS, Keys, LocatedOrder, Reader
from streamgauge.suite.unfolding import Check, Unfolding
from streamgauge.units import parse_share
from streamgauge.yaml_nodes import SUITE_LIMITS, Mistakes, Node, Place, Scalar, compose, is_empty, read_text

FORMAT_VERSION = 1
REQUIRED_KEYS = ("streamgauge", "name", "runs")

# Looks a baseline up, and may refuse it by a `StreamgaugeError`.
FindBaseline = Callable[[str], object]


@dataclass(frozen=True)
class Suite:
    """A suite file that was read and found right."""

    name: str
    configurations: tuple[Configuration, ...]
    description: str = ""
    baseline: str | None = None
    orders: tuple[Order, ...] = ()
    drift: float | None = None

    def runs(self) -> list[PlannedRun]:
        """Return all single runs in their order, repetitions interleaved."""
        return list(interleave(self.configurations))

    @property
    def compares(self) -> bool:
        """Whether it asks how runs differ, with each other or with a baseline."""
        return bool(self.orders) or self.baseline is not None

    @property
    def size(self) -> int:
        """How many runs these are."""
        return sum(configuration.repetitions for configuration in self.configurations)

    @property
    def needs_confirmation(self) -> bool:
        """Whether there are enough runs that a user should be asked."""
        return self.size > CONFIRM_ABOVE

    @property
    def expected_s(self) -> float:
        """How long all runs take, about."""
        return sum(configuration.expected_s * configuration.repetitions for configuration in self.configurations)


def _check_version(node: Node, mistakes: Mistakes) -> None:
    is_known = isinstance(node, Scalar) and type(node.value) is int and node.value == FORMAT_VERSION
    if not is_known:
        written = f' "{node.text}"' if isinstance(node, Scalar) else ""
        remedy = f"this streamgauge reads version {FORMAT_VERSION}"
        mistakes.add(node.place, f"the format version{written} is not known", remedy)


def _check_order(located: LocatedOrder, repetitions: Mapping[str, int], mistakes: Mistakes) -> None:
    """Refuse an order that no runs of this file could show."""
    order = located.order
    sides = ((order.left, located.left), (order.right, located.right))
    unknown = [(name, place) for name, place in sides if name not in repetitions]
    for name, place in unknown:
        mistakes.add(place, f'no runs have the name "{name}"', closest(name, repetitions))
    if unknown:
        return
    if order.left == order.right:
        mistakes.add(located.right, f"{order.right} cannot differ from itself", "compare two names")
        return
    runs = repetitions[order.left], repetitions[order.right]
    if lack := runs_lacking(order, runs):
        what = f"{runs[0]} and {runs[1]} runs can never decide {order.text}"
        mistakes.add(located.left, what, f"use `repetitions:` with {lack}")


def _read_baseline(keys: Keys, reader: Reader, find: FindBaseline | None) -> str | None:
    reference = reader.text(keys, "baseline")
    if reference is None:
        return None
    place, what = keys["baseline"][1].place, f'there is no baseline "{reference}"'
    if find is None:
        if not reader.exists(reference):
            remedy = "write the path of a run or of a set of runs, as seen from the working directory"
            reader.mistakes.add(place, what, remedy)
        return reference
    try:
        find(reference)
    except StreamgaugeError as error:
        reader.mistakes.add(place, f"{what}: {error.what}", error.remedy or "")
    return reference


def _read_drift(keys: Keys, reader: Reader) -> float | None:
    text = reader.text(keys, "drift")
    if text is None:
        return None
    place = keys["drift"][1].place
    if "baseline" not in keys:
        reader.mistakes.add(place, "a drift needs a baseline", "add `baseline:`, or leave it out")
    try:
        return parse_share(text, where="drift")
    except StreamgaugeError:
        reader.mistakes.add(place, f'"{text}" is not a share', "write a percentage between 0% and 100%, e.g. 10%")
        return None


def _read(reader: Reader, check: Check | None, find_baseline: FindBaseline | None) -> Suite | None:
    """Read what can be read; None when it is not even a mapping."""
    mistakes = reader.mistakes
    node = compose(mistakes)
    if node is None and mistakes.found:
        return None
    if node is None or is_empty(node):
        mistakes.add(Place(1, 1), "the file is empty", "begin with `streamgauge: 1`, `name:` and `runs:`")
        return None
    keys = reader.keys(node, FILE_KEYS, "a suite file")
    if keys is None:
        return None
    for name in [name for name in REQUIRED_KEYS if name not in keys]:
        mistakes.add(node.place, f'the key "{name}" is missing', f"add `{name}:` ({FILE_KEYS[name]})")
    if "streamgauge" in keys:
        _check_version(keys["streamgauge"][1], mistakes)
    name, description = reader.name(keys) or "", reader.text(keys, "description") or ""
    baseline, drift = _read_baseline(keys, reader, find_baseline), _read_drift(keys, reader)
    inside = reader.keys(keys["defaults"][1], SETTING_KEYS, "defaults") if "defaults" in keys else None
    defaults = reader.settings(inside or {})
    thresholds, ignored, orders = reader.thresholds(keys), reader.ignored(keys), reader.orders(keys)
    before = len(mistakes.found)
    entries = list(reader.entries(keys))
    unfolding = Unfolding(mistakes, reader.root, defaults, thresholds, check, ignored)
    configurations = tuple(unfolding.configurations(entries))
    # Without what is wrong with the runs, not all names are known.
    if len(mistakes.found) == before:
        repetitions = {configuration.name: configuration.repetitions for configuration in configurations}
        for located in orders:
            _check_order(located, repetitions, mistakes)
    return Suite(name, configurations, description, baseline, tuple(located.order for located in orders), drift)


def read_suite(
    text: str,
    *,
    name: str,
    root: Path | None = None,
    check: Check | None = None,
    find_baseline: FindBaseline | None = None,
) -> Suite:
    """Read the text of a suite file; all mistakes are raised at once, as one `InvalidExperimentError`.

    `name` is how messages call the file, and `root` where relative paths in it begin, by default the working directory.
    `check` may refuse a configuration for reasons of its own, and `find_baseline` the baseline, by a
    `StreamgaugeError`; without the latter a baseline is a path that must exist.
    """
    mistakes = Mistakes(name, text)
    suite = _read(Reader(mistakes, root if root is not None else Path()), check, find_baseline)
    if mistakes.found or suite is None:
        raise mistakes.error()
    return suite


def load_suite(
    reference: str | Path,
    *,
    root: Path | None = None,
    check: Check | None = None,
    find_baseline: FindBaseline | None = None,
) -> Suite:
    """Read a suite file, or `suite:NAME`, as `read_suite` does."""
    path = locate(reference)
    text = read_text(path, SUITE_LIMITS)
    return read_suite(text, name=str(path), root=root, check=check, find_baseline=find_baseline)
