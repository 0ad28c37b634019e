-- Stops of people who were forgotten. hash: keyed, of account, channel and address; the key is not in the database. sender: the stop holds for
-- this number or name of ours alone; empty: for all.
CREATE TABLE forgotten_opt_outs (
    account     INTEGER NOT NULL,
    hash        BLOB NOT NULL,
    sender      TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (account, hash, sender)
) STRICT, WITHOUT ROWID;

-- People who are still to be forgotten of alerts that had not ended when they were erased. body: JSON; a row goes away when they have.
CREATE TABLE erasures (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    account     INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    body        TEXT NOT NULL
) STRICT;
