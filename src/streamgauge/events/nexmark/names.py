"""Constants of Apache Beam's NEXMark generator, and the lists that names and places are drawn from."""

PERSON, AUCTION, BID = 0, 1, 2

FIRST_PERSON_ID = 1000
FIRST_AUCTION_ID = 1000
FIRST_CATEGORY_ID = 10
CATEGORIES = 5

# Of every 50 consecutive event ids the first is a person, the next three are auctions, the others bids.
PERSONS_PER_CYCLE = 1
AUCTIONS_PER_CYCLE = 3
BIDS_PER_CYCLE = 46
CYCLE = PERSONS_PER_CYCLE + AUCTIONS_PER_CYCLE + BIDS_PER_CYCLE

# Events refer to ids up to this far ahead of the last one created.
PERSON_ID_LEAD = 10
AUCTION_ID_LEAD = 10
# One id in 100 is hot.
HOT_EVERY = 100

# Multiplying by this prime permutes the events of an out-of-order group.
OUT_OF_ORDER_PRIME = 953

MIN_STRING_LENGTH = 3
# Texts are shorter than these.
USER_LENGTH, HOST_LENGTH = 7, 5
ITEM_NAME_LENGTH, DESCRIPTION_LENGTH = 20, 100
# What the fields of fixed size count for when `extra` is padded.
PERSON_FIXED_BYTES = 8
AUCTION_FIXED_BYTES = 48
BID_FIXED_BYTES = 32

HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
HOT_CHANNELS_RATIO = 2
CHANNELS = 10_000

FIRST = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")

LATE_PREFIX = "LATE: "
# The fields of `streamgauge.events.draw` that decide which events are delayed, and by how much.
DELAYED_FIELD, DELAY_FIELD = 1, 2
DELAY_DRAWS = 1_000_000
