-- A client's key is its token's: two tokens of an account may use the same one. token: empty for keys of the whole account, which the server
-- makes itself (the identity of a CAP message, message streams).
ALTER TABLE idempotency_keys ADD COLUMN token TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE idempotency_keys SET token = alerts.token FROM alerts WHERE alerts.id = idempotency_keys.alert AND key NOT LIKE 'cap %';
ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;
ALTER TABLE idempotency_keys ADD PRIMARY KEY (account, token, key);

-- Who has which file of the folder of attachments: the account, and the token that uploaded it. id: BLAKE3 of its content. until: it is
-- removed then; an alert that names it moves that.
CREATE TABLE attachments (
    account     INTEGER NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    token       TEXT COLLATE "C" NOT NULL,
    octets      BIGINT NOT NULL,
    until       BIGINT NOT NULL,
    PRIMARY KEY (account, id, token)
);
CREATE INDEX attachments_by_id ON attachments (id);
CREATE INDEX attachments_by_end ON attachments (until);
INSERT INTO attachments (account, id, token, octets, until)
    SELECT alerts.account, one.value ->> 'blake3', alerts.token, max((one.value ->> 'size')::bigint), max(alerts.created) + 3542400000000
    FROM alerts, json_array_elements(alerts.request::json -> 'attachments') AS one (value)
    WHERE alerts.request LIKE '%"blake3"%'
    GROUP BY 1, 2, 3;

-- Octets that files which still come have reserved. until: nobody writes it any more.
CREATE TABLE uploads (
    id          UUID PRIMARY KEY,
    account     INTEGER NOT NULL,
    octets      BIGINT NOT NULL,
    until       BIGINT NOT NULL
);
CREATE INDEX uploads_by_account ON uploads (account);

CREATE INDEX tokens_revoked ON tokens (revoked) WHERE revoked IS NOT NULL;
