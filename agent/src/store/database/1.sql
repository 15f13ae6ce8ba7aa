CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    status TEXT NOT NULL,
    -- The order and the record without its results, as JSON.
    ordered TEXT NOT NULL,
    record TEXT NOT NULL,
    -- The agent was stopped while it ran.
    interrupted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tasks_by_owner ON tasks (owner, seq);

-- The results of a task, as JSON, in their order.
CREATE TABLE steps (
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    number INTEGER NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (task, number)
) STRICT;

-- What listeners are told of a task.
CREATE TABLE notes (
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (task, number)
) STRICT;

-- Whose request is whose, and what became of it; in a task, of which step.
CREATE TABLE requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    is_undo INTEGER NOT NULL,
    is_effect INTEGER NOT NULL,
    state TEXT NOT NULL,
    task INTEGER REFERENCES tasks ON DELETE SET NULL,
    step INTEGER,
    verb TEXT,
    target TEXT
) STRICT;
CREATE INDEX requests_by_owner ON requests (owner, seq);
CREATE INDEX requests_by_task ON requests (task, step);
