-- The approval of an alert: JSON, with the people who wrote and approved it. approval_revision is the revision in it; a change is made by compare-and-set
-- on it and on the alert's version. Alerts that wait are few: an index of their own.
ALTER TABLE alerts ADD COLUMN approval TEXT;
ALTER TABLE alerts ADD COLUMN approval_revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX alerts_awaiting ON alerts (account, no) WHERE state = 'awaiting_approval';
