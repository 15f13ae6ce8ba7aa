-- The dialogue with a model, piece by piece, and how many results the task had at each.
CREATE TABLE dialogue (
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    number INTEGER NOT NULL,
    said TEXT NOT NULL,
    results INTEGER NOT NULL,
    PRIMARY KEY (task, number)
) STRICT;
-- What a task that goes on from this one knows.
ALTER TABLE tasks ADD COLUMN memory TEXT;
