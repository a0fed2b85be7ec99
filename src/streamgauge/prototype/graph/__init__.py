"""The graph of a prototype: sources, tasks, chains, rates, costs, stages, layout."""
