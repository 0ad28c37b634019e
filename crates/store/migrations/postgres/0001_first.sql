-- The meaning of SQLite's first three forms. Every row has its account, as a number of `accounts`. Times are microseconds since 1970 UTC, but
-- those of leases and imports, which are this server's. Keys sort by their octets.

-- Who this database is, so that what belongs to it (a bus) can be told by it. One row.
CREATE TABLE house (
    id          UUID NOT NULL
);
INSERT INTO house (id) VALUES (gen_random_uuid());

CREATE TABLE accounts (
    no          INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          TEXT COLLATE "C" NOT NULL UNIQUE
);

-- Versions of recipients and groups, and the ranks of imports by the moment of their publication.
CREATE SEQUENCE versions AS BIGINT;

-- Numbers that may have no gaps, which a sequence has. `alert`: the last one given out.
CREATE TABLE counters (
    name        TEXT COLLATE "C" PRIMARY KEY,
    value       BIGINT NOT NULL
) WITH (fillfactor = 10);
INSERT INTO counters (name, value) VALUES ('alert', 0);

-- Imports that still matter to readers. state: 0 staging, 1 published, 2 abandoned. A row goes away when no superseded or invisible
-- version is left that it would have to explain. seen: when the process that stages it last said that it lives.
CREATE TABLE imports (
    generation  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account     INTEGER NOT NULL,
    state       SMALLINT NOT NULL,
    rank        BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    rows        BIGINT NOT NULL,
    begun       BIGINT NOT NULL,
    seen        TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- generation 0: put one by one. A row of an import in state 0 or 2 is not there for anybody. Among the others of one id the one whose
-- import has the highest rank is the recipient; no row in `imports` ranks 0.
CREATE TABLE recipients (
    account     INTEGER NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    generation  BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    groups      TEXT[] COLLATE "C" NOT NULL,
    body        BYTEA NOT NULL,
    PRIMARY KEY (account, id, generation)
);

-- Which version of a recipient names which group; to be checked against the version that is seen.
CREATE TABLE memberships (
    account     INTEGER NOT NULL,
    grp         TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    generation  BIGINT NOT NULL,
    PRIMARY KEY (account, grp, id, generation)
);

CREATE TABLE groups (
    account     INTEGER NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (account, id)
);

-- sender: the stop holds for this number or name of ours alone; empty: for all.
CREATE TABLE opt_outs (
    account     INTEGER NOT NULL,
    channel     SMALLINT NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    PRIMARY KEY (account, channel, address, sender)
);

-- asks_until: an alert that asks for an answer takes one until then. class, intake_from: of standing alerts alone, which hold the messages
-- of platforms from that index on, until the next one of the class (mode and lane).
CREATE TABLE alerts (
    no          BIGINT PRIMARY KEY,
    id          UUID NOT NULL UNIQUE,
    account     INTEGER NOT NULL,
    token       TEXT NOT NULL,
    created     BIGINT NOT NULL,
    state       TEXT NOT NULL,
    version     BIGINT NOT NULL,
    note        TEXT NOT NULL,
    final_at    BIGINT,
    roster_len  BIGINT NOT NULL DEFAULT 0,
    asks_until  BIGINT,
    request     TEXT NOT NULL,
    origin      TEXT NOT NULL,
    class       SMALLINT,
    intake_from BIGINT
);
CREATE INDEX alerts_by_account ON alerts (account, no);
CREATE INDEX alerts_unfinished ON alerts (no) WHERE final_at IS NULL;
CREATE INDEX alerts_asking ON alerts (asks_until) WHERE asks_until IS NOT NULL;
CREATE INDEX alerts_by_end ON alerts (final_at, no) WHERE final_at IS NOT NULL;
CREATE INDEX alerts_standing ON alerts (account, class, intake_from) WHERE intake_from IS NOT NULL;

CREATE TABLE idempotency_keys (
    account     INTEGER NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    body_hash   BYTEA NOT NULL,
    alert       UUID NOT NULL,
    created     BIGINT NOT NULL,
    PRIMARY KEY (account, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created);

CREATE TABLE cap_messages (
    account     INTEGER NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    identifier  TEXT COLLATE "C" NOT NULL,
    alert       BIGINT NOT NULL,
    sent        TEXT NOT NULL,
    PRIMARY KEY (account, sender, identifier, alert)
);
CREATE INDEX cap_messages_by_alert ON cap_messages (alert);

-- place: the alert's number times 2^32 plus the first endpoint's number. Blocks are read whole and written once: not worth packing.
CREATE TABLE roster (
    place       BIGINT PRIMARY KEY,
    account     INTEGER NOT NULL,
    block       BYTEA NOT NULL
);
ALTER TABLE roster ALTER COLUMN block SET STORAGE EXTERNAL;

-- Names that many rows repeat: routes.
CREATE TABLE names (
    no          INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL UNIQUE
);

-- parts_accepted, parts_delivered: a bit a part. route: a number of `names`. answer: JSON. A row is written several times in its life: there is room
-- for that on its page.
CREATE TABLE deliveries (
    alert       BIGINT NOT NULL,
    endpoint    BIGINT NOT NULL,
    account     INTEGER NOT NULL,
    route       INTEGER,
    state       SMALLINT NOT NULL,
    reason      SMALLINT NOT NULL,
    attempts    SMALLINT NOT NULL,
    last_attempt SMALLINT NOT NULL,
    parts       SMALLINT NOT NULL,
    parts_accepted INTEGER NOT NULL,
    parts_delivered INTEGER NOT NULL,
    submitted   BIGINT,
    accepted    BIGINT,
    delivered   BIGINT,
    due         BIGINT,
    detail      TEXT,
    answer      TEXT,
    PRIMARY KEY (alert, endpoint)
) WITH (fillfactor = 75);

-- How far each topic is folded into its table.
CREATE TABLE folds (
    topic       TEXT COLLATE "C" PRIMARY KEY,
    folded_to   BIGINT NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE tokens (
    id          TEXT COLLATE "C" PRIMARY KEY,
    hash        BYTEA NOT NULL UNIQUE,
    account     INTEGER NOT NULL,
    role        TEXT NOT NULL,
    name        TEXT NOT NULL,
    created     BIGINT NOT NULL,
    revoked     BIGINT
);

CREATE TABLE observers (
    no          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alert       BIGINT NOT NULL,
    account     INTEGER NOT NULL,
    request     TEXT NOT NULL
);
CREATE INDEX observers_by_alert ON observers (alert, no);

CREATE TABLE acts (
    no          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          BIGINT NOT NULL,
    account     INTEGER NOT NULL,
    token       TEXT NOT NULL,
    verb        TEXT NOT NULL,
    object      TEXT NOT NULL,
    detail      TEXT NOT NULL
);
CREATE INDEX acts_by_account ON acts (account, no);

-- Who does what only one may do. ends: nothing: nobody has it. Renewing changes no column of the key, so that it does not wait for those who write
-- under the lease; a change of hands does, and waits.
CREATE TABLE leases (
    name        TEXT COLLATE "C" PRIMARY KEY,
    epoch       BIGINT NOT NULL,
    holder      TEXT NOT NULL,
    address     TEXT NOT NULL,
    ends        TIMESTAMPTZ
) WITH (fillfactor = 10);
