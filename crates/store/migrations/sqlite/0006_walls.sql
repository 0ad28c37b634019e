-- A client's key is its token's: two tokens of an account may use the same one. token: empty for keys of the whole account, which the server
-- makes itself (the identity of a CAP message, message streams).
CREATE TABLE idempotency_keys_by_token (
    account     INTEGER NOT NULL,
    token       TEXT NOT NULL,
    key         TEXT NOT NULL,
    body_hash   BLOB NOT NULL,
    alert       INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (account, token, key)
) STRICT, WITHOUT ROWID;
INSERT INTO idempotency_keys_by_token (account, token, key, body_hash, alert, created)
    SELECT k.account, CASE WHEN k.key LIKE 'cap %' THEN '' ELSE alerts.token END, k.key, k.body_hash, k.alert, k.created
    FROM idempotency_keys AS k JOIN alerts ON alerts.no = k.alert;
DROP TABLE idempotency_keys;
ALTER TABLE idempotency_keys_by_token RENAME TO idempotency_keys;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created);

-- Who has which file of the folder of attachments: the account, and the token that uploaded it. id: BLAKE3 of its content. until: it is
-- removed then; an alert that names it moves that.
CREATE TABLE attachments (
    account     INTEGER NOT NULL,
    id          TEXT NOT NULL,
    token       TEXT NOT NULL,
    octets      INTEGER NOT NULL,
    until       INTEGER NOT NULL,
    PRIMARY KEY (account, id, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_by_id ON attachments (id);
CREATE INDEX attachments_by_end ON attachments (until);
INSERT INTO attachments (account, id, token, octets, until)
    SELECT alerts.account, json_extract(one.value, '$.blake3'), alerts.token, max(json_extract(one.value, '$.size')),
        max(alerts.created) + 3542400000000
    FROM alerts, json_each(alerts.request, '$.attachments') AS one
    WHERE alerts.request LIKE '%"blake3"%'
    GROUP BY 1, 2, 3;

-- Octets that files which still come have reserved. until: nobody writes it any more.
CREATE TABLE uploads (
    id          BLOB NOT NULL PRIMARY KEY,
    account     INTEGER NOT NULL,
    octets      INTEGER NOT NULL,
    until       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_account ON uploads (account);

CREATE INDEX tokens_revoked ON tokens (revoked) WHERE revoked IS NOT NULL;
