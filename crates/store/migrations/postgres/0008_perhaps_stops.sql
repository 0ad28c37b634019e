-- Words with a stop in them, until a person decides whether they are one. sender: our number or name they were written to.
CREATE TABLE perhaps_stops (
    no          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account     INTEGER NOT NULL,
    channel     SMALLINT NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    text        TEXT NOT NULL,
    at          BIGINT NOT NULL,
    UNIQUE (account, channel, address)
);
