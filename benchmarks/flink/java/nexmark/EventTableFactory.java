package nexmark;

import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;

/** Makes `'connector' = 'nexmark-events'` known to Flink SQL. */
public final class EventTableFactory implements DynamicTableSourceFactory {
    private static final ConfigOption<Long> EVENTS = ConfigOptions.key("events").longType().noDefaultValue();
    private static final ConfigOption<Long> RATE = ConfigOptions.key("events-per-second").longType().noDefaultValue();

    @Override
    public String factoryIdentifier() {
        return "nexmark-events";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of(EVENTS, RATE);
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of();
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        ReadableConfig options = helper.getOptions();
        return new EventTable(options.get(EVENTS), options.get(RATE), context.getPhysicalRowDataType());
    }
}
