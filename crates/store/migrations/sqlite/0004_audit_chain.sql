-- The audit trail as a chain of links (docs/dev/audit.md). The rows of `acts` become links when the file is opened, and their table goes.
-- seq: without gaps. extras: what a link says beyond its columns. commitments: salted hashes of its rows in `audit_fields`. hash: of all the
-- other columns, with the account's id in place of its number.
CREATE TABLE audit_links (
    seq         INTEGER PRIMARY KEY,
    version     INTEGER NOT NULL,
    algorithm   INTEGER NOT NULL,
    previous    BLOB NOT NULL,
    at          INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    verb        TEXT NOT NULL,
    token       TEXT NOT NULL,
    extras      BLOB NOT NULL,
    commitments BLOB NOT NULL,
    hash        BLOB NOT NULL
) STRICT;
CREATE INDEX audit_links_by_account ON audit_links (account, seq);

-- What may be personal, apart from the chain: a row may go, and its link stays valid. person: the recipient that the value speaks of.
CREATE TABLE audit_fields (
    link        INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    salt        BLOB NOT NULL,
    value       TEXT NOT NULL,
    person      TEXT,
    PRIMARY KEY (link, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_fields_by_person ON audit_fields (account, person) WHERE person IS NOT NULL;

-- The newest link. One row.
CREATE TABLE audit_head (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    seq         INTEGER NOT NULL,
    hash        BLOB NOT NULL
) STRICT;
