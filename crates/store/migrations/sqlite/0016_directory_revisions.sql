-- How often an account's people (also by whom imports show), and its groups and stops, have changed: what was read of them into memory holds while
-- these numbers stay. Changes of single people are counted by the program.
CREATE TABLE directory_revisions (
    account     INTEGER PRIMARY KEY,
    people      INTEGER NOT NULL,
    stops       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER imports_revised AFTER UPDATE OF state, rank ON imports WHEN old.state = 1 OR new.state = 1 BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET people = people + 1 WHERE account = new.account;
END;

CREATE TRIGGER groups_insert_revised AFTER INSERT ON groups BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER groups_update_revised AFTER UPDATE ON groups BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER groups_delete_revised AFTER DELETE ON groups BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT old.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = old.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = old.account;
END;

CREATE TRIGGER opt_outs_insert_revised AFTER INSERT ON opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER opt_outs_update_revised AFTER UPDATE ON opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER opt_outs_delete_revised AFTER DELETE ON opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT old.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = old.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = old.account;
END;

CREATE TRIGGER sender_opt_outs_insert_revised AFTER INSERT ON sender_opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER sender_opt_outs_update_revised AFTER UPDATE ON sender_opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER sender_opt_outs_delete_revised AFTER DELETE ON sender_opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT old.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = old.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = old.account;
END;

CREATE TRIGGER forgotten_opt_outs_insert_revised AFTER INSERT ON forgotten_opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER forgotten_opt_outs_update_revised AFTER UPDATE ON forgotten_opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT new.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = new.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = new.account;
END;

CREATE TRIGGER forgotten_opt_outs_delete_revised AFTER DELETE ON forgotten_opt_outs BEGIN
    INSERT INTO directory_revisions (account, people, stops)
        SELECT old.account, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM directory_revisions WHERE account = old.account);
    UPDATE directory_revisions SET stops = stops + 1 WHERE account = old.account;
END;
