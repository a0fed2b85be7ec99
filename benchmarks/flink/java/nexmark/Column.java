package nexmark;

import java.util.Locale;

/** What a table of events can have as columns, by name. */
enum Column {
    EVENT_TYPE(7),
    ID(3),
    NAME(1),
    EMAIL_ADDRESS(1),
    CREDIT_CARD(1),
    CITY(1),
    STATE(1),
    ITEM_NAME(2),
    DESCRIPTION(2),
    INITIAL_BID(2),
    RESERVE(2),
    EXPIRES(2),
    SELLER(2),
    CATEGORY(2),
    AUCTION(4),
    BIDDER(4),
    PRICE(4),
    CHANNEL(4),
    URL(4),
    DATE_TIME(7),
    EXTRA(7);

    private final int eventTypes;

    /** `eventTypes` has a bit for each type of event (person, auction, bid) that has this column. */
    Column(int eventTypes) {
        this.eventTypes = eventTypes;
    }

    boolean belongsTo(int eventType) {
        return (eventTypes >> eventType & 1) == 1;
    }

    static Column named(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }
}
