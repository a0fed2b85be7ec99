"""One workload per operator, over plain keyed records: what each operator costs by itself."""
