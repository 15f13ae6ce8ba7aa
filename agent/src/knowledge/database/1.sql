-- Documents and their owners; `scope` is the name of an owner, or `host`.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    origin TEXT NOT NULL,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    -- SHA-256 of the text as it came: the same text is not indexed again.
    digest TEXT NOT NULL,
    -- Change time and size of the file, where there is one.
    stamp TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    added_unix_s INTEGER NOT NULL,
    UNIQUE (scope, origin, source)
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (id),
    line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX chunks_of_document ON chunks (document);
-- The text is kept once, in `chunks`; rowid is the chunk's id.
CREATE VIRTUAL TABLE chunk_index USING fts5 (
    scope, title, heading, body,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
-- A match in the title counts more than one in a heading, that more than one in the text; the owner counts nothing.
INSERT INTO chunk_index (chunk_index, rank) VALUES ('rank', 'bm25(0.0, 8.0, 2.0, 1.0)');
