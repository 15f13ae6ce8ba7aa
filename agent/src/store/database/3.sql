-- Commands of the agent's own that a person lets run in a session without being asked again.
CREATE TABLE allowed (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    -- As JSON.
    program TEXT NOT NULL,
    -- When the person said so, in UTC.
    at TEXT NOT NULL,
    UNIQUE (session, program)
) STRICT;
