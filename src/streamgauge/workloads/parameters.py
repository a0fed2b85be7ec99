"""Reading and describing the parameters that users set with `--set name=value`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.events import Parameters
from streamgauge.workloads.workload import Workload


@dataclass(frozen=True)
class ParameterDescription:
    """One parameter as `describe` shows it."""

    name: str
    domain: str
    default: Any
    effect: str


def _domain(field: FieldInfo) -> str:
    if field.annotation is bool:
        return "true, false"
    if get_origin(field.annotation) is Literal:
        return ", ".join(map(str, get_args(field.annotation)))
    low = next((m.ge for m in field.metadata if hasattr(m, "ge")), None)
    high = next((m.le for m in field.metadata if hasattr(m, "le")), None)
    kind = "whole number" if field.annotation is int else "number"
    return f"{kind} {low:,} to {high:,}" if low is not None and high is not None else kind


def describe_parameters(model: type[Parameters]) -> list[ParameterDescription]:
    """List the parameters with their domains, defaults and effects."""
    return [
        ParameterDescription(name, _domain(field), field.default, field.description or "")
        for name, field in model.model_fields.items()
    ]


def parse_parameters(model: type[Parameters], values: Mapping[str, Any], *, owner: str) -> Parameters:
    """Read parameters given as text or as values; all mistakes are reported at once."""
    known = model.model_fields
    unknown = [name for name in values if name not in known]
    if unknown:
        what = f"{owner} has no parameter " + ", ".join(f'"{name}"' for name in unknown)
        remedy = closest(unknown[0], known) if known else f"{owner} has no parameters"
        raise UsageError(what, where="--set", remedy=remedy)
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        wrong = [str(problem["loc"][0]) for problem in error.errors() if problem["loc"]]
        raise InvalidExperimentError(
            "; ".join(f'{name}="{values[name]}" is outside its domain' for name in wrong),
            where="--set",
            remedy="; ".join(f"{name}: {_domain(known[name])}" for name in wrong),
        ) from None


def choose_variant(workload: Workload, values: Mapping[str, Any]) -> tuple[Workload, Parameters]:
    """Return the definition of the workload that the parameters ask for, and the parameters with its defaults."""
    chosen = workload.variants.get(str(values.get("semantics")), workload)
    return chosen, parse_parameters(chosen.parameters, values, owner=workload.name)
