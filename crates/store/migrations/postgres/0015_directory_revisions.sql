-- How often an account's people (also by whom imports show), and its groups and stops, have changed: what was read of them into memory holds while
-- these numbers stay. Changes of single people are counted by the program.
CREATE TABLE directory_revisions (
    account     INTEGER PRIMARY KEY,
    people      BIGINT NOT NULL,
    stops       BIGINT NOT NULL
);

CREATE FUNCTION revise_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO directory_revisions AS had (account, people, stops) VALUES (new.account, 1, 0)
        ON CONFLICT (account) DO UPDATE SET people = had.people + 1;
    RETURN NULL;
END $$;

CREATE FUNCTION revise_stops() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed INTEGER;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := old.account; ELSE changed := new.account; END IF;
    INSERT INTO directory_revisions AS had (account, people, stops) VALUES (changed, 0, 1)
        ON CONFLICT (account) DO UPDATE SET stops = had.stops + 1;
    RETURN NULL;
END $$;

CREATE TRIGGER imports_revised AFTER UPDATE OF state, rank ON imports
    FOR EACH ROW WHEN (old.state = 1 OR new.state = 1) EXECUTE FUNCTION revise_people();
CREATE TRIGGER groups_revised AFTER INSERT OR UPDATE OR DELETE ON groups
    FOR EACH ROW EXECUTE FUNCTION revise_stops();
-- At the end of a transaction: one that changes several stops holds the account's row for no longer than that.
CREATE CONSTRAINT TRIGGER opt_outs_revised AFTER INSERT OR UPDATE OR DELETE ON opt_outs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION revise_stops();
CREATE CONSTRAINT TRIGGER forgotten_opt_outs_revised AFTER INSERT OR UPDATE OR DELETE ON forgotten_opt_outs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION revise_stops();
