"""Sets of experiments that may be interrupted: created, or opened to resume them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.store import SetWriter, StoredSet, open_set


def open_resumable(
    root: Path,
    resume: str | None,
    *,
    kind: str,
    title: str,
    document: Mapping[str, Any],
    same: Sequence[str] = (),
    keys: Collection[str] = (),
    clock: Clock | None = None,
) -> SetWriter:
    """Create a set, or open the set `resume`; refuse to resume another experiment.

    The experiment is another one when the kind, the title or the fields `same` of the document differ, or when the
    set has runs and none of them has one of `keys`.
    """
    if resume is None:
        return SetWriter.create(root, kind=kind, title=title, document=document, clock=clock or SystemClock())
    stored = open_set(root, resume)
    if (stored.kind, stored.document["title"]) != (kind, title):
        what = f"{stored.set_id} is a set of {stored.kind} {stored.document['title']}"
        raise _refusal(what, f"choose a set of {kind} {title}")
    differing = [name for field in same for name in _differing(field, document[field], stored.document.get(field))]
    if differing:
        what = f"{stored.set_id} was made with other settings: {', '.join(differing)}"
        raise _refusal(what, "repeat the options of the interrupted experiment")
    _refuse_other_runs(stored, keys)
    return SetWriter.resume(stored)


def _refusal(what: str, remedy: str) -> UsageError:
    return UsageError(what, where="--resume", remedy=f"{remedy}, or leave --resume out")


def _differing(name: str, asked: Any, stored: Any) -> list[str]:
    """Name what differs; of a mapping, its entries."""
    if isinstance(asked, Mapping) and isinstance(stored, Mapping):
        return [key for key, value in asked.items() if value != stored.get(key)]
    return [name] if asked != stored else []


def _refuse_other_runs(stored: StoredSet, keys: Collection[str]) -> None:
    held = {member.get("key") for member in stored.document["members"]}
    if keys and held and held.isdisjoint(keys):
        what = f"none of the {len(held)} runs of {stored.set_id} is planned any more"
        raise _refusal(what, "undo the changes of settings")


@contextmanager
def interruptible(writer: SetWriter, done: Callable[[], str] | None = None) -> Iterator[None]:
    """Mark a set as interrupted when an error ends its runs; `done` says how far it is, if it can be resumed."""
    try:
        yield
    except BaseException as error:
        with suppress(StreamgaugeError):
            writer.update(status="interrupted")
        if done is not None:
            error.add_note(f"{done()}; to resume, repeat the command with --resume {writer.set_id}")
        raise
