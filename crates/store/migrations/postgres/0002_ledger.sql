-- The ledger of processes that share this database: for each shard a log of blocks, as the ledger writes them to a disk where it is alone.

-- Drawn by whoever opens it first. One row at most.
CREATE TABLE ledger (
    one         BOOLEAN PRIMARY KEY DEFAULT true CHECK (one),
    key_0       BIGINT NOT NULL,
    key_1       BIGINT NOT NULL,
    shards      INTEGER NOT NULL
);

-- head: the position of a shard's next block. Who moves it appends the block at the place from which it moves it, in the same statement.
CREATE TABLE ledger_shards (
    shard       INTEGER PRIMARY KEY,
    head        BIGINT NOT NULL
) WITH (fillfactor = 10);

-- Appended, never changed. mark: who wrote it tells by it that it was written. at: microseconds of UTC.
CREATE TABLE ledger_blocks (
    shard       INTEGER NOT NULL,
    position    BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    mark        UUID NOT NULL,
    octets      BYTEA NOT NULL,
    PRIMARY KEY (shard, position)
);
-- Blocks are dense: trying to make them smaller costs more than it gives.
ALTER TABLE ledger_blocks ALTER COLUMN octets SET STORAGE EXTERNAL;
CREATE INDEX ledger_blocks_by_time ON ledger_blocks (shard, at, position);

-- A shard's whole state before the block at this position, in parts: so that a start reads only what came after.
CREATE TABLE ledger_snapshots (
    shard       INTEGER NOT NULL,
    position    BIGINT NOT NULL,
    part        INTEGER NOT NULL,
    octets      BYTEA NOT NULL,
    PRIMARY KEY (shard, position, part)
);
ALTER TABLE ledger_snapshots ALTER COLUMN octets SET STORAGE EXTERNAL;
