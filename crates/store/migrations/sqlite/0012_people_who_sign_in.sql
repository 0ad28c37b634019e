-- Documents: what people write before and beside alerts (users, drafts, templates, areas, schedules, imports), by account, kind and id. A document is
-- JSON; its version rises with each change. lookup is another key of it, unique within its account and kind. Times are microseconds.
CREATE TABLE documents (
    account  INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    id       TEXT NOT NULL,
    version  INTEGER NOT NULL,
    changed  INTEGER NOT NULL,
    lookup   TEXT,
    due      INTEGER,
    body     TEXT NOT NULL,
    PRIMARY KEY (account, kind, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX documents_by_lookup ON documents (account, kind, lookup) WHERE lookup IS NOT NULL;
CREATE INDEX documents_by_due ON documents (kind, due) WHERE due IS NOT NULL;

-- Sessions of people who signed in, by the SHA-256 of what their cookie says; body is JSON. Nothing of one holds after until.
CREATE TABLE sessions (
    hash     BLOB NOT NULL PRIMARY KEY,
    account  INTEGER NOT NULL,
    user     TEXT NOT NULL,
    used     INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    body     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (account, user);
CREATE INDEX sessions_by_end ON sessions (until);
