-- Messages of the webhook that were not accepted yet.
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The header `webhook-id`, the same at every try.
    id TEXT NOT NULL,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    -- Tries so far, and the time of the next one in Unix milliseconds.
    tries INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL,
    -- Unix milliseconds after which it is dropped.
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_event ON messages (event, due);
-- Idempotency keys of orders. They outlive the task, so that none is carried out twice.
CREATE TABLE idempotency_keys (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    -- SHA-256 of the order.
    digest TEXT NOT NULL,
    task TEXT NOT NULL,
    -- Unix seconds.
    at INTEGER NOT NULL,
    UNIQUE (owner, key)
) STRICT;
