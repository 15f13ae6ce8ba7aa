-- How a request ended, for `postern insights`; empty where that is not known.
ALTER TABLE requests ADD COLUMN code TEXT NOT NULL DEFAULT '';
-- `allow` or `ask`, of one that was carried out, and the rule that decided.
ALTER TABLE requests ADD COLUMN decision TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN rule TEXT NOT NULL DEFAULT '';
-- Of one that was carried out in a task: milliseconds without the waits for people, and those waits.
ALTER TABLE requests ADD COLUMN took_ms INTEGER;
ALTER TABLE requests ADD COLUMN waited_ms INTEGER;
