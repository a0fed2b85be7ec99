"""The results of a suite: its runs, their thresholds and assertions, and the comparison with a baseline."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.suite import BaselineResult, Judgement, Order, RunResult, Suite
from streamgauge.verdict import Verdict


@dataclass(frozen=True)
class SuiteResult:
    """The results of a suite.

    Orders and baseline do not count `contended` runs, which were re-run; `dropped` are runs of the set that the suite
    no longer plans.
    """

    set_id: str
    suite: Suite
    root: Path
    results: tuple[RunResult, ...]
    baseline: tuple[BaselineResult, ...] = ()
    contended: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    orders: tuple[tuple[Order, Judgement], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict over all runs, their thresholds, the orders and the baseline."""
        of_runs = [result.combined or Verdict.UNKNOWN for result in self.results]
        of_orders = [judgement.verdict for _, judgement in self.orders]
        return Verdict.combine([*of_runs, *of_orders, *(compared.verdict for compared in self.baseline)])

    def document(self) -> dict[str, Any]:
        """Return the results; the keys are those of `run SUITE --json`."""
        return {
            "set_id": self.set_id,
            "suite": self.suite.name,
            "verdict": self.verdict.value,
            "runs": [_run_document(result) for result in self.results],
            "orders": [_order_document(order, judgement) for order, judgement in self.orders],
            "baseline": self._baseline_document(),
            "slowed": list(self.contended),
            "dropped": list(self.dropped),
        }

    def _baseline_document(self) -> dict[str, Any] | None:
        if self.suite.baseline is None:
            return None
        return {
            "reference": self.suite.baseline,
            "verdict": Verdict.combine(compared.verdict for compared in self.baseline).value,
            "configurations": [
                {
                    "name": compared.name,
                    "verdict": compared.verdict.value,
                    "reason": compared.reason,
                    "comparison": compared.comparison,
                }
                for compared in self.baseline
            ],
        }


def _run_document(result: RunResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "workload": result.workload,
        "run_id": result.run_id,
        "verdict": (result.combined or Verdict.UNKNOWN).value,
        "reasons": list(result.all_reasons),
        "took_s": result.took_s,
        "thresholds": [
            {
                "text": threshold.text,
                "verdict": judgement.verdict.value,
                "reason": judgement.text,
                "value": judgement.left,
                "limit": judgement.right,
            }
            for threshold, judgement in result.judgements
        ],
    }


def _order_document(order: Order, judgement: Judgement) -> dict[str, Any]:
    return {
        "text": order.text,
        "metric": order.metric,
        "verdict": judgement.verdict.value,
        "reason": judgement.text,
        "left": {"name": order.left, "median": judgement.left},
        "right": {"name": order.right, "median": judgement.right},
    }
