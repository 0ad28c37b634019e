-- Evidence of an alert: the head of a tree over lines of what was sent, of what became of it and of answers. version: -1: the alert ended before
-- there was evidence; 0: begun; from 1 on: made. erased: erasures of people in the alert; changed, built: folds into the alert since it ended, and
-- those that the version has.
CREATE TABLE evidence (
    alert       BIGINT PRIMARY KEY,
    account     INTEGER NOT NULL,
    version     BIGINT NOT NULL,
    erased      BIGINT NOT NULL DEFAULT 0,
    changed     BIGINT NOT NULL DEFAULT 0,
    built       BIGINT NOT NULL DEFAULT 0,
    made        BIGINT NOT NULL DEFAULT 0,
    audit       BIGINT NOT NULL DEFAULT 0,
    header      TEXT NOT NULL DEFAULT '',
    stamp       BYTEA
);
CREATE INDEX evidence_changed ON evidence (made) WHERE changed > built AND version > 0;
CREATE INDEX evidence_unstamped ON evidence (made) WHERE stamp IS NULL AND version > 0;

-- 512 leaves: kind, endpoint, salt (zeros: forgotten) and hash of each. answers: 1: there are salts of answers. Salts and hashes cannot be packed.
CREATE TABLE evidence_pages (
    alert       BIGINT NOT NULL,
    account     INTEGER NOT NULL,
    version     BIGINT NOT NULL,
    page        BIGINT NOT NULL,
    first_endpoint BIGINT NOT NULL,
    last_endpoint BIGINT NOT NULL,
    answers     BIGINT NOT NULL,
    root        BYTEA NOT NULL,
    leaves      BYTEA NOT NULL,
    PRIMARY KEY (alert, version, page)
);
ALTER TABLE evidence_pages ALTER COLUMN leaves SET STORAGE EXTERNAL;
INSERT INTO evidence (alert, account, version) SELECT no, account, -1 FROM alerts WHERE final_at IS NOT NULL AND intake_from IS NULL;
