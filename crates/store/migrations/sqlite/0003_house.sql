-- Who this database is, so that what belongs to it (a bus) can be told by it. One row.
CREATE TABLE house (
    id          BLOB NOT NULL
) STRICT;
INSERT INTO house (id) VALUES (randomblob(16));

-- Who does what only one may do. until: microseconds since the file was opened; nothing: nobody has it.
CREATE TABLE leases (
    name        TEXT NOT NULL PRIMARY KEY,
    epoch       INTEGER NOT NULL,
    holder      TEXT NOT NULL,
    address     TEXT NOT NULL,
    until       INTEGER
) STRICT, WITHOUT ROWID;
