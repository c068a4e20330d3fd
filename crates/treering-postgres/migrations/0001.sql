-- Sessions of spaces. Every key begins with the space and the session, so that the tables can be sharded by
-- session, and no transaction touches two sessions.

-- A session and the length of its log. One row changes with every append, so it is narrow and not partitioned.
-- length: bytes of the log; -1 after a removal, so that followers learn of it.
-- generation: raised when bytes of the log are taken back or replaced, and when a removed session is created again.
-- changed: the transaction that changed the row last, see `changes`.
-- period: the same, rounded. It is what the index has: an append that changes no indexed value needs no new entry in
-- any index, and most appends leave the period as it was.
CREATE TABLE treering.sessions (
  space text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  length bigint NOT NULL,
  generation bigint NOT NULL,
  changed bigint NOT NULL,
  updated timestamptz NOT NULL,
  period bigint NOT NULL GENERATED ALWAYS AS (changed >> 10) STORED,
  PRIMARY KEY (space, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX sessions_period ON treering.sessions (space, period);

-- The bytes of the logs: one row for each append, or for each MiB of a large one. at: the offset of the first byte.
CREATE TABLE treering.lines (
  space text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (space, session, at)
) PARTITION BY HASH (session);

-- What a list shows of a session, as the library found it when the log had this length and generation.
-- is_session: whether the log can be read as a session at all.
CREATE TABLE treering.facts (
  space text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  length bigint NOT NULL,
  generation bigint NOT NULL,
  modified bigint NOT NULL,
  created bigint,
  agent text COLLATE "C",
  cwd text COLLATE "C" NOT NULL,
  name text,
  parent_session text,
  first_message text NOT NULL,
  messages bigint NOT NULL,
  entries bigint NOT NULL,
  branches bigint NOT NULL,
  compactions bigint NOT NULL,
  tokens bigint,
  cost double precision,
  findings bigint NOT NULL,
  is_session boolean NOT NULL,
  PRIMARY KEY (space, session)
);
CREATE INDEX facts_modified ON treering.facts (space, modified, session);
CREATE INDEX facts_cwd ON treering.facts (space, cwd, modified, session);

-- Tokens of the server, as hashes. They are looked up before the space is known, so row-level security does not
-- apply to them.
CREATE TABLE treering.tokens (
  hash bytea PRIMARY KEY,
  name text NOT NULL,
  space text COLLATE "C" NOT NULL,
  scope text NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  created timestamptz NOT NULL DEFAULT now(),
  expires timestamptz,
  revoked timestamptz
);

-- The second fence between spaces: a query that forgets its condition sees no row of another space.
DO $$
DECLARE
  part text;
BEGIN
  BEGIN
    ALTER TABLE treering.lines ALTER COLUMN bytes SET COMPRESSION lz4;
  EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN
    NULL; -- Built without lz4, or older than PostgreSQL 14.
  END;
  FOR number IN 0..15 LOOP
    EXECUTE format('CREATE TABLE treering.lines_%s PARTITION OF treering.lines FOR VALUES WITH (MODULUS 16, REMAINDER %s)', number, number);
  END LOOP;
  FOR part IN SELECT unnest(ARRAY['sessions', 'facts', 'lines'] || ARRAY(SELECT 'lines_' || n FROM generate_series(0, 15) n)) LOOP
    EXECUTE format('ALTER TABLE treering.%I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE treering.%I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('CREATE POLICY space ON treering.%I USING (space = current_setting(''treering.space'', true))', part);
  END LOOP;
END $$;
