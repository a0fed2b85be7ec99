from dataclasses import replace

from streamgauge.machine.process import ROLES
from streamgauge.measure.records import MachineReading, ResourceSample
from streamgauge.store.resource_table import resources_table, sample_from_row


def sample(wall_s, monotonic_s, *, cpu_s=0.0, memory_bytes=0):
    return ResourceSample(
        at_us=round(wall_s * 1e6),
        monotonic_s=monotonic_s,
        cpu_s=dict.fromkeys(ROLES, cpu_s),
        memory_bytes=dict.fromkeys(ROLES, memory_bytes),
        stolen_s=0.0,
    )


def test_the_table_has_a_row_per_sample_and_columns_per_role():
    table = resources_table([sample(1.0, 0.0, cpu_s=0.5, memory_bytes=10), sample(2.0, 1.0)])
    assert table.num_rows == 2
    assert {f"{role}_{what}" for role in ROLES for what in ("cpu_s", "memory_bytes")} < set(table.column_names)
    assert table.to_pylist()[0]["java_cpu_s"] == 0.5
    assert resources_table([]).num_rows == 0


def test_samples_are_read_back_from_the_table_as_they_were():
    machine = MachineReading(cores=2, busy_s=9.0, own_s=3.0, periods=4, throttled_periods=1)
    whole = replace(sample(1.0, 0.5), machine=machine, reference_loop_mean_s=6e-4, reference_loop_least_s=5e-4)
    assert [sample_from_row(row) for row in resources_table([whole, whole]).to_pylist()] == [whole, whole]


def test_tables_of_earlier_versions_are_read():
    row = resources_table([sample(1.0, 0.5)]).to_pylist()[0]
    old = {name: value for name, value in row.items() if not name.startswith(("machine_", "reference_", "monotonic_"))}
    found = sample_from_row(old | {"look_mean_s": 6e-4, "look_least_s": 5e-4})
    assert (found.reference_loop_mean_s, found.reference_loop_least_s) == (6e-4, 5e-4)
    assert (found.machine, found.monotonic_s) == (None, 1.0)
    assert sample_from_row(old).reference_loop_mean_s is None
