-- Words with a stop in them, until a person decides whether they are one. sender: our number or name they were written to.
CREATE TABLE perhaps_stops (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    account     INTEGER NOT NULL,
    channel     INTEGER NOT NULL,
    address     TEXT NOT NULL,
    sender      TEXT NOT NULL,
    text        TEXT NOT NULL,
    at          INTEGER NOT NULL,
    UNIQUE (account, channel, address)
) STRICT;
