-- Embeddings of parts that a search re-ranked. One belongs to a part and goes with it; `digest` is the SHA-256 of the text
-- that was sent, `model` the address and the name of the model.
CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id),
    digest TEXT NOT NULL,
    model TEXT NOT NULL,
    made_unix_s INTEGER NOT NULL,
    -- Numbers of 32 bits, little endian.
    vector BLOB NOT NULL
);
