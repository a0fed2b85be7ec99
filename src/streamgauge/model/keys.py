"""A model whose keys are known: rows per partition follow for any number of partitions, and for other keys."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from streamgauge.model.fitted_query import FittedModel
from streamgauge.model.query import QueryModel
from streamgauge.model.rows import Keys

# How much of the rows may be in other partitions than keys say, so that these still explain a stage.
SAME = 0.02


def explained_stages(model: FittedModel, measured: Keys) -> tuple[int, ...]:
    """Return the stages behind an exchange whose rows were spread as those of these keys would be."""
    found = []
    for k, stage in enumerate(model.query.stages):
        if stage.reads and len(stage.shares) > 1:
            apart = np.abs(np.asarray(stage.shares) - measured.shares(len(stage.shares))).sum() / 2
            found += [k] if apart <= SAME else []
    return tuple(found)


def with_keys(model: FittedModel, stages: Collection[int], keys: Keys) -> FittedModel:
    """Return the model of the query when these are the keys of some of its stages."""

    def change(query: QueryModel) -> QueryModel:
        changed = (replace(stage, keys=keys) if k in stages else stage for k, stage in enumerate(query.stages))
        return replace(query, stages=tuple(changed))

    return model.changed(change)
