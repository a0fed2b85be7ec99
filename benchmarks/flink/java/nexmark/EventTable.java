package nexmark;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.source.DataStreamScanProvider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.abilities.SupportsWatermarkPushDown;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.DataType;

/**
 * The table of all events, with watermarks made inside the source. It takes no projection: fields are computed when
 * they are read, and without projections all views of a query share one plain scan.
 */
final class EventTable implements ScanTableSource, SupportsWatermarkPushDown {
    private final long events;
    private final long eventsPerSecond;
    private final DataType rowType;
    private WatermarkStrategy<RowData> watermarks = WatermarkStrategy.noWatermarks();

    EventTable(long events, long eventsPerSecond, DataType rowType) {
        this.events = events;
        this.eventsPerSecond = eventsPerSecond;
        this.rowType = rowType;
    }

    @Override
    public ChangelogMode getChangelogMode() {
        return ChangelogMode.insertOnly();
    }

    @Override
    public void applyWatermark(WatermarkStrategy<RowData> strategy) {
        watermarks = strategy;
    }

    @Override
    public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
        Column[] columns = DataType.getFieldNames(rowType).stream().map(Column::named).toArray(Column[]::new);
        EventSource source = new EventSource(events, eventsPerSecond, columns);
        WatermarkStrategy<RowData> strategy = watermarks;
        InternalTypeInfo<RowData> type = InternalTypeInfo.of(rowType.getLogicalType());
        return new DataStreamScanProvider() {
            @Override
            public DataStream<RowData> produceDataStream(ProviderContext provider, StreamExecutionEnvironment env) {
                return env.fromSource(source, strategy, "events", type);
            }

            @Override
            public boolean isBounded() {
                return true;
            }
        };
    }

    @Override
    public DynamicTableSource copy() {
        EventTable copy = new EventTable(events, eventsPerSecond, rowType);
        copy.watermarks = watermarks;
        return copy;
    }

    @Override
    public String asSummaryString() {
        return "NEXMark events";
    }
}
