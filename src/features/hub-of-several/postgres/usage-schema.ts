/**
 * The counts of use of all processes of a hub. A skill and a pack can be longer than an index takes, so that a digest of
 * the whole key stands for it.
 */
export const COUNTS_OF_USE = `
  CREATE TABLE skillsyncd.use_of_day (
    day text NOT NULL,
    key bytea NOT NULL,
    skill text NOT NULL,
    pack text NOT NULL,
    client text NOT NULL,
    principal text NOT NULL,
    lists bigint NOT NULL,
    loads bigint NOT NULL,
    reads bigint NOT NULL,
    PRIMARY KEY (day, key)
  );

  -- The days on which a process counted.
  CREATE TABLE skillsyncd.use_counted_day (day text PRIMARY KEY);

  -- The batches that were added. A process sends one again if the answer was lost.
  CREATE TABLE skillsyncd.use_batch (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX use_batch_at ON skillsyncd.use_batch (at);
`

/**
 * The failures among the uses, and the uses of each content of a skill. These are totals, one row for each state folder, so
 * that a process can send them again.
 */
export const FAILED_USES = `
  ALTER TABLE skillsyncd.use_of_day ADD COLUMN failures bigint NOT NULL DEFAULT 0;

  CREATE TABLE skillsyncd.content_use (
    key bytea NOT NULL,
    folder uuid NOT NULL,
    skill text NOT NULL,
    content text NOT NULL,
    uses bigint NOT NULL,
    failures bigint NOT NULL,
    day text NOT NULL,
    PRIMARY KEY (key, folder)
  );
  CREATE INDEX content_use_day ON skillsyncd.content_use (day);
`
