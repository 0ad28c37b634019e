-- Names of attributes that people were given values under, each with a recipient who had one when it was noted: whoever relies on a name looks whether
-- the witness still has it.
CREATE TABLE attribute_names (
    account     INTEGER NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    witness     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, name)
);
