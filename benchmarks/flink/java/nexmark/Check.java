package nexmark;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.math.BigDecimal;
import java.security.MessageDigest;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/** What a query returns, in few numbers: rows and, per column, a sum that any other system can compute as well. */
final class Check {
    private static final String[] FIELDS = {
        "id name email_address credit_card city state date_time extra",
        "id item_name description initial_bid reserve date_time expires seller category extra",
        "auction bidder price date_time extra channel url"
    };

    private Check() {}

    /** Counts rows that were added minus rows that were taken back; so do the sums. */
    static String results(Suite suite, String query, long events, long rate) throws Exception {
        Table table = suite.query(suite.environment(), query, events, rate);
        List<String> columns = table.getResolvedSchema().getColumnNames();
        Map<String, BigDecimal> sums = new LinkedHashMap<>();
        long rows = 0;
        try (CloseableIterator<Row> changes = table.execute().collect()) {
            while (changes.hasNext()) {
                Row row = changes.next();
                boolean added = row.getKind() == RowKind.INSERT || row.getKind() == RowKind.UPDATE_AFTER;
                rows += added ? 1 : -1;
                for (int i = 0; i < columns.size(); i++) {
                    BigDecimal value = number(row.getField(i));
                    sums.merge(columns.get(i), added ? value : value.negate(), BigDecimal::add);
                }
            }
        }
        return json(query, rows, sums);
    }

    /** Whole numbers stand for themselves, also in text; other text for its length, times for their milliseconds. */
    private static BigDecimal number(Object value) {
        if (value instanceof LocalDateTime time) {
            return BigDecimal.valueOf(time.toInstant(ZoneOffset.UTC).toEpochMilli() - Event.BASE_TIME_MS);
        }
        String text = value.toString();
        return value instanceof Number || text.matches("-?[0-9]+")
                ? new BigDecimal(text)
                : BigDecimal.valueOf(text.length());
    }

    private static String json(String query, long rows, Map<String, BigDecimal> sums) {
        StringBuilder out = new StringBuilder("{\"query\": \"" + query + "\", \"rows\": " + rows);
        sums.forEach((column, sum) -> out.append(", \"").append(column).append("\": ").append(sum.toPlainString()));
        return out.append("}").toString();
    }

    /** Hashes the events, one line each: a letter for the type and all fields, with tabs between them. */
    static String events(long events, long rate) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        EventRow row = new EventRow(new Event(rate), Column.values());
        for (long number = 0; number < events; number++) {
            row.event.become(number);
            digest.update(line(row).getBytes(US_ASCII));
        }
        return "{\"query\": \"events\", \"rows\": " + events + ", \"sha256\": \""
                + HexFormat.of().formatHex(digest.digest()) + "\"}";
    }

    private static String line(EventRow row) {
        int type = row.event.type();
        StringBuilder line = new StringBuilder().append("PAB".charAt(type));
        for (String name : FIELDS[type].split(" ")) {
            line.append('\t').append(text(row, Column.named(name)));
        }
        return line.append('\n').toString();
    }

    private static Object text(RowData row, Column column) {
        int position = column.ordinal();
        return switch (column) {
            case ID, INITIAL_BID, RESERVE, SELLER, CATEGORY, AUCTION, BIDDER, PRICE -> row.getLong(position);
            case DATE_TIME, EXPIRES -> row.getTimestamp(position, 3).getMillisecond();
            default -> row.getString(position);
        };
    }
}
