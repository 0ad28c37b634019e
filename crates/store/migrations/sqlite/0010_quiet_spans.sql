-- Blocks of rosters may be in their second form, with quiet spans behind the entries: an older program would take
-- such a block for damage, and must refuse the database.
SELECT 1;
