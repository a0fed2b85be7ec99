"""NEXMark: 24 queries over an on-line auction."""
