-- The files of a patch that its person left out, as a JSON list.
ALTER TABLE requests ADD COLUMN left_out TEXT NOT NULL DEFAULT '[]';
