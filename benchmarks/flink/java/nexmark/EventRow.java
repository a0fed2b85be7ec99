package nexmark;

import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RawValueData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.variant.Variant;

/** An event as a Flink row of the given columns. The same object serves for all events of a reader. */
final class EventRow implements RowData {
    final Event event;
    private final Column[] columns;

    EventRow(Event event, Column[] columns) {
        this.event = event;
        this.columns = columns;
    }

    @Override
    public int getArity() {
        return columns.length;
    }

    @Override
    public RowKind getRowKind() {
        return RowKind.INSERT;
    }

    @Override
    public void setRowKind(RowKind kind) {
        if (kind != RowKind.INSERT) {
            throw new UnsupportedOperationException("events are only inserted");
        }
    }

    @Override
    public boolean isNullAt(int position) {
        return !columns[position].belongsTo(event.type());
    }

    @Override
    public int getInt(int position) {
        return event.type();
    }

    @Override
    public long getLong(int position) {
        return switch (columns[position]) {
            case ID -> event.id();
            case AUCTION -> event.auction();
            case BIDDER -> event.bidder();
            case PRICE -> event.price();
            case SELLER -> event.seller();
            case CATEGORY -> event.category();
            case INITIAL_BID -> event.initialBid();
            case RESERVE -> event.reserve();
            default -> throw unsupported();
        };
    }

    @Override
    public TimestampData getTimestamp(int position, int precision) {
        return TimestampData.fromEpochMillis(columns[position] == Column.EXPIRES ? event.expiresMs() : event.timeMs());
    }

    @Override
    public StringData getString(int position) {
        return StringData.fromBytes(
                switch (columns[position]) {
                    case NAME -> event.name();
                    case EMAIL_ADDRESS -> event.email();
                    case CREDIT_CARD -> event.creditCard();
                    case CITY -> event.city();
                    case STATE -> event.state();
                    case ITEM_NAME -> event.itemName();
                    case DESCRIPTION -> event.description();
                    case CHANNEL -> event.channel();
                    case URL -> event.url();
                    case EXTRA -> event.extra();
                    default -> throw unsupported();
                });
    }

    private static UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException("no column of the events has this type");
    }

    @Override
    public boolean getBoolean(int position) {
        throw unsupported();
    }

    @Override
    public byte getByte(int position) {
        throw unsupported();
    }

    @Override
    public short getShort(int position) {
        throw unsupported();
    }

    @Override
    public float getFloat(int position) {
        throw unsupported();
    }

    @Override
    public double getDouble(int position) {
        throw unsupported();
    }

    @Override
    public DecimalData getDecimal(int position, int precision, int scale) {
        throw unsupported();
    }

    @Override
    public <T> RawValueData<T> getRawValue(int position) {
        throw unsupported();
    }

    @Override
    public byte[] getBinary(int position) {
        throw unsupported();
    }

    @Override
    public ArrayData getArray(int position) {
        throw unsupported();
    }

    @Override
    public MapData getMap(int position) {
        throw unsupported();
    }

    @Override
    public RowData getRow(int position, int fields) {
        throw unsupported();
    }

    @Override
    public Variant getVariant(int position) {
        throw unsupported();
    }
}
