"""What a run would do: settings, events, limits and time, worked out without Spark."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge.engine.environment import mask_secrets
from streamgauge.experiment.run import resolve_workload
from streamgauge.experiment.settings import parse_settings
from streamgauge.store import default_root
from streamgauge.workloads.parameters import parse_parameters

# Starting Spark, the checks before the load, the first micro-batch: what a run takes besides its load.
OVERHEAD_S = 35.0


def make_plan(
    workload: str,
    *,
    events: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Work out a run; arguments as for `run`."""
    chosen = resolve_workload(workload, events)
    checked = parse_parameters(chosen.parameters, parameters or {}, owner=chosen.name)
    parsed = parse_settings(**settings)
    local = re.fullmatch(r"local\[(\d+)\]", parsed.master)
    cores = int(local.group(1)) if local else None
    schedule = parsed.law.schedule(parsed.load_s)
    return {
        "workload": chosen.name,
        "question": chosen.question,
        "parameters": checked.model_dump(),
        "settings": parsed.document() | {"conf": mask_secrets(parsed.conf)},
        "cores": cores,
        "events": schedule.total,
        "events_measured": schedule.total - int(schedule.created(round(parsed.warmup_s * 1e6) - 1)),
        "max_rows_per_batch": parsed.max_rows_per_batch,
        "admission_target_s": parsed.admission_target_s,
        "source_partitions": parsed.source_partitions or cores,
        "shuffle_partitions": parsed.shuffle_partitions or cores,
        "output_mode": chosen.output_mode(checked),
        "expected_duration_s": parsed.load_s + OVERHEAD_S,
        "longest_duration_s": parsed.load_s + parsed.drain_s + OVERHEAD_S,
        "runs": str(Path(runs) if runs is not None else default_root(os.environ)),
    }
