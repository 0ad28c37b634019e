-- The audit trail as a chain of links (docs/dev/audit.md). The rows of `acts` become links at the start that runs this, and their table goes.
-- seq: without gaps. extras: what a link says beyond its columns. commitments: salted hashes of its rows in `audit_fields`. hash: of all the
-- other columns, with the account's id in place of its number.
CREATE TABLE audit_links (
    seq         BIGINT PRIMARY KEY,
    version     SMALLINT NOT NULL,
    algorithm   SMALLINT NOT NULL,
    previous    BYTEA NOT NULL,
    at          BIGINT NOT NULL,
    account     INTEGER NOT NULL,
    verb        TEXT COLLATE "C" NOT NULL,
    token       TEXT COLLATE "C" NOT NULL,
    extras      BYTEA NOT NULL,
    commitments BYTEA NOT NULL,
    hash        BYTEA NOT NULL
);
CREATE INDEX audit_links_by_account ON audit_links (account, seq);

-- What may be personal, apart from the chain: a row may go, and its link stays valid. person: the recipient that the value speaks of.
CREATE TABLE audit_fields (
    link        BIGINT NOT NULL,
    number      INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    salt        BYTEA NOT NULL,
    value       TEXT COLLATE "C" NOT NULL,
    person      TEXT COLLATE "C",
    PRIMARY KEY (link, number)
);
CREATE INDEX audit_fields_by_person ON audit_fields (account, person) WHERE person IS NOT NULL;

-- The newest link. One row, locked by whoever appends until that is committed: so the chain is one, however many processes append.
CREATE TABLE audit_head (
    one         BOOLEAN PRIMARY KEY DEFAULT true CHECK (one),
    seq         BIGINT NOT NULL,
    hash        BYTEA NOT NULL
) WITH (fillfactor = 10);
