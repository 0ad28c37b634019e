-- Platforms' messages stand in alerts of their own, one for each account and class (mode and lane): those from `intake_from` on, until the
-- next one of the class. Other alerts have neither.
ALTER TABLE alerts ADD COLUMN class INTEGER;
ALTER TABLE alerts ADD COLUMN intake_from INTEGER;
CREATE INDEX alerts_standing ON alerts (account, class, intake_from) WHERE intake_from IS NOT NULL;

-- Stops that hold for one number or name of ours alone.
CREATE TABLE sender_opt_outs (
    account     INTEGER NOT NULL,
    channel     INTEGER NOT NULL,
    address     TEXT NOT NULL,
    sender      TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (account, channel, address, sender)
) STRICT, WITHOUT ROWID;
