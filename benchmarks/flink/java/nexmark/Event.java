package nexmark;

import static java.nio.charset.StandardCharsets.US_ASCII;

/**
 * One event at a time, a pure function of its number. A field is computed when it is read, at most once per event:
 * fields before it in the order of draws only move the random generator.
 */
final class Event {
    static final int PERSON = 0;
    static final int AUCTION = 1;
    static final int BID = 2;
    static final long BASE_TIME_MS = 1_436_918_400_000L;

    private static final int EVENTS_PER_ROUND = 50;
    private static final int AUCTIONS_PER_ROUND = 3;
    private static final long FIRST_ID = 1000;
    private static final long FIRST_CATEGORY = 10;
    private static final int CATEGORIES = 5;
    private static final int ID_LEAD = 10;
    private static final int IDS_PER_HOT_ID = 100;
    private static final int HOT_AUCTION_RATIO = 2;
    private static final int HOT_PERSON_RATIO = 4;
    private static final int ACTIVE_PEOPLE = 1000;
    private static final int AUCTIONS_IN_FLIGHT = 100;
    private static final int AUCTION_LIFE_EVENTS = AUCTIONS_IN_FLIGHT * EVENTS_PER_ROUND / AUCTIONS_PER_ROUND;
    private static final String[] FIRST_NAMES =
            "Peter,Paul,Luke,John,Saul,Vicky,Kate,Julie,Sarah,Deiter,Walter".split(",");
    private static final String[] LAST_NAMES =
            "Shultz,Abrams,Spencer,White,Bartels,Walton,Smith,Jones,Noris".split(",");
    private static final byte[][] CITIES =
            bytes("Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne");
    private static final byte[][] STATES = bytes("AZ,CA,ID,OR,WA,WY");

    private final long eventsPerSecond;
    private final Draws draws = new Draws();
    private final byte[] scratch = new byte[100];
    private long number;
    private int type;
    private int stage;
    private long lastPerson;
    private long lastAuction;

    private long timeMs;
    private long auctionOrSeller;
    private long bidderOrCategory;
    private long expiresMs;
    private double priceDraw;
    private double reserveDraw;
    private long price;
    private byte[] name;
    private byte[] email;
    private byte[] creditCard;
    private byte[] city;
    private byte[] state;
    private byte[] itemName;
    private byte[] description;
    private byte[] extra;
    private int extraLength;
    private long extraState;
    private int channel;

    Event(long eventsPerSecond) {
        this.eventsPerSecond = eventsPerSecond;
    }

    private static byte[][] bytes(String names) {
        String[] parts = names.split(",");
        byte[][] all = new byte[parts.length][];
        for (int i = 0; i < parts.length; i++) {
            all[i] = parts[i].getBytes(US_ASCII);
        }
        return all;
    }

    void become(long newNumber) {
        number = newNumber;
        long round = newNumber / EVENTS_PER_ROUND;
        int place = (int) (newNumber - round * EVENTS_PER_ROUND);
        lastPerson = round;
        if (place == 0) {
            type = PERSON;
            lastAuction = round * AUCTIONS_PER_ROUND - 1;
        } else if (place <= AUCTIONS_PER_ROUND) {
            type = AUCTION;
            lastAuction = round * AUCTIONS_PER_ROUND + place - 1;
        } else {
            type = BID;
            lastAuction = round * AUCTIONS_PER_ROUND + AUCTIONS_PER_ROUND - 1;
        }
        timeMs = timeMs(newNumber);
        stage = 0;
        price = -1;
        extra = null;
    }

    private long timeMs(long ofNumber) {
        return BASE_TIME_MS + ofNumber * 1000 / eventsPerSecond;
    }

    int type() {
        return type;
    }

    long id() {
        return FIRST_ID + (type == PERSON ? lastPerson : lastAuction);
    }

    long timeMs() {
        return timeMs;
    }

    // Bids: auction, bidder, price, extra, channel.

    private void drawBid(int wanted) {
        if (stage < 1) {
            draws.seed(number);
            boolean hot = draws.nextInt(HOT_AUCTION_RATIO) > 0;
            auctionOrSeller = FIRST_ID + (hot ? hot(lastAuction) : anyAuction());
            stage = 1;
        }
        if (stage < 2 && wanted >= 2) {
            boolean hot = draws.nextInt(HOT_PERSON_RATIO) > 0;
            bidderOrCategory = FIRST_ID + (hot ? hot(lastPerson) + 1 : anyPerson());
            stage = 2;
        }
        if (stage < 3 && wanted >= 3) {
            priceDraw = draws.nextDouble();
            stage = 3;
        }
        if (stage < 4 && wanted >= 4) {
            drawExtra(32, 100);
            stage = 4;
        }
        if (stage < 5 && wanted >= 5) {
            boolean hot = draws.nextInt(2) > 0;
            channel = hot ? draws.nextInt(Urls.HOT) : Urls.HOT + draws.nextInt(Urls.NUMBERED);
            stage = 5;
        }
    }

    private static long hot(long lastId) {
        return lastId / IDS_PER_HOT_ID * IDS_PER_HOT_ID;
    }

    private long anyAuction() {
        long oldest = Math.max(lastAuction - AUCTIONS_IN_FLIGHT, 0);
        return oldest + draws.nextLong(lastAuction - oldest + 1 + ID_LEAD);
    }

    private long anyPerson() {
        long people = lastPerson + 1;
        long active = Math.min(people, ACTIVE_PEOPLE);
        return people - active + draws.nextLong(active + ID_LEAD);
    }

    private static long price(double draw) {
        return Math.round(Math.pow(10.0, draw * 6.0) * 100.0);
    }

    private void drawExtra(int size, int average) {
        extraLength = Words.paddingLength(draws, size, average);
        extraState = draws.state();
        draws.skip(Words.drawsOfPadding(extraLength));
    }

    long auction() {
        drawBid(1);
        return auctionOrSeller;
    }

    long bidder() {
        drawBid(2);
        return bidderOrCategory;
    }

    long price() {
        if (price < 0) {
            drawBid(3);
            price = price(priceDraw);
        }
        return price;
    }

    byte[] channel() {
        drawBid(5);
        return Urls.CHANNELS[channel];
    }

    byte[] url() {
        drawBid(5);
        return Urls.URLS[channel];
    }

    // Auctions: seller, category, initial bid, expiry, then texts, reserve and extra.

    private void drawAuction(int wanted) {
        if (stage < 1) {
            draws.seed(number);
            boolean hot = draws.nextInt(HOT_PERSON_RATIO) > 0;
            auctionOrSeller = FIRST_ID + (hot ? hot(lastPerson) : anyPerson());
            bidderOrCategory = FIRST_CATEGORY + draws.nextInt(CATEGORIES);
            priceDraw = draws.nextDouble();
            long lifeMs = timeMs(number + AUCTION_LIFE_EVENTS) - timeMs;
            expiresMs = timeMs + 1 + draws.nextLong(Math.max(2 * lifeMs, 1));
            stage = 1;
        }
        if (stage < 2 && wanted >= 2) {
            itemName = Words.trimmed(scratch, Words.draw(draws, 20, (byte) ' ', scratch));
            description = Words.trimmed(scratch, Words.draw(draws, 100, (byte) ' ', scratch));
            reserveDraw = draws.nextDouble();
            drawExtra(48 + itemName.length + description.length, 500);
            stage = 2;
        }
    }

    long seller() {
        drawAuction(1);
        return auctionOrSeller;
    }

    long category() {
        drawAuction(1);
        return bidderOrCategory;
    }

    long initialBid() {
        if (price < 0) {
            drawAuction(1);
            price = price(priceDraw);
        }
        return price;
    }

    long expiresMs() {
        drawAuction(1);
        return expiresMs;
    }

    byte[] itemName() {
        drawAuction(2);
        return itemName;
    }

    byte[] description() {
        drawAuction(2);
        return description;
    }

    long reserve() {
        drawAuction(2);
        return initialBid() + price(reserveDraw);
    }

    // Persons: all fields at once, only 2 % of the events are persons.

    private void drawPerson() {
        if (stage > 0) {
            return;
        }
        draws.seed(number);
        String first = FIRST_NAMES[draws.nextInt(FIRST_NAMES.length)];
        name = (first + " " + LAST_NAMES[draws.nextInt(LAST_NAMES.length)]).getBytes(US_ASCII);
        email = drawEmail();
        creditCard = drawCreditCard();
        city = CITIES[draws.nextInt(CITIES.length)];
        state = STATES[draws.nextInt(STATES.length)];
        drawExtra(8 + name.length + email.length + creditCard.length + city.length + state.length, 200);
        stage = 1;
    }

    private byte[] drawEmail() {
        byte[] user = Words.trimmed(scratch, Words.draw(draws, 7, (byte) ' ', scratch));
        byte[] host = Words.trimmed(scratch, Words.draw(draws, 5, (byte) ' ', scratch));
        byte[] address = new byte[user.length + 1 + host.length + 4];
        System.arraycopy(user, 0, address, 0, user.length);
        address[user.length] = '@';
        System.arraycopy(host, 0, address, user.length + 1, host.length);
        System.arraycopy(new byte[] {'.', 'c', 'o', 'm'}, 0, address, address.length - 4, 4);
        return address;
    }

    private byte[] drawCreditCard() {
        byte[] digits = new byte[19];
        for (int group = 0; group < 4; group++) {
            int value = draws.nextInt(10_000);
            for (int place = group * 5 + 3; place >= group * 5; place--) {
                digits[place] = (byte) ('0' + value % 10);
                value /= 10;
            }
            if (group < 3) {
                digits[group * 5 + 4] = ' ';
            }
        }
        return digits;
    }

    byte[] name() {
        drawPerson();
        return name;
    }

    byte[] email() {
        drawPerson();
        return email;
    }

    byte[] creditCard() {
        drawPerson();
        return creditCard;
    }

    byte[] city() {
        drawPerson();
        return city;
    }

    byte[] state() {
        drawPerson();
        return state;
    }

    byte[] extra() {
        if (extra == null) {
            drawUpToExtra();
            long after = draws.state();
            draws.restore(extraState);
            extra = Words.padding(draws, extraLength);
            draws.restore(after);
        }
        return extra;
    }

    private void drawUpToExtra() {
        switch (type) {
            case PERSON -> drawPerson();
            case AUCTION -> drawAuction(2);
            default -> drawBid(4);
        }
    }
}
