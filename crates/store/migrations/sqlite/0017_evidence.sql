-- Evidence of an alert: the head of a tree over lines of what was sent, of what became of it and of answers. version: -1: the alert ended before
-- there was evidence; 0: begun; from 1 on: made. erased: erasures of people in the alert; changed, built: folds into the alert since it ended, and
-- those that the version has.
CREATE TABLE evidence (
    alert       INTEGER PRIMARY KEY,
    account     INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    erased      INTEGER NOT NULL DEFAULT 0,
    changed     INTEGER NOT NULL DEFAULT 0,
    built       INTEGER NOT NULL DEFAULT 0,
    made        INTEGER NOT NULL DEFAULT 0,
    audit       INTEGER NOT NULL DEFAULT 0,
    header      TEXT NOT NULL DEFAULT '',
    stamp       BLOB
) STRICT;
CREATE INDEX evidence_changed ON evidence (made) WHERE changed > built AND version > 0;
CREATE INDEX evidence_unstamped ON evidence (made) WHERE stamp IS NULL AND version > 0;

-- 512 leaves: kind, endpoint, salt (zeros: forgotten) and hash of each. answers: 1: there are salts of answers.
CREATE TABLE evidence_pages (
    alert       INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    page        INTEGER NOT NULL,
    first_endpoint INTEGER NOT NULL,
    last_endpoint INTEGER NOT NULL,
    answers     INTEGER NOT NULL,
    root        BLOB NOT NULL,
    leaves      BLOB NOT NULL,
    PRIMARY KEY (alert, version, page)
) STRICT;
INSERT INTO evidence (alert, account, version) SELECT no, account, -1 FROM alerts WHERE final_at IS NOT NULL AND intake_from IS NULL;
