"""The sink that the settings of a run name."""

from streamgauge.errors import InvalidExperimentError
from streamgauge.events import Parameters
from streamgauge.running.sinks.none import NoSink
from streamgauge.running.sinks.sink import Sink
from streamgauge.settings.run_settings import RunSettings
from streamgauge.workloads import Workload


def open_sink(settings: RunSettings, workload: Workload, parameters: Parameters) -> Sink:
    """Return the sink of a run, and see that it is there and takes what the workload emits."""
    if settings.sink == "noop":
        return NoSink()
    if workload.sink.each_batch is not None or workload.sink.folders:
        raise InvalidExperimentError(
            f"{workload.name} takes care of its results itself", where="--sink", remedy="leave --sink out"
        )
    if settings.sink == "kafka":
        from streamgauge.running.sinks.kafka import RESULTS, KafkaSink, kafka_place, topic_name

        topic = topic_name(settings, workload) + RESULTS
        return KafkaSink(kafka_place(settings), topic, workload, settings.source_partitions or 1)
    from streamgauge.running.sinks.redis import YSB_COLUMNS, RedisSink, redis_address

    if tuple(field.name for field in workload.output) != YSB_COLUMNS:
        raise InvalidExperimentError(
            f"the layout in Redis is that of YSB, and {workload.name} emits other columns",
            where="--sink redis",
            remedy="use the workload ysb, or --sink kafka",
        )
    from streamgauge.workloads.ysb.redis_layout import connect_redis

    address = redis_address(settings)
    connect_redis(address).close()
    return RedisSink(address, parameters)
