"""Columns of bids and windows in the answers of several queries."""

from streamgauge.events import Field

AUCTION = Field("auction", "bigint", "id of the auction")
BIDDER = Field("bidder", "bigint", "id of the person who bids")
PRICE = Field("price", "bigint", "price of the bid, in cents")
CHANNEL = Field("channel", "string", "where the bid comes from")
URL = Field("url", "string", "address of the channel")
BID_TIME = Field("date_time", "timestamp", "when the bid was made")
EXTRA = Field("extra", "string", "padding of the bid")
BID = (AUCTION, BIDDER, PRICE, BID_TIME, EXTRA)
WINDOW_START = Field("window_start", "timestamp", "start of the window")
