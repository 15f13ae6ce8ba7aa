-- Tasks that begin by themselves.
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    -- The order and the schedule, as JSON.
    ordered TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
ALTER TABLE tasks ADD COLUMN schedule TEXT;
CREATE INDEX tasks_by_schedule ON tasks (schedule, seq) WHERE schedule IS NOT NULL;
