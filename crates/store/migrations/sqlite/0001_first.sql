-- Every row has its account, as a number of `accounts`. Times are microseconds since 1970 UTC.

CREATE TABLE accounts (
    no      INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE
) STRICT;

-- `version`: raised by every put; also ranks imports by the moment of their publication.
CREATE TABLE counters (
    name    TEXT NOT NULL PRIMARY KEY,
    value   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('version', 0);

-- Imports that still matter to readers. state: 0 staging, 1 published, 2 abandoned. A row goes away when no
-- superseded or invisible version is left that it would have to explain.
CREATE TABLE imports (
    generation  INTEGER PRIMARY KEY AUTOINCREMENT,
    account     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    rank        INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    rows        INTEGER NOT NULL,
    begun       INTEGER NOT NULL
) STRICT;

-- generation 0: put one by one. A row of an import in state 0 or 2 is not there for anybody. Among the others of one
-- id the one whose import has the highest rank is the recipient; no row in `imports` ranks 0.
CREATE TABLE recipients (
    account     INTEGER NOT NULL,
    id          TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    body        BLOB NOT NULL,
    PRIMARY KEY (account, id, generation)
) STRICT, WITHOUT ROWID;

-- Which version of a recipient names which group; to be checked against the version that is seen.
CREATE TABLE memberships (
    account     INTEGER NOT NULL,
    grp         TEXT NOT NULL,
    id          TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    PRIMARY KEY (account, grp, id, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE groups (
    account     INTEGER NOT NULL,
    id          TEXT NOT NULL,
    version     INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (account, id)
) STRICT;

CREATE TABLE opt_outs (
    account     INTEGER NOT NULL,
    channel     INTEGER NOT NULL,
    address     TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (account, channel, address)
) STRICT, WITHOUT ROWID;

-- asks_until: an alert that asks for an answer takes one until then.
CREATE TABLE alerts (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    id          BLOB NOT NULL UNIQUE,
    account     INTEGER NOT NULL,
    token       TEXT NOT NULL,
    created     INTEGER NOT NULL,
    state       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    note        TEXT NOT NULL,
    final_at    INTEGER,
    roster_len  INTEGER NOT NULL DEFAULT 0,
    asks_until  INTEGER,
    request     TEXT NOT NULL,
    origin      TEXT NOT NULL
) STRICT;
CREATE INDEX alerts_by_account ON alerts (account, no);
CREATE INDEX alerts_unfinished ON alerts (no) WHERE final_at IS NULL;
CREATE INDEX alerts_asking ON alerts (asks_until) WHERE asks_until IS NOT NULL;
CREATE INDEX alerts_by_end ON alerts (final_at) WHERE final_at IS NOT NULL;

CREATE TABLE idempotency_keys (
    account     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    body_hash   BLOB NOT NULL,
    alert       INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created);

CREATE TABLE cap_messages (
    account     INTEGER NOT NULL,
    sender      TEXT NOT NULL,
    identifier  TEXT NOT NULL,
    alert       INTEGER NOT NULL,
    sent        TEXT NOT NULL,
    PRIMARY KEY (account, sender, identifier, alert)
) STRICT, WITHOUT ROWID;
CREATE INDEX cap_messages_by_alert ON cap_messages (alert);

-- place: the alert's number times 2^32 plus the first endpoint's number. Blocks are too big for WITHOUT ROWID.
CREATE TABLE roster (
    place       INTEGER PRIMARY KEY,
    account     INTEGER NOT NULL,
    block       BLOB NOT NULL
) STRICT;

-- Names that many rows repeat: routes.
CREATE TABLE names (
    no          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE
) STRICT;

-- parts_accepted, parts_delivered: a bit a part. route: a number of `names`. answer: JSON.
CREATE TABLE deliveries (
    alert       INTEGER NOT NULL,
    endpoint    INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    last_attempt INTEGER NOT NULL,
    parts       INTEGER NOT NULL,
    parts_accepted INTEGER NOT NULL,
    parts_delivered INTEGER NOT NULL,
    route       INTEGER,
    reason      INTEGER NOT NULL,
    detail      TEXT,
    submitted   INTEGER,
    accepted    INTEGER,
    delivered   INTEGER,
    due         INTEGER,
    answer      TEXT,
    PRIMARY KEY (alert, endpoint)
) STRICT, WITHOUT ROWID;

-- How far each topic is folded into its table.
CREATE TABLE folds (
    topic       TEXT NOT NULL PRIMARY KEY,
    folded_to   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id          TEXT NOT NULL PRIMARY KEY,
    hash        BLOB NOT NULL UNIQUE,
    account     INTEGER NOT NULL,
    role        TEXT NOT NULL,
    name        TEXT NOT NULL,
    created     INTEGER NOT NULL,
    revoked     INTEGER
) STRICT;

CREATE TABLE observers (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    alert       INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    request     TEXT NOT NULL
) STRICT;
CREATE INDEX observers_by_alert ON observers (alert, no);

CREATE TABLE acts (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    token       TEXT NOT NULL,
    verb        TEXT NOT NULL,
    object      TEXT NOT NULL,
    detail      TEXT NOT NULL
) STRICT;
CREATE INDEX acts_by_account ON acts (account, no);
