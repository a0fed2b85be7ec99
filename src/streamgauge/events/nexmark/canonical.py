"""NEXMark's events as text, one line each, to compare data sets of different programs by a digest."""

import pyarrow as pa
import pyarrow.compute as pc

PERSON = ("id", "name", "email_address", "credit_card", "city", "state", "date_time", "person_extra")
AUCTION = (
    *("id", "item_name", "description", "initial_bid", "reserve"),
    *("date_time", "expires", "seller", "category", "auction_extra"),
)
BID = ("auction", "bidder", "price", "date_time", "extra")
CHANNEL = ("channel", "url")


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()), 1000)
    return column.cast(pa.string())


def canonical_lines(table: pa.Table, *, with_channel: bool) -> bytes:
    """Return a table of events as lines in UTF-8: P, A or B, then the fields of the type after a tab each.

    Times are milliseconds since the epoch. Without `with_channel` a bid has Beam's fields only.
    """
    fields = {"P": PERSON, "A": AUCTION, "B": (*BID, *CHANNEL) if with_channel else BID}
    texts = {name: _text(table[name]) for name in {*PERSON, *AUCTION, *BID, *CHANNEL}}
    # A line of the wrong type is missing a field, which makes it null.
    lines = [pc.binary_join_element_wise(kind, *(texts[f] for f in fields[kind]), "\t") for kind in fields]
    return "".join(f"{line}\n" for line in pc.coalesce(*lines).to_pylist()).encode()
