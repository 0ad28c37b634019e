-- Imports have a fourth state, 3: held. Their rows are all written, nobody sees them, and they outlive a restart; they are published or given up
-- later. undo_until: a published import may be taken back until then, and what it superseded stays; NULL: it may not.
-- A row of recipients with an empty body says that the import takes this person away.
ALTER TABLE imports ADD COLUMN undo_until BIGINT;
CREATE INDEX imports_to_settle ON imports (undo_until) WHERE undo_until IS NOT NULL;
