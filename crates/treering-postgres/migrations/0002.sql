-- What the writer of the last append knew about the log before it, for readers of its end: the generation and the
-- length of the log after the append, and a checkpoint of the library. An append by another release leaves it as it
-- is, and then generation or length differ.
ALTER TABLE treering.sessions ADD COLUMN checkpoint text;
