-- CAP messages that were told, by their identity and whom (told: a hash of the audience and of the part of the message), until nothing of them holds
-- any more; and messages that a later one has ended, whether they came before it or not. Times are microseconds; sent as the message writes it.
CREATE TABLE cap_told (
    account     INTEGER NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    identifier  TEXT COLLATE "C" NOT NULL,
    sent        TEXT COLLATE "C" NOT NULL,
    told        TEXT COLLATE "C" NOT NULL,
    alert       TEXT NOT NULL,
    content     TEXT NOT NULL,
    until       BIGINT NOT NULL,
    PRIMARY KEY (account, sender, identifier, sent, told)
);
CREATE INDEX cap_told_by_end ON cap_told (until);

CREATE TABLE cap_ends (
    account     INTEGER NOT NULL,
    sender      TEXT COLLATE "C" NOT NULL,
    identifier  TEXT COLLATE "C" NOT NULL,
    sent        TEXT COLLATE "C" NOT NULL,
    token       TEXT COLLATE "C" NOT NULL,
    ended       BIGINT NOT NULL,
    until       BIGINT NOT NULL,
    PRIMARY KEY (account, sender, identifier, sent, token)
);
CREATE INDEX cap_ends_by_end ON cap_ends (until);
