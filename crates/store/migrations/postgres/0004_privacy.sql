-- Stops of people who were forgotten. hash: keyed, of account, channel and address; the key is not in the database. sender: the stop holds for
-- this number or name of ours alone; empty: for all.
CREATE TABLE forgotten_opt_outs (
    account     INTEGER NOT NULL,
    hash        BYTEA NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    PRIMARY KEY (account, hash, sender)
);

-- People who are still to be forgotten of alerts that had not ended when they were erased. body: JSON; a row goes away when they have.
CREATE TABLE erasures (
    no          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account     INTEGER NOT NULL,
    at          BIGINT NOT NULL,
    body        TEXT NOT NULL
);
