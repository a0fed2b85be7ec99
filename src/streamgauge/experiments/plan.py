"""What a run would do: settings, events, limits and time, worked out without Spark."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from streamgauge.engine.engine import find_engine
from streamgauge.running.explore import SHARE, explores
from streamgauge.running.lifecycle import prepare
from streamgauge.running.modes import local_slots
from streamgauge.secrets import mask_secrets
from streamgauge.settings.keywords import RunKeywords
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.signature import takes_settings
from streamgauge.store import runs_root
from streamgauge.suite.matrix import OVERHEAD_S


def _longest_s(settings: RunSettings) -> float:
    """Return how long the load may last, the wait for its last events included."""
    offline_s = 0.0 if settings.load == "open" else replace(settings, load="offline").deadline_s
    return offline_s if settings.is_offline else offline_s + settings.load_s + settings.drain_s


@takes_settings("run")
def make_plan(
    workload: str,
    *,
    runs: str | Path | None = None,
    **settings: Unpack[RunKeywords],
) -> dict[str, Any]:
    """Work out a run; arguments as for `run`. No code of the user is executed."""
    chosen, checked, parsed = prepare(workload, settings, import_code=False)
    cores = local_slots(parsed)
    schedule = parsed.law.schedule(parsed.load_s)
    explored_s = SHARE * parsed.duration_s if explores(parsed, chosen) else 0.0
    return {
        "workload": chosen.name,
        "question": chosen.question,
        "engine": find_engine(parsed.engine).name,
        "parameters": {name: getattr(checked, name) for name in type(checked).model_fields},
        "settings": parsed.document() | {"conf": mask_secrets(parsed.conf)},
        "cores": cores,
        "arrivals": parsed.law.describe(),
        "mean_rate_per_s": parsed.law.mean_rate_per_s(parsed.load_s),
        "max_rate_per_s": parsed.law.max_rate_per_s(parsed.load_s),
        "events": schedule.total,
        "events_measured": schedule.total - int(schedule.created(round(parsed.warmup_s * 1e6) - 1)),
        "max_rows_per_batch": parsed.max_rows_per_batch,
        "admission_target_s": parsed.admission_target_s,
        "source_partitions": parsed.source_partitions or cores,
        "shuffle_partitions": parsed.shuffle_partitions or cores,
        "output_mode": chosen.output_mode(checked),
        "warnings": list(chosen.rules.warnings),
        "expected_duration_s": parsed.load_s + explored_s + OVERHEAD_S if parsed.load == "open" else None,
        "longest_duration_s": _longest_s(parsed) + explored_s + OVERHEAD_S,
        "runs": str(runs_root(runs)),
    }
